/* travel/latest.c: the latest of several threads' touches. */
#include "travel/latest.h"

#include <check.h>

/* The moment: a span of the selected thread. */
static const struct last_touch here = {.turn = 50,
				       .segment = 3,
				       .count = 700,
				       .is_selected = true,
				       .from = 1000,
				       .to = 1100};

static struct last_touch store(int64_t turn, uint64_t from, uint64_t to)
{
	return (struct last_touch){.turn = turn, .from = from, .to = to};
}

static struct last_touch logged(int64_t turn, uint64_t from, uint64_t to)
{
	struct last_touch touch = store(turn, from, to);

	touch.is_logged = true;
	return touch;
}

START_TEST(of_no_touches_none_is_the_latest)
{
	const struct last_touch never = LAST_TOUCH_NEVER;

	ck_assert_int_eq(latest_choose(NULL, 0, &here), -1);
	ck_assert_int_eq(latest_choose(&never, 1, &here), -1);
}
END_TEST

START_TEST(spans_that_do_not_overlap_are_in_order_whatever_their_turns)
{
	const struct last_touch all[] = {store(9, 100, 200), store(8, 300, 400),
					 logged(10, 210, 290)};

	ck_assert_int_eq(latest_choose(all, 3, &here), 1);
}
END_TEST

START_TEST(a_store_is_later_than_a_load_of_another_value_in_the_same_span)
{
	const struct last_touch all[] = {store(8, 100, 400),
					 logged(9, 200, 300)};

	ck_assert_int_eq(latest_choose(all, 2, &here), 0);
}
END_TEST

START_TEST(unless_a_third_thread_stored_what_was_loaded)
{
	const struct last_touch all[] = {
	    store(6, 100, 400), logged(9, 250, 300), store(8, 200, 240)};

	ck_assert_int_eq(latest_choose(all, 3, &here), 1);
}
END_TEST

START_TEST(two_stores_in_the_same_span_are_in_the_order_of_their_turns)
{
	const struct last_touch all[] = {store(8, 100, 400),
					 store(9, 200, 300)};

	ck_assert_int_eq(latest_choose(all, 2, &here), 1);
}
END_TEST

START_TEST(a_touch_after_the_moment_leaves_only_the_selected_threads_view)
{
	struct last_touch all[] = {store(8, 100, 400), store(9, 2000, 3000)};

	ck_assert_int_eq(latest_choose(all, 2, &here), -1);
	all[0].is_selected = true;
	ck_assert_int_eq(latest_choose(all, 2, &here), 0);
}
END_TEST

START_TEST(what_the_selected_thread_touched_just_now_is_right)
{
	struct last_touch all[] = {store(60, 1000, 1100),
				   logged(50, 1000, 1100)};

	all[1].is_selected = true;
	all[1].segment = here.segment;
	all[1].count = here.count;
	ck_assert_int_eq(latest_choose(all, 2, &here), 1);
	all[1].count--; /* a branch ago */
	ck_assert_int_eq(latest_choose(all, 2, &here), 0);
}
END_TEST

START_TEST(a_clock_goes_on_by_calls_and_order_records)
{
	struct record_event e = {.type = WIRE_REC_KEY};
	uint64_t clock = 5;

	e.key.tsc = 1000;
	ck_assert(latest_tick(&clock, &e));
	ck_assert_uint_eq(clock, 1000);
	e = (struct record_event){.type = WIRE_REC_CALL};
	e.call.ticks = 30;
	ck_assert(latest_tick(&clock, &e));
	e = (struct record_event){.type = WIRE_REC_ORDER};
	e.order.ticks = 4;
	ck_assert(latest_tick(&clock, &e));
	ck_assert_uint_eq(clock, 1034);
	e = (struct record_event){.type = WIRE_REC_GRANULE};
	ck_assert(!latest_tick(&clock, &e));
	ck_assert_uint_eq(clock, 1034);
}
END_TEST

Suite *travel_latest_suite(void)
{
	Suite *suite = suite_create("travel_latest");
	TCase *tc = tcase_create("choose");

	tcase_add_test(tc, of_no_touches_none_is_the_latest);
	tcase_add_test(
	    tc, spans_that_do_not_overlap_are_in_order_whatever_their_turns);
	tcase_add_test(
	    tc, a_store_is_later_than_a_load_of_another_value_in_the_same_span);
	tcase_add_test(tc, unless_a_third_thread_stored_what_was_loaded);
	tcase_add_test(
	    tc, two_stores_in_the_same_span_are_in_the_order_of_their_turns);
	tcase_add_test(
	    tc, a_touch_after_the_moment_leaves_only_the_selected_threads_view);
	tcase_add_test(tc, what_the_selected_thread_touched_just_now_is_right);
	tcase_add_test(tc, a_clock_goes_on_by_calls_and_order_records);
	suite_add_tcase(suite, tc);
	return suite;
}
