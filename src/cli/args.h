/* cli/args.h - makes struct cli_args (see cli/cli.h) of a command line. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "base/err.h"
#include "cli/cli.h"
#include "cli/table.h"

/* argv holds the words after the command's name and ends in NULL. Options end
 * at the first word that is none, or at `--`. --help ends them too: what comes
 * after it is not looked at. The result keeps pointing into argv. */
int args_parse(const struct cli_row *command, char **argv,
	       struct cli_args **out, struct hark_err *err);
void args_free(struct cli_args *args);

/* Says that there is no such command, and which was probably meant; returns
 * CLI_FAIL. */
int args_unknown_command(const char *name);

#endif
