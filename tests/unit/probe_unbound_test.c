/* tests/unit/probe_unbound_test.c - BEGIN, END, ERROR and ticks: which clauses,
 * in which order, and when. */
#include "probe/unbound.h"
#include "script/script.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct script *script;
static struct unbound *unbound;
static char ran[256];

static void make(const char *text)
{
	struct script_settings settings = {.target = "1"};
	struct hark_err err;

	script = script_compile(text, strlen(text), &settings, &err);
	ck_assert_ptr_nonnull(script);
	ck_assert_ptr_nonnull(script_program(script));
	ck_assert_int_eq(0,
			 unbound_new(script_program(script), &unbound, &err));
	ran[0] = '\0';
}

static void teardown(void)
{
	unbound_free(unbound);
	script_free(script);
	unbound = NULL;
	script = NULL;
}

static int note(void *ctx, uint32_t site, uint32_t clause, bool goes_on)
{
	size_t n = strlen(ran);

	(void)ctx;
	snprintf(ran + n, sizeof ran - n, "%u%s%u ", site, goes_on ? "+" : ".",
		 clause);
	return 0;
}

START_TEST(each_runs_in_the_order_of_the_script)
{
	make("BEGIN { x = 1; } END { x = 2; } BEGIN, END { x = 3; } "
	     "ERROR { x = 4; } ::f:entry { x = 5; } BEGIN { x = 6; }");
	ck_assert_uint_eq(3, unbound_count(unbound));
	unbound_each(unbound, PROBE_AT_BEGIN, note, NULL);
	ck_assert_str_eq("0.0 0+2 0+5 ", ran);
	ran[0] = '\0';
	unbound_each(unbound, PROBE_AT_END, note, NULL);
	ck_assert_str_eq("1.1 1+2 ", ran);
	ran[0] = '\0';
	unbound_each(unbound, PROBE_AT_ERROR, note, NULL);
	ck_assert_str_eq("2.3 ", ran);
	ck_assert(unbound_has(unbound, PROBE_AT_ERROR));
	ck_assert(!unbound_has(unbound, PROBE_AT_TICK));
}
END_TEST

START_TEST(a_clause_with_a_site_twice_runs_once)
{
	make("BEGIN, BEGIN, dtrace:::BEGIN { x = 1; }");
	ck_assert_uint_eq(1, unbound_count(unbound));
	unbound_each(unbound, PROBE_AT_BEGIN, note, NULL);
	ck_assert_str_eq("0.0 ", ran);
}
END_TEST

START_TEST(sites_have_names)
{
	make("BEGIN { x = 1; } tick-1s { x = 2; }");
	ck_assert_str_eq("dtrace", unbound_texts(unbound)[0][0]);
	ck_assert_str_eq("BEGIN", unbound_texts(unbound)[0][3]);
	ck_assert_str_eq("profile", unbound_texts(unbound)[1][0]);
	ck_assert_str_eq("", unbound_texts(unbound)[1][2]);
	ck_assert_str_eq("tick-1s", unbound_texts(unbound)[1][3]);
}
END_TEST

START_TEST(ticks_are_due_when_their_time_has_come)
{
	make("tick-10ns { x = 1; } tick-25ns { x = 2; } tick-10ns { x = 3; }");
	ck_assert_uint_eq(2, unbound_count(unbound));
	unbound_start(unbound, 100);
	ck_assert_int_eq(110, unbound_next(unbound));
	unbound_due(unbound, 109, note, NULL);
	ck_assert_str_eq("", ran);
	unbound_due(unbound, 110, note, NULL);
	ck_assert_str_eq("0.0 0+2 ", ran);
	ck_assert_int_eq(120, unbound_next(unbound));
	ran[0] = '\0';
	unbound_due(unbound, 125, note, NULL);
	ck_assert_str_eq("0.0 0+2 1.1 ", ran);
	ck_assert_int_eq(130, unbound_next(unbound));
}
END_TEST

START_TEST(ticks_that_were_missed_are_not_made_up_for)
{
	make("tick-10ns { x = 1; }");
	unbound_start(unbound, 0);
	unbound_due(unbound, 1005, note, NULL);
	ck_assert_str_eq("0.0 ", ran);
	ck_assert_int_eq(1010, unbound_next(unbound));
}
END_TEST

START_TEST(without_ticks_nothing_is_ever_due)
{
	make("BEGIN { x = 1; }");
	unbound_start(unbound, 5);
	ck_assert_int_eq(INT64_MAX, unbound_next(unbound));
	unbound_due(unbound, 1000000, note, NULL);
	ck_assert_str_eq("", ran);
}
END_TEST

/* They are sites like the others, but threads run them. */
START_TEST(profiles_have_clauses_for_threads)
{
	uint32_t clauses[4];

	make("profile-97 { x = 1; } tick-1ms { x = 2; } "
	     "profile-1ms, profile-97 { x = 3; } profile-97hz { x = 4; }");
	ck_assert_uint_eq(4, unbound_count(unbound));
	ck_assert_str_eq("profile", unbound_texts(unbound)[0][0]);
	ck_assert_str_eq("profile-97", unbound_texts(unbound)[0][3]);
	ck_assert_uint_eq(1000000000 / 97, unbound_period(unbound, 0));
	ck_assert_uint_eq(0, unbound_period(unbound, 1));
	ck_assert_uint_eq(1000000, unbound_every(unbound, 1));
	ck_assert_uint_eq(1000000, unbound_shortest(unbound));
	ck_assert_uint_eq(2, unbound_clauses(unbound, 0, clauses, 4));
	ck_assert_uint_eq(0, clauses[0]);
	ck_assert_uint_eq(2, clauses[1]);
	ck_assert_uint_eq(1, unbound_clauses(unbound, 2, clauses, 4));
	ck_assert_uint_eq(2, clauses[0]);
	unbound_start(unbound, 0);
	ck_assert_int_eq(1000000, unbound_next(unbound));
	unbound_due(unbound, 1000000000, note, NULL);
	ck_assert_str_eq("1.1 ", ran);
}
END_TEST

START_TEST(without_profiles_nothing_is_interrupted)
{
	make("tick-1ms { x = 2; }");
	ck_assert_uint_eq(0, unbound_shortest(unbound));
}
END_TEST

Suite *probe_unbound_suite(void)
{
	Suite *s = suite_create("probe_unbound");
	TCase *t = tcase_create("unbound");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, each_runs_in_the_order_of_the_script);
	tcase_add_test(t, a_clause_with_a_site_twice_runs_once);
	tcase_add_test(t, sites_have_names);
	tcase_add_test(t, ticks_are_due_when_their_time_has_come);
	tcase_add_test(t, ticks_that_were_missed_are_not_made_up_for);
	tcase_add_test(t, without_ticks_nothing_is_ever_due);
	tcase_add_test(t, profiles_have_clauses_for_threads);
	tcase_add_test(t, without_profiles_nothing_is_interrupted);
	suite_add_tcase(s, t);
	return s;
}
