/* tests/unit/probe_compile_test.c - scripts of several texts, their options,
 * and mistakes that are told before anything is started. */
#include "probe/compile.h"

#include <check.h>
#include <string.h>

static char said[4096];
static struct options options;
static struct hark_err err;

static void say(void *ctx, const char *text)
{
	(void)ctx;
	strcat(said, text);
	strcat(said, "\n");
}

static int early(const struct script_source *sources, size_t n,
		 const char *setting)
{
	struct compile c = {.sources = sources,
			    .n_sources = n,
			    .settings = &setting,
			    .n_settings = setting != NULL,
			    .say = say};

	said[0] = '\0';
	err = (struct hark_err){0};
	memset(&options, 0, sizeof options);
	return compile_early(&c, &options, &err);
}

static int early_text(const char *text, const char *setting)
{
	struct script_source s = {"a.d", text, strlen(text)};

	return early(&s, 1, setting);
}

START_TEST(final_mistakes_are_told_early)
{
	ck_assert_int_eq(-1, early_text("BEGIN { nosuch(); }", NULL));
	ck_assert_str_eq("", err.text);
	ck_assert_ptr_nonnull(strstr(said, "a.d:1:9: [FUNC_UNDEF] "));
	ck_assert_int_eq(-1, early_text("BEGIN { stop(); }", NULL));
	ck_assert_ptr_nonnull(strstr(said, "[DESTRUCTIVE]"));
	ck_assert_int_eq(-1, early_text("f:entry { @ = cuont(); }", NULL));
	ck_assert_ptr_nonnull(strstr(said, "[AGG_FUNC]"));
}
END_TEST

START_TEST(what_types_may_mend_waits_for_them)
{
	struct script_source s = {"a.d", "", 0};
	struct compile c = {.sources = &s, .n_sources = 1, .say = say};
	struct script *out;

	s.text = "f:entry { trace(args[0]->next); }";
	s.len = strlen(s.text);
	ck_assert_int_eq(0, early_text(s.text, NULL));
	ck_assert_str_eq("", said);
	ck_assert_int_eq(-1, compile_for(&c, &options, 1, NULL, &out, &err));
	ck_assert_ptr_nonnull(strstr(said, "a.d:1:"));
}
END_TEST

START_TEST(each_text_has_its_own_name_and_lines)
{
	static const struct script_source two[] = {
	    {"a.d", "BEGIN { x = 1; }\n", 17},
	    {NULL, "\n\nEND { nosuch(); }", 19},
	};

	ck_assert_int_eq(-1, early(two, 2, NULL));
	ck_assert_ptr_nonnull(strstr(said, "-n:3:7: [FUNC_UNDEF] "));
}
END_TEST

START_TEST(a_clause_ends_with_its_text)
{
	static const struct script_source two[] = {
	    {"a.d", "BEGIN { x = 1;", 14},
	    {"b.d", "END { x = 2; }", 14},
	};
	struct compile c = {.sources = two, .n_sources = 2, .say = say};
	struct script *out;

	options_init(&options);
	said[0] = '\0';
	ck_assert_int_eq(-1, compile_for(&c, &options, 1, NULL, &out, &err));
	ck_assert_ptr_nonnull(strstr(said, "a.d:1:15: [SYNTAX] "));
	ck_assert_ptr_null(strstr(said, "b.d"));
}
END_TEST

START_TEST(variables_are_those_of_all_texts)
{
	static const struct script_source two[] = {
	    {"a.d", "BEGIN { x = 1; @a = count(); }", 30},
	    {"b.d", "#!/usr/bin/hark\nEND { trace(x); printa(@a); }", 45},
	};

	ck_assert_int_eq(0, early(two, 2, NULL));
}
END_TEST

START_TEST(the_command_line_comes_after_the_script)
{
	ck_assert_int_eq(0, early_text("#pragma D option strsize=64\n"
				       "#pragma D option quiet\nBEGIN {}",
				       "strsize=128"));
	ck_assert_uint_eq(128, options.strsize);
	ck_assert(options.quiet);
}
END_TEST

START_TEST(a_pragma_may_allow_destruction)
{
	ck_assert_int_eq(
	    0, early_text("#pragma D option destructive\nBEGIN { stop(); }",
			  NULL));
	ck_assert(options.destructive);
}
END_TEST

START_TEST(bad_options_say_where)
{
	ck_assert_int_eq(-1, early_text("\n#pragma D option strsiez=64\nBEGIN "
					"{}",
					NULL));
	ck_assert_ptr_nonnull(
	    strstr(err.text, "a.d:2:1: [PRAGMA] unknown option 'strsiez'"));
	ck_assert_int_eq(-1, early_text("BEGIN {}", "nosuch=1"));
	ck_assert_ptr_nonnull(strstr(err.text, "unknown option 'nosuch'"));
}
END_TEST

START_TEST(paths_are_modules_and_slashes_predicates)
{
	ck_assert_int_eq(0, early_text("pid$target:/bin/ls:main:entry/arg0 > "
				       "1/{ x = 1; } /lib/x.so:f:entry { x = "
				       "2; } ::g:entry /arg0/ { x = 3; }",
				       NULL));
}
END_TEST

Suite *probe_compile_suite(void)
{
	Suite *s = suite_create("probe_compile");
	TCase *t = tcase_create("compile");

	tcase_add_test(t, final_mistakes_are_told_early);
	tcase_add_test(t, what_types_may_mend_waits_for_them);
	tcase_add_test(t, each_text_has_its_own_name_and_lines);
	tcase_add_test(t, a_clause_ends_with_its_text);
	tcase_add_test(t, variables_are_those_of_all_texts);
	tcase_add_test(t, the_command_line_comes_after_the_script);
	tcase_add_test(t, a_pragma_may_allow_destruction);
	tcase_add_test(t, bad_options_say_where);
	tcase_add_test(t, paths_are_modules_and_slashes_predicates);
	suite_add_tcase(s, t);
	return s;
}
