/* cli/commands.h - one function a command, named by its row in the table. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

#define COMMAND(id, name, summary) int cmd_##id(const struct cli_args *args);
#include "cli/table.def"

#endif
