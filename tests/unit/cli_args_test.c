/* tests/unit/cli_args_test.c - command lines, right and wrong. */
#include "cli/args.h"

#include "outside/faults.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A command line. Nobody writes to its words, though execve's type would. */
#define WORDS(...) ((char **)(const char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static struct cli_args *parsed(const char *command, char **words)
{
	struct cli_args *a = NULL;
	struct hark_err err = {0};
	int rc = args_parse(table_command(command), words, &a, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	return a;
}

static void check_refused(const char *command, char **words, const char *why)
{
	const struct cli_row *c =
	    command != NULL ? table_command(command) : table_tool();
	struct cli_args *a = NULL;
	struct hark_err err = {0};

	ck_assert_int_eq(-1, args_parse(c, words, &a, &err));
	ck_assert_ptr_null(a);
	ck_assert_int_eq(HARK_EINPUT, err.code);
	ck_assert_str_eq(err.text, why);
}

START_TEST(options_end_at_the_first_word)
{
	struct cli_args *a = parsed("run", WORDS("--native", "ls", "-q", "--"));

	ck_assert(args_flag(a, "native"));
	ck_assert(!args_flag(a, "quiet"));
	ck_assert_uint_eq(3, args_count(a));
	ck_assert_str_eq("ls", args_operands(a)[0]);
	ck_assert_str_eq("-q", args_operands(a)[1]);
	ck_assert_str_eq("--", args_operands(a)[2]);
	ck_assert_ptr_null(args_operands(a)[3]);
	args_free(a);
}
END_TEST

START_TEST(options_end_at_two_dashes)
{
	struct cli_args *a = parsed("run", WORDS("-q", "--", "-x", "--"));

	ck_assert(args_flag(a, "quiet"));
	ck_assert_uint_eq(2, args_count(a));
	ck_assert_str_eq("-x", args_operands(a)[0]);
	args_free(a);
}
END_TEST

START_TEST(options_may_stand_among_mixed_words)
{
	struct cli_args *a =
	    parsed("ask", WORDS("f.hark", "--json", "value", "x", "--at", "1:2",
				"--", "--json", "-q"));

	ck_assert(args_flag(a, "json"));
	ck_assert(!args_flag(a, "quiet"));
	ck_assert_str_eq("1:2", args_value(a, "at"));
	ck_assert_uint_eq(5, args_count(a));
	ck_assert_str_eq("f.hark", args_operands(a)[0]);
	ck_assert_str_eq("value", args_operands(a)[1]);
	ck_assert_str_eq("x", args_operands(a)[2]);
	ck_assert_str_eq("--json", args_operands(a)[3]);
	ck_assert_str_eq("-q", args_operands(a)[4]);
	ck_assert_ptr_null(args_operands(a)[5]);
	args_free(a);
	check_refused("ask", WORDS("value", "x", "--wrong"),
		      "ask: unknown option '--wrong'; see 'hark help ask'");
}
END_TEST

START_TEST(one_dash_alone_is_a_word)
{
	struct cli_args *a = parsed("run", WORDS("-q", "-", "-D"));

	ck_assert_uint_eq(2, args_count(a));
	ck_assert_str_eq("-", args_operands(a)[0]);
	ck_assert(!args_flag(a, "detach"));
	args_free(a);
}
END_TEST

START_TEST(values_come_in_four_forms)
{
	static const char *forms[][3] = {
	    {"--output=a b", NULL},
	    {"--output", "a b", NULL},
	    {"-oa b", NULL},
	    {"-o", "a b", NULL},
	};

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		struct cli_args *a = parsed("run", (char **)forms[i]);

		ck_assert_str_eq("a b", args_value(a, "output"));
		ck_assert_uint_eq(0, args_count(a));
		args_free(a);
	}
}
END_TEST

START_TEST(letters_may_stand_together)
{
	struct cli_args *a = parsed("run", WORDS("-qfo", "x", "-Dp12", "ls"));

	ck_assert(args_flag(a, "quiet"));
	ck_assert(args_flag(a, "follow"));
	ck_assert(args_flag(a, "detach"));
	ck_assert(!args_flag(a, "native"));
	ck_assert_str_eq("x", args_value(a, "output"));
	ck_assert_int_eq(12, args_pid(a, "pid"));
	ck_assert_uint_eq(1, args_count(a));
	args_free(a);
}
END_TEST

START_TEST(the_last_value_counts_and_all_can_be_had)
{
	struct cli_args *a =
	    parsed("run", WORDS("-o", "a", "--output=b", "-q", "-oc"));

	ck_assert_str_eq("c", args_value(a, "output"));
	ck_assert_str_eq("a", args_nth(a, "output", 0));
	ck_assert_str_eq("b", args_nth(a, "output", 1));
	ck_assert_str_eq("c", args_nth(a, "output", 2));
	ck_assert_ptr_null(args_nth(a, "output", 3));
	args_free(a);
}
END_TEST

START_TEST(what_was_not_given_is_not_there)
{
	struct cli_args *a = parsed("run", WORDS());

	ck_assert(!args_flag(a, "output"));
	ck_assert_ptr_null(args_value(a, "output"));
	ck_assert_int_eq(0, args_pid(a, "pid"));
	ck_assert_uint_eq(0, args_count(a));
	ck_assert_ptr_null(args_operands(a)[0]);
	args_free(a);
}
END_TEST

START_TEST(a_value_may_look_like_an_option)
{
	struct cli_args *a = parsed("run", WORDS("-o", "--json", "-q"));

	ck_assert_str_eq("--json", args_value(a, "output"));
	ck_assert(!args_flag(a, "json"));
	ck_assert(args_flag(a, "quiet"));
	args_free(a);
}
END_TEST

