/* tests/unit/cli_help_test.c - the table comes out whole in every shape. */
#include "cli/complete.h"
#include "cli/help.h"
#include "cli/manpage.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t text_len;
static FILE *out;

static void setup(void)
{
	out = open_memstream(&text, &text_len);
	ck_assert_ptr_nonnull(out);
}

static void teardown(void)
{
	fclose(out);
	free(text);
	text = NULL;
}

static void check_has(const char *what)
{
	fflush(out);
	ck_assert_msg(strstr(text, what) != NULL, "no '%s' in: %s", what, text);
}

static void check_has_not(const char *what)
{
	fflush(out);
	ck_assert_msg(strstr(text, what) == NULL, "'%s' in: %s", what, text);
}

START_TEST(help_shows_every_option_and_no_hidden_one)
{
	const struct cli_row *help = table_command("help");

	help_print(table_command("run"), out, false, 80);
	check_has("usage: hark run [OPTION...] [--] PROG [ARG...]\n"
		  "       hark run [OPTION...] -p PID\n");
	check_has("  -p, --pid=PID           enter ");
	check_has("      --native            let ");
	check_has("Exit status:\n");
	help_print(help, out, false, 80);
	check_has_not("--complete");
	check_has_not("--man");
}
END_TEST

START_TEST(help_of_the_tool_lists_the_commands)
{
	const struct cli_row *c = NULL;

	help_print(table_tool(), out, false, 80);
	check_has("usage: hark COMMAND");
	while ((c = table_next_command(c)) != NULL)
		check_has(c->text);
}
END_TEST

START_TEST(help_keeps_within_the_width)
{
	const struct cli_row *c = NULL;

	help_print(table_tool(), out, false, 60);
	while ((c = table_next_command(c)) != NULL)
		help_print(c, out, false, 60);
	fflush(out);
	for (char *line = strtok(text, "\n"); line != NULL;
	     line = strtok(NULL, "\n"))
		if (strstr(line, "usage:") == NULL &&
		    strstr(line, "  hark") == NULL)
			ck_assert_msg(strlen(line) <= 60, "%s", line);
}
END_TEST

START_TEST(help_is_colored_only_if_asked)
{
	help_print(table_command("run"), out, false, 80);
	check_has_not("\033");
	help_print(table_command("run"), out, true, 80);
	check_has("\033[1mCommon options:\033[0m");
}
END_TEST

START_TEST(manpage_escapes_what_roff_would_take)
{
	manpage_print(table_command("run"), out);
	check_has(".TH HARK\\-RUN 1 ");
	check_has("\nhark\\-run \\- run a program");
	check_has("\\fB\\-p\\fR, \\fB\\-\\-pid\\fR=\\fIPID\\fR\n");
	check_has("hark\\(aqs image");
	check_has("[OPTION\\&.\\&.\\&.]");
	check_has_not("hark's");
}
END_TEST

START_TEST(manpage_of_the_tool_refers_to_all_commands)
{
	const struct cli_row *c = NULL;
	char line[64];

	manpage_print(table_tool(), out);
	check_has(".TH HARK 1 ");
	check_has(".SH ENVIRONMENT\n");
	while ((c = table_next_command(c)) != NULL) {
		snprintf(line, sizeof line, ".BR hark\\-%s (1)", c->name);
		check_has(line);
	}
}
END_TEST

START_TEST(completion_knows_all_commands_and_options)
{
	static const char *const shells[] = {"bash", "zsh", "fish"};
	const struct cli_row *c, *o;

	for (int i = 0; i < 3; i++) {
		complete_print(shells[i], out);
		for (c = NULL; (c = table_next_command(c)) != NULL;) {
			check_has(c->name);
			for (o = c; (o = table_next(o, CLI_OPTION)) != NULL;)
				if (!o->hidden)
					check_has(o->name);
		}
		check_has_not("--complete=");
		check_has("hark");
		teardown();
		setup();
	}
}
END_TEST

Suite *cli_help_suite(void)
{
	Suite *s = suite_create("cli_help");
	TCase *t = tcase_create("help");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, help_shows_every_option_and_no_hidden_one);
	tcase_add_test(t, help_of_the_tool_lists_the_commands);
	tcase_add_test(t, help_keeps_within_the_width);
	tcase_add_test(t, help_is_colored_only_if_asked);
	tcase_add_test(t, manpage_escapes_what_roff_would_take);
	tcase_add_test(t, manpage_of_the_tool_refers_to_all_commands);
	tcase_add_test(t, completion_knows_all_commands_and_options);
	suite_add_tcase(s, t);
	return s;
}
