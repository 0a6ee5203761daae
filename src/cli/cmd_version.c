/* cli/cmd_version.c - hark version: which hark is this? */
#include "cli/commands.h"

#include "present/json.h"

#include <stdio.h>

int cmd_version(const struct cli_args *args)
{
	struct json j;

	if (!args_flag(args, "json")) {
		printf("hark %s\n", HARK_VERSION);
		return cli_finish(CLI_OK);
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "name", "hark");
	json_text(&j, "version", HARK_VERSION);
	json_text(&j, "arch", "x86_64");
	json_text(&j, "compiler", __VERSION__);
	json_end(&j);
	return cli_finish(CLI_OK);
}
