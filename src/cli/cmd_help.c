/* cli/cmd_help.c - hark help: the table, in every shape it can be had.
 *
 * tools/make-docs uses the hidden options for man pages and completion. */
#include "cli/commands.h"

#include "cli/args.h"
#include "cli/complete.h"
#include "cli/help.h"
#include "cli/manpage.h"
#include "present/term.h"

#include <unistd.h>

static int print_list(void)
{
	const struct cli_row *c = NULL;

	while ((c = table_next_command(c)) != NULL)
		puts(c->name);
	return cli_finish(CLI_OK);
}

int cmd_help(const struct cli_args *args)
{
	const struct cli_row *about = table_tool();
	const char *name = args_operands(args)[0];

	if (args_flag(args, "list"))
		return print_list();
	if (args_flag(args, "complete")) {
		complete_print(args_value(args, "complete"), stdout);
		return cli_finish(CLI_OK);
	}
	if (name != NULL)
		about = table_command(name);
	if (about == NULL)
		return args_unknown_command(name);
	if (args_flag(args, "man"))
		manpage_print(about, stdout);
	else
		help_print(about, stdout, args_colored(args, STDOUT_FILENO),
			   term_width(STDOUT_FILENO));
	return cli_finish(CLI_OK);
}
