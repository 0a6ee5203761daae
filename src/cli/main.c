/* cli/main.c - finds the command and calls it. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "present/say.h"
#include "present/term.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	int (*run)(const struct cli_args *args);
} commands[] = {
#define COMMAND(id, name, summary) {name, cmd_##id},
#include "cli/table.def"
};

/* Whoever starts hark with standard descriptors closed must not find hark's
 * words in the next file that hark opens. So the numbers are taken, by
 * descriptors that can neither be read nor written and that a program started
 * by hark does not inherit: for it, they are as closed as they were. */
static void keep_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int call(const struct cli_row *command, const struct cli_args *args)
{
	if (args_flag(args, "help")) {
		help_print(command, stdout, args_colored(args, STDOUT_FILENO),
			   term_width(STDOUT_FILENO));
		return cli_finish(CLI_OK);
	}
	say_quiet(args_flag(args, "quiet"));
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (strcmp(commands[i].name, command->name) == 0)
			return commands[i].run(args);
	return CLI_FAIL; /* not reached: both lists come from one table */
}

/* The first line of a script, '#!/usr/bin/hark probe -qs', comes as one
 * argument, and the file behind it: its words become arguments of their own. */
static char **take_apart(int argc, char **argv)
{
	size_t len = argc > 1 ? strlen(argv[0]) : 0, n = 0;
	size_t most = len / 2 + 2 + (size_t)argc;
	char **words, *text, *rest;

	if (len == 0 || strchr(argv[0], ' ') == NULL)
		return argv;
	words = calloc(1, most * sizeof *words + len + 1);
	if (words == NULL)
		return argv;
	text = memcpy(words + most, argv[0], len);
	for (char *w = strtok_r(text, " \t", &rest); w != NULL;
	     w = strtok_r(NULL, " \t", &rest))
		words[n++] = w;
	if (n == 0 || table_command(words[0]) == NULL) {
		free(words);
		return argv;
	}
	memcpy(words + n, argv + 1, (size_t)(argc - 1) * sizeof *words);
	return words; /* to the end of hark */
}

static int run_command(const char *name, char **argv)
{
	const struct cli_row *command = table_command(name);
	struct cli_args *args = NULL;
	struct hark_err err;
	int status;

	if (command == NULL)
		return args_unknown_command(name);
	if (args_parse(command, argv, &args, &err) < 0)
		return cli_fail(&err);
	status = call(command, args);
	args_free(args);
	return status;
}

int main(int argc, char **argv)
{
	static char *nothing[] = {NULL};
	struct cli_args *args = NULL;
	struct hark_err err;
	int status;

	keep_standard_descriptors();
	argv = argc > 0 ? take_apart(argc - 1, argv + 1) : nothing;
	if (args_parse(table_tool(), argv, &args, &err) < 0)
		return cli_fail(&err);
	if (args_flag(args, "help"))
		status = run_command("help", nothing);
	else if (args_flag(args, "version"))
		status = run_command("version", nothing);
	else if (args_count(args) == 0)
		status = args_refuse(args, "no command given");
	else
		status = run_command(args_operands(args)[0],
				     args_operands(args) + 1);
	args_free(args);
	return status;
}
