/* cli/help.h - the table as text for a terminal. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/table.h"

#include <stdio.h>

/* Help for one command, or for hark itself with the list of commands. */
void help_print(const struct cli_row *command, FILE *out, bool colored,
		size_t width);

#endif
