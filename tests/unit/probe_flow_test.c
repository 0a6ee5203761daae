/* tests/unit/probe_flow_test.c - calls and returns, indented. */
#include "probe/flow.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct flow *flow;
static char text[4096];

static void setup(void)
{
	struct hark_err err;

	ck_assert_int_eq(0, flow_new(&flow, &err));
	text[0] = '\0';
}

static void teardown(void)
{
	flow_free(flow);
}

/* One line a hit: indentation, arrow, the site's number, ':' if all of the
 * name is shown. */
static void hit(uint32_t tid, uint32_t site, uint32_t clause,
		enum flow_kind kind)
{
	struct flow_hit h = {1, tid, site, clause, kind};
	struct flow_line l;
	size_t n = strlen(text);

	ck_assert(flow_step(flow, &h, &l));
	snprintf(text + n, sizeof text - n, "%*s%s%u%s\n", (int)l.indent, "",
		 l.arrow, site, l.names_all ? ":" : "");
}

START_TEST(calls_go_right_and_returns_left)
{
	hit(1, 1, 0, FLOW_ENTRY);
	hit(1, 2, 0, FLOW_ENTRY);
	hit(1, 3, 0, FLOW_OTHER);
	hit(1, 4, 0, FLOW_RETURN);
	hit(1, 5, 0, FLOW_RETURN);
	ck_assert_str_eq("-> 1\n"
			 "  -> 2\n"
			 "     | 3:\n"
			 "  <- 4\n"
			 "<- 5\n",
			 text);
}
END_TEST

START_TEST(threads_do_not_move_each_other)
{
	hit(1, 1, 0, FLOW_ENTRY);
	hit(2, 1, 0, FLOW_ENTRY);
	hit(1, 2, 0, FLOW_ENTRY);
	hit(2, 9, 0, FLOW_RETURN);
	hit(1, 9, 0, FLOW_RETURN);
	ck_assert_str_eq("-> 1\n"
			 "-> 1\n"
			 "  -> 2\n"
			 "<- 9\n"
			 "  <- 9\n",
			 text);
}
END_TEST

START_TEST(processes_have_threads_of_their_own)
{
	struct flow_hit h = {1, 7, 1, 0, FLOW_ENTRY};
	struct flow_line l;

	flow_step(flow, &h, &l);
	h.pid = 2;
	flow_step(flow, &h, &l);
	ck_assert_uint_eq(0, l.indent);
	h.pid = 1;
	flow_step(flow, &h, &l);
	ck_assert_uint_eq(2, l.indent);
}
END_TEST

START_TEST(clauses_of_one_hit_share_the_arrow)
{
	hit(1, 1, 0, FLOW_ENTRY);
	hit(1, 1, 2, FLOW_ENTRY);
	hit(1, 2, 0, FLOW_RETURN);
	hit(1, 2, 2, FLOW_RETURN);
	ck_assert_str_eq("-> 1\n"
			 "   | 1:\n"
			 "<- 2\n"
			 " | 2:\n",
			 text);
}
END_TEST

START_TEST(recursion_is_another_hit)
{
	hit(1, 1, 0, FLOW_ENTRY);
	hit(1, 1, 0, FLOW_ENTRY);
	hit(1, 2, 0, FLOW_RETURN);
	hit(1, 2, 0, FLOW_RETURN);
	ck_assert_str_eq("-> 1\n"
			 "  -> 1\n"
			 "  <- 2\n"
			 "<- 2\n",
			 text);
}
END_TEST

/* Attached in the middle of something, or left by longjmp. */
START_TEST(returns_without_a_call_stay_at_the_edge)
{
	hit(1, 1, 0, FLOW_RETURN);
	hit(1, 1, 0, FLOW_RETURN);
	hit(1, 2, 0, FLOW_ENTRY);
	ck_assert_str_eq("<- 1\n"
			 "<- 1\n"
			 "-> 2\n",
			 text);
}
END_TEST

START_TEST(no_depth_is_too_deep)
{
	struct flow_hit h = {1, 1, 1, 0, FLOW_ENTRY};
	struct flow_line l;

	for (unsigned i = 0; i < 100000; i++)
		ck_assert(flow_step(flow, &h, &l));
	ck_assert_uint_le(l.indent, 200);
	h.kind = FLOW_RETURN;
	h.site = 2;
	for (unsigned i = 0; i < 100000; i++)
		flow_step(flow, &h, &l);
	ck_assert_uint_eq(0, l.indent);
}
END_TEST

Suite *probe_flow_suite(void)
{
	Suite *s = suite_create("probe_flow");
	TCase *t = tcase_create("flow");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, calls_go_right_and_returns_left);
	tcase_add_test(t, threads_do_not_move_each_other);
	tcase_add_test(t, processes_have_threads_of_their_own);
	tcase_add_test(t, clauses_of_one_hit_share_the_arrow);
	tcase_add_test(t, recursion_is_another_hit);
	tcase_add_test(t, returns_without_a_call_stay_at_the_edge);
	tcase_add_test(t, no_depth_is_too_deep);
	suite_add_tcase(s, t);
	return s;
}
