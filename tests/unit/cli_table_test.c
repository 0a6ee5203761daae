/* tests/unit/cli_table_test.c - the table keeps what its readers rely on. */
#include "cli/table.h"

#include <check.h>
#include <ctype.h>
#include <string.h>

/* The tool itself, then every command; NULL at the end. */
static const struct cli_row *next(const struct cli_row *command)
{
	if (command == NULL)
		return table_tool();
	return table_next_command(command == table_tool() ? NULL : command);
}

static unsigned count(const struct cli_row *command, enum cli_kind kind)
{
	unsigned n = 0;

	for (const struct cli_row *r = command;
	     (r = table_next(r, kind)) != NULL;)
		n++;
	return n;
}

START_TEST(every_command_has_what_help_needs)
{
	for (const struct cli_row *c = NULL; (c = next(c)) != NULL;) {
		ck_assert_ptr_nonnull(c->name);
		ck_assert_uint_lt(strlen(c->text), 60);
		ck_assert_uint_ge(count(c, CLI_SYNOPSIS), 1);
		ck_assert_uint_ge(count(c, CLI_TEXT), 1);
		ck_assert_uint_eq(count(c, CLI_OPERANDS), 1);
		ck_assert_uint_ge(count(c, CLI_EXIT), 1);
		ck_assert_ptr_nonnull(table_option(c, "help", 4));
	}
}
END_TEST

START_TEST(every_command_has_the_common_options)
{
	for (const struct cli_row *c = NULL;
	     (c = table_next_command(c)) != NULL;) {
		ck_assert_ptr_nonnull(table_option(c, "quiet", 5));
		ck_assert_ptr_nonnull(table_option(c, "color", 5));
		ck_assert_ptr_eq(table_letter(c, 'h'),
				 table_option(c, "help", 4));
	}
}
END_TEST

START_TEST(no_name_and_no_letter_is_taken_twice)
{
	for (const struct cli_row *c = NULL; (c = next(c)) != NULL;) {
		if (c != table_tool())
			ck_assert_ptr_eq(c, table_command(c->name));
		for (const struct cli_row *o = c;
		     (o = table_next(o, CLI_OPTION)) != NULL;) {
			ck_assert_ptr_eq(
			    o, table_option(c, o->name, strlen(o->name)));
			if (o->letter != 0)
				ck_assert_ptr_eq(o, table_letter(c, o->letter));
		}
	}
}
END_TEST

START_TEST(options_are_written_in_one_manner)
{
	for (const struct cli_row *c = NULL; (c = next(c)) != NULL;) {
		for (const struct cli_row *o = c;
		     (o = table_next(o, CLI_OPTION)) != NULL;) {
			size_t len = strlen(o->text);

			ck_assert_int_eq(o->value == CLI_IS_FLAG,
					 o->arg == NULL);
			ck_assert(!isupper((unsigned char)o->text[0]));
			ck_assert_int_ne('.', o->text[len - 1]);
			ck_assert_uint_lt(strlen(o->name), 20);
			ck_assert_uint_lt(len, 120);
		}
	}
}
END_TEST

/* Shells and roff take them as they are; paragraphs and examples only roff,
 * which knows no $; and what is only in man pages is escaped there. */
START_TEST(texts_are_plain)
{
	const struct cli_row *r = table_tool();

	for (; r->kind != CLI_END; r++) {
		bool is_manual = r->kind >= CLI_SECTION;
		const char *odd =
		    is_manual					    ? ""
		    : r->kind == CLI_TEXT || r->kind == CLI_EXAMPLE ? "\\`\""
								    : "\\`$\"";

		for (const char *t = r->text; t != NULL && *t != '\0'; t++) {
			ck_assert_int_ge(*t, ' ');
			ck_assert_int_le(*t, '~');
			ck_assert(strchr(odd, *t) == NULL);
		}
	}
}
END_TEST

START_TEST(a_row_belongs_to_one_command)
{
	const struct cli_row *run = table_command("run");
	const struct cli_row *version = table_command("version");

	ck_assert_ptr_nonnull(table_option(run, "native", 6));
	ck_assert_ptr_null(table_option(version, "native", 6));
	ck_assert_ptr_null(table_option(run, "nativ", 5));
	ck_assert_ptr_null(table_letter(version, 'p'));
	ck_assert_ptr_null(table_letter(run, 'Z'));
	ck_assert_ptr_null(table_letter(run, '\0'));
	ck_assert_ptr_null(table_command("hark"));
	ck_assert_ptr_null(table_command(""));
}
END_TEST

static const char *meant(const char *name)
{
	const char *got = table_meant_command(name);

	return got != NULL ? got : "?";
}

START_TEST(a_slip_of_the_fingers_is_understood)
{
	const struct cli_row *run = table_command("run");

	ck_assert_str_eq("run", meant("rnu"));
	ck_assert_str_eq("doctor", meant("docter"));
	ck_assert_str_eq("doctor", meant("doc"));
	ck_assert_str_eq("version", meant("verison"));
	ck_assert_str_eq("help", meant("hlep"));
	ck_assert_str_eq("?", meant("fandango"));
	ck_assert_str_eq("?", meant("x"));
	ck_assert_str_eq("?", meant(""));
	ck_assert_str_eq("native", table_meant_option(run, "natvie", 6));
	ck_assert_str_eq("output", table_meant_option(run, "out", 3));
	ck_assert_ptr_null(table_meant_option(run, "zzzz", 4));
}
END_TEST

START_TEST(a_very_long_name_is_not_measured)
{
	char name[4096];

	memset(name, 'r', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	ck_assert_ptr_null(table_meant_command(name));
}
END_TEST

START_TEST(hidden_options_are_not_suggested)
{
	const struct cli_row *help = table_command("help");

	ck_assert_ptr_nonnull(table_option(help, "list", 4));
	ck_assert_ptr_null(table_meant_option(help, "lis", 3));
}
END_TEST

START_TEST(choices_are_whole_words)
{
	const struct cli_row *o =
	    table_option(table_command("run"), "color", 5);

	ck_assert(table_has_choice(o, "auto"));
	ck_assert(table_has_choice(o, "always"));
	ck_assert(table_has_choice(o, "never"));
	ck_assert(!table_has_choice(o, "neve"));
	ck_assert(!table_has_choice(o, "auto|always"));
	ck_assert(!table_has_choice(o, ""));
}
END_TEST

Suite *cli_table_suite(void)
{
	Suite *s = suite_create("cli_table");
	TCase *t = tcase_create("table");

	tcase_add_test(t, every_command_has_what_help_needs);
	tcase_add_test(t, every_command_has_the_common_options);
	tcase_add_test(t, no_name_and_no_letter_is_taken_twice);
	tcase_add_test(t, options_are_written_in_one_manner);
	tcase_add_test(t, texts_are_plain);
	tcase_add_test(t, a_row_belongs_to_one_command);
	tcase_add_test(t, a_slip_of_the_fingers_is_understood);
	tcase_add_test(t, a_very_long_name_is_not_measured);
	tcase_add_test(t, hidden_options_are_not_suggested);
	tcase_add_test(t, choices_are_whole_words);
	suite_add_tcase(s, t);
	return s;
}
