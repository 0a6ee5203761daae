/* cli/args.c - parses a command line by the table. */
#include "cli/args.h"

#include "present/say.h"
#include "present/term.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct given {
	const struct cli_row *option;
	const char *value; /* borrowed; NULL: a flag */
};

struct cli_args {
	const struct cli_row *command;
	struct given *given; /* owned, in the order of the command line */
	size_t n, room;
	char **operands; /* borrowed */
	size_t n_operands;
};

/* -- Finding -- */

/* The last time that the option was given, or NULL. */
static const struct given *find(const struct cli_args *a, const char *option)
{
	const struct cli_row *row =
	    table_option(a->command, option, strlen(option));

	assert(row != NULL);
	for (size_t i = a->n; i > 0; i--)
		if (a->given[i - 1].option == row)
			return &a->given[i - 1];
	return NULL;
}

bool args_flag(const struct cli_args *args, const char *option)
{
	return find(args, option) != NULL;
}

/* -- Parsing -- */

/* `text` with the command's name before it and, if wished, where to read more
 * behind it. */
static void complain(const struct cli_row *command, const char *text, bool see,
		     char *out, size_t size)
{
	bool is_tool = command == table_tool();
	const char *name = is_tool ? "" : command->name;

	snprintf(out, size, "%s%s%s", name, is_tool ? "" : ": ", text);
	if (see && strlen(out) < size)
		snprintf(out + strlen(out), size - strlen(out),
			 "; see 'hark help%s%s'", is_tool ? "" : " ", name);
}

__attribute__((format(printf, 4, 5))) static int
refuse(const struct cli_args *a, bool see, struct hark_err *err,
       const char *format, ...)
{
	char text[320], whole[sizeof err->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	complain(a->command, text, see, whole, sizeof whole);
	return err_set(err, HARK_EINPUT, 0, "%s", whole);
}

static int check_pid(const struct cli_args *a, const struct cli_row *option,
		     const char *value, struct hark_err *err)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 ||
	    pid < 1 || pid > INT_MAX)
		return refuse(a, false, err,
			      "'%s' is no process id (option --%s)", value,
			      option->name);
	return 0;
}

static int check_value(const struct cli_args *a, const struct cli_row *option,
		       const char *value, struct hark_err *err)
{
	if (option->value == CLI_IS_PID)
		return check_pid(a, option, value, err);
	if (option->value == CLI_IS_CHOICE && !table_has_choice(option, value))
		return refuse(a, false, err,
			      "'%s' is not one of %s (option --%s)", value,
			      option->arg, option->name);
	if (option->value == CLI_IS_FILE && value[0] == '\0')
		return refuse(a, false, err, "option --%s needs a file name",
			      option->name);
	return 0;
}

static int add(struct cli_args *a, const struct cli_row *option,
	       const char *value, struct hark_err *err)
{
	if (value != NULL && check_value(a, option, value, err) < 0)
		return -1;
	if (a->n == a->room) {
		size_t room = a->room * 2 + 8;
		struct given *more = reallocarray(a->given, room, sizeof *more);

		if (more == NULL)
			return err_set(err, HARK_ENOMEM, 0,
				       "no memory for the command line");
		a->given = more;
		a->room = room;
	}
	a->given[a->n++] = (struct given){option, value};
	return 0;
}

static int unknown_long(const struct cli_args *a, const char *name, size_t len,
			struct hark_err *err)
{
	const char *meant = table_meant_option(a->command, name, len);
	int n = len < 100 ? (int)len : 100;

	if (meant != NULL)
		return refuse(a, false, err,
			      "unknown option '--%.*s'; did you mean '--%s'?",
			      n, name, meant);
	return refuse(a, true, err, "unknown option '--%.*s'", n, name);
}

/* One word that begins with two dashes. Moves *argv to the next word. */
static int parse_long(struct cli_args *a, char ***argv, struct hark_err *err)
{
	const char *name = **argv + 2;
	size_t len = strcspn(name, "=");
	const struct cli_row *o = table_option(a->command, name, len);
	const char *value = name[len] == '=' ? name + len + 1 : NULL;

	++*argv;
	if (o == NULL)
		return unknown_long(a, name, len, err);
	if (o->value == CLI_IS_FLAG && value != NULL)
		return refuse(a, false, err, "option '--%s' takes no value",
			      o->name);
	if (o->value != CLI_IS_FLAG && value == NULL) {
		if (**argv == NULL)
			return refuse(a, false, err, "option '--%s' needs %s",
				      o->name, o->arg);
		value = *(*argv)++;
	}
	return add(a, o, value, err);
}

/* One word of letters, the last of which may have a value behind it or as the
 * next word. Moves *argv to the next word. */
static int parse_letters(struct cli_args *a, char ***argv, struct hark_err *err)
{
	const char *at = **argv + 1;

	++*argv;
	for (; *at != '\0'; at++) {
		const struct cli_row *o = table_letter(a->command, *at);
		const char *value = NULL;

		if (o == NULL)
			return refuse(a, true, err, "unknown option '-%c'",
				      *at);
		if (o->value == CLI_IS_FLAG) {
			if (add(a, o, NULL, err) < 0)
				return -1;
			continue;
		}
		value = at[1] != '\0' ? at + 1 : *(*argv);
		if (value == NULL)
			return refuse(a, false, err, "option '-%c' needs %s",
				      *at, o->arg);
		if (at[1] == '\0')
			++*argv;
		return add(a, o, value, err);
	}
	return 0;
}