START_TEST(help_ends_the_command_line)
{
	struct cli_args *a = parsed("info", WORDS("--help", "--nonsense"));

	ck_assert(args_flag(a, "help"));
	args_free(a);
	a = parsed("info", WORDS("-qh"));
	ck_assert(args_flag(a, "help"));
	args_free(a);
}
END_TEST

START_TEST(an_unknown_option_is_refused_with_a_hint)
{
	check_refused("run", WORDS("--natvie", "ls"),
		      "run: unknown option '--natvie'; did you mean "
		      "'--native'?");
	check_refused("run", WORDS("--zzz=3"),
		      "run: unknown option '--zzz'; see 'hark help run'");
	check_refused("run", WORDS("-qZ"),
		      "run: unknown option '-Z'; see 'hark help run'");
	check_refused(NULL, WORDS("-Z"),
		      "unknown option '-Z'; see 'hark help'");
	check_refused(NULL, WORDS("--versoin"),
		      "unknown option '--versoin'; did you mean "
		      "'--version'?");
	check_refused("run", WORDS("--=x"),
		      "run: unknown option '--'; see 'hark help run'");
}
END_TEST

START_TEST(a_wrong_value_is_refused)
{
	check_refused("run", WORDS("--output"),
		      "run: option '--output' needs FILE");
	check_refused("run", WORDS("-qp"), "run: option '-p' needs PID");
	check_refused("run", WORDS("--output="),
		      "run: option --output needs a file name");
	check_refused("run", WORDS("--native=1"),
		      "run: option '--native' takes no value");
	check_refused("run", WORDS("--color", "blue"),
		      "run: 'blue' is not one of auto|always|never (option "
		      "--color)");
}
END_TEST

START_TEST(a_process_id_is_a_positive_number)
{
	static const char *const wrong[] = {
	    "",	   "0",		 "-1",
	    "+5",  " 5",	 "5x",
	    "0x5", "2147483648", "99999999999999999999"};
	struct cli_args *a = parsed("run", WORDS("-p", "2147483647"));

	ck_assert_int_eq(2147483647, args_pid(a, "pid"));
	args_free(a);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		char why[128];

		snprintf(why, sizeof why,
			 "run: '%s' is no process id (option --pid)", wrong[i]);
		check_refused("run", WORDS("--pid", wrong[i]), why);
	}
}
END_TEST

START_TEST(operands_are_counted)
{
	check_refused("rm", WORDS(), "rm: no FILE given; see 'hark help rm'");
	check_refused("info", WORDS("a", "b", "c"),
		      "info: 'b' is one argument too many");
	check_refused("version", WORDS("x"),
		      "version: 'x' is one argument too many");
}
END_TEST

START_TEST(a_long_word_is_cut_not_overrun)
{
	char word[3000] = "--";
	struct cli_args *a = NULL;
	struct hark_err err = {0};

	memset(word + 2, 'x', sizeof word - 3);
	word[sizeof word - 1] = '\0';
	ck_assert_int_eq(
	    -1, args_parse(table_command("run"), WORDS(word), &a, &err));
	ck_assert_uint_lt(strlen(err.text), 200);
	ck_assert_int_eq(-1, args_parse(table_command("run"),
					WORDS("-p", word + 2), &a, &err));
	ck_assert_uint_lt(strlen(err.text), sizeof err.text);
}
END_TEST

START_TEST(asking_for_a_foreign_option_is_a_mistake)
{
	struct cli_args *a = parsed("version", WORDS());

	args_flag(a, "native");
}
END_TEST

START_TEST(every_failed_allocation_is_an_error)
{
	char flag[] = "-q", *many[40];
	int rc = -1;
	long k;

	for (size_t i = 0; i < 39; i++)
		many[i] = flag;
	many[39] = NULL;
	for (k = 1; rc < 0; k++) {
		struct cli_args *a = NULL;
		struct hark_err err = {0};

		ck_assert_int_lt(k, 20);
		faults_set(k);
		rc = args_parse(table_command("run"), many, &a, &err);
		faults_set(0);
		ck_assert_int_eq(rc == 0 ? HARK_OK : HARK_ENOMEM, err.code);
		args_free(a);
	}
	ck_assert_int_gt(k, 3);
}
END_TEST

Suite *cli_args_suite(void)
{
	Suite *s = suite_create("cli_args");
	TCase *t = tcase_create("args");

	tcase_add_test(t, options_end_at_the_first_word);
	tcase_add_test(t, options_end_at_two_dashes);
	tcase_add_test(t, options_may_stand_among_mixed_words);
	tcase_add_test(t, one_dash_alone_is_a_word);
	tcase_add_test(t, values_come_in_four_forms);
	tcase_add_test(t, letters_may_stand_together);
	tcase_add_test(t, the_last_value_counts_and_all_can_be_had);
	tcase_add_test(t, what_was_not_given_is_not_there);
	tcase_add_test(t, a_value_may_look_like_an_option);
	tcase_add_test(t, help_ends_the_command_line);
	tcase_add_test(t, an_unknown_option_is_refused_with_a_hint);
	tcase_add_test(t, a_wrong_value_is_refused);
	tcase_add_test(t, a_process_id_is_a_positive_number);
	tcase_add_test(t, operands_are_counted);
	tcase_add_test(t, a_long_word_is_cut_not_overrun);
	tcase_add_test_raise_signal(t, asking_for_a_foreign_option_is_a_mistake,
				    SIGABRT);
	tcase_add_test(t, every_failed_allocation_is_an_error);
	suite_add_tcase(s, t);
	return s;
}
