/* cli/main.c - finds the command and calls it. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "present/say.h"
#include "present/term.h"

#include <fcntl.h>
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
	if (args_parse(table_tool(), argc > 0 ? argv + 1 : nothing, &args,
		       &err) < 0)
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