/* The word at *argv, if it is an option: 1, with *argv behind it and its value;
 * 0 if it is none. */
static int parse_option(struct cli_args *a, char ***argv, struct hark_err *err)
{
	const char *word = **argv;

	if (word == NULL || word[0] != '-' || word[1] == '\0' ||
	    strcmp(word, "--") == 0)
		return 0;
	if ((word[1] == '-' ? parse_long(a, argv, err)
			    : parse_letters(a, argv, err)) < 0)
		return -1;
	return 1;
}

/* Options that stand behind operands: those are moved together. */
static int parse_mixed(struct cli_args *a, char **argv, struct hark_err *err)
{
	char **to = argv;

	while (*argv != NULL && !args_flag(a, "help")) {
		int rc = parse_option(a, &argv, err);

		if (rc < 0)
			return -1;
		if (rc > 0)
			continue;
		if (strcmp(*argv, "--") == 0) {
			argv++;
			break;
		}
		*to++ = *argv++;
	}
	while (*argv != NULL)
		*to++ = *argv++;
	*to = NULL;
	return 0;
}

static int parse_options(struct cli_args *a, char **argv, struct hark_err *err)
{
	const struct cli_row *o = table_next(a->command, CLI_OPERANDS);
	int rc;

	do
		rc = parse_option(a, &argv, err);
	while (rc > 0 && !args_flag(a, "help"));
	if (rc < 0)
		return -1;
	if (*argv != NULL && strcmp(*argv, "--") == 0)
		argv++;
	else if (o != NULL && o->value == CLI_IS_MIXED &&
		 parse_mixed(a, argv, err) < 0)
		return -1;
	a->operands = argv;
	while (argv[a->n_operands] != NULL)
		a->n_operands++;
	return 0;
}

static int check_operands(const struct cli_args *a, struct hark_err *err)
{
	const struct cli_row *o = table_next(a->command, CLI_OPERANDS);

	if (o == NULL || args_flag(a, "help"))
		return 0;
	if (a->n_operands < o->min)
		return refuse(a, true, err, "no %s given", o->name);
	if (o->max != CLI_MANY && a->n_operands > o->max)
		return refuse(a, false, err, "'%s' is one argument too many",
			      a->operands[o->max]);
	return 0;
}

int args_parse(const struct cli_row *command, char **argv,
	       struct cli_args **out, struct hark_err *err)
{
	struct cli_args *a = calloc(1, sizeof *a);
	int rc = -1;

	if (a == NULL)
		return err_set(err, HARK_ENOMEM, 0,
			       "no memory for the command line");
	a->command = command;
	if (parse_options(a, argv, err) < 0 || check_operands(a, err) < 0)
		goto out;
	*out = a;
	a = NULL; /* handed over */
	rc = 0;
out:
	args_free(a);
	return rc;
}

void args_free(struct cli_args *args)
{
	if (args == NULL)
		return;
	free(args->given);
	free(args);
}

/* -- Asking -- */

const char *args_value(const struct cli_args *args, const char *option)
{
	const struct given *g = find(args, option);

	return g != NULL ? g->value : NULL;
}

const char *args_nth(const struct cli_args *args, const char *option, size_t n)
{
	const struct cli_row *row =
	    table_option(args->command, option, strlen(option));

	assert(row != NULL);
	for (size_t i = 0; i < args->n; i++)
		if (args->given[i].option == row && n-- == 0)
			return args->given[i].value;
	return NULL;
}

const char *args_next(const struct cli_args *args, size_t i, const char **value)
{
	if (i >= args->n)
		return NULL;
	*value = args->given[i].value;
	return args->given[i].option->name;
}

int args_pid(const struct cli_args *args, const char *option)
{
	const char *value = args_value(args, option);

	return value != NULL ? (int)strtol(value, NULL, 10) : 0;
}

char **args_operands(const struct cli_args *args)
{
	return args->operands;
}

size_t args_count(const struct cli_args *args)
{
	return args->n_operands;
}

bool args_colored(const struct cli_args *args, int fd)
{
	const char *wish = args_value(args, "color");

	if (wish == NULL || strcmp(wish, "auto") == 0)
		return term_is_colored(fd, TERM_AUTO);
	return term_is_colored(fd, strcmp(wish, "always") == 0 ? TERM_ALWAYS
							       : TERM_NEVER);
}

/* -- Ending -- */

int args_refuse(const struct cli_args *args, const char *format, ...)
{
	char text[1024], whole[1200];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	complain(args->command, text, true, whole, sizeof whole);
	say_error("%s", whole);
	return CLI_FAIL;
}

int args_unknown_command(const char *name)
{
	const char *meant = table_meant_command(name);

	if (meant != NULL)
		say_error("unknown command '%s'; did you mean '%s'?", name,
			  meant);
	else
		say_error("unknown command '%s'; see 'hark help'", name);
	return CLI_FAIL;
}

int cli_fail(const struct hark_err *err)
{
	say_error("%s", err->text);
	return CLI_FAIL;
}

int cli_fail_start(const struct hark_err *err)
{
	say_error("%s", err->text);
	if (err->code == HARK_ENOENT)
		return CLI_NOTFOUND;
	return err->code == HARK_ENOEXEC ? CLI_NOEXEC : CLI_FAIL;
}

int cli_finish(int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	say_error("cannot write to standard output: %s",
		  errno != 0 ? strerror(errno) : "an earlier write failed");
	return CLI_FAIL;
}
