/* cli/cli.h - what a command sees of its command line, and what it returns.
 *
 *	int cmd_X(const struct cli_args *args)
 *
 * is called by main with the options of its row in cli/table.def already
 * checked, and returns hark's exit status. Asking for an option that is not in
 * the row is a mistake in the command, and an assertion says so. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum cli_exit {
	CLI_OK = 0,
	CLI_NO = 1,	    /* a question answered with no */
	CLI_FAIL = 125,	    /* hark could not do its job */
	CLI_NOEXEC = 126,   /* the program cannot be executed */
	CLI_NOTFOUND = 127, /* the program was not found */
};

struct cli_args; /* opaque */

/* Was it given? */
bool args_flag(const struct cli_args *args, const char *option);

/* What was given with it: the last time, or NULL; the nth time (from 0), or
 * NULL. Borrowed from the command line. */
const char *args_value(const struct cli_args *args, const char *option);
const char *args_nth(const struct cli_args *args, const char *option, size_t n);

/* The i-th option of all that were given (from 0), in the order of the command
 * line, by its long name; NULL behind the last. */
const char *args_next(const struct cli_args *args, size_t i,
		      const char **value);

/* The process id given with it; 0 if none was. */
int args_pid(const struct cli_args *args, const char *option);

/* What follows the options: a list that ends in NULL, fit for execve. */
char **args_operands(const struct cli_args *args);
size_t args_count(const struct cli_args *args);

/* Colour on this descriptor, by --color and the rules of present/term.h? */
bool args_colored(const struct cli_args *args, int fd);

/* Says `hark: COMMAND: ...` and where to read more; returns CLI_FAIL. */
int args_refuse(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says why something failed; returns the exit status for it. The first for a
 * program that was to be started, the second for everything else. */
int cli_fail_start(const struct hark_err *err);
int cli_fail(const struct hark_err *err);

/* Call it last after writing to standard output: the status, or CLI_FAIL with
 * a message if not everything could be written. */
int cli_finish(int status);

#endif
