/* tests/unit/record_order_test.c - one order for all threads of a process. */
#include "record/order.h"

#include <check.h>

static struct order *order_it(const struct order_turn *turns, size_t n)
{
	struct hark_err err = {0};
	struct order *o = NULL;

	ck_assert_msg(order_of_turns(turns, n, &o, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(order_n_turns(o), n);
	return o;
}

static void check_threads(const struct order *o, const uint32_t *want)
{
	for (size_t i = 0; i < order_n_turns(o); i++)
		ck_assert_msg(order_turn(o, i)->thread == want[i],
			      "turn %zu is of thread %u, not %u", i,
			      order_turn(o, i)->thread, want[i]);
}

START_TEST(clocks_that_agree_are_believed)
{
	const struct order_turn turns[] = {
	    {.thread = 1, .time = 10, .line = 5, .ticket = 0},
	    {.thread = 1, .time = 40, .line = 5, .ticket = 3},
	    {.thread = 2, .time = 20, .line = 5, .ticket = 1},
	    {.thread = 2, .time = 30, .line = 6, .ticket = 0},
	};
	struct order *o = order_it(turns, 4);

	check_threads(o, (const uint32_t[]){1, 2, 2, 1});
	ck_assert_uint_eq(order_corrections(o), 0);
	order_free(o);
}
END_TEST

/* Thread 2's processor is ahead by a thousand: what it did before thread 1 did
 * something later comes before it, and all that it did before that. */
START_TEST(tickets_correct_clocks)
{
	const struct order_turn turns[] = {
	    {.thread = 1, .time = 100, .count = 1, .line = 5, .ticket = 7},
	    {.thread = 1, .time = 110, .count = 2, .line = 6, .ticket = 1},
	    {.thread = 2, .time = 1080, .count = 1, .line = 9, .ticket = 0},
	    {.thread = 2, .time = 1085, .count = 2, .line = 5, .ticket = 5},
	    {.thread = 2, .time = 1105, .count = 3, .line = 5, .ticket = 9},
	};
	struct order *o = order_it(turns, 5);

	check_threads(o, (const uint32_t[]){2, 2, 1, 1, 2});
	ck_assert_uint_eq(order_turn(o, 0)->count, 1);
	ck_assert_uint_eq(order_turn(o, 1)->count, 2);
	ck_assert_uint_gt(order_corrections(o), 0);
	order_free(o);
}
END_TEST

START_TEST(what_was_overtaken_is_left_alone)
{
	const struct order_turn turns[] = {
	    {.thread = 1, .time = 200, .ticket = 5, .overtaken = 2},
	    {.thread = 2, .time = 100, .ticket = 7},
	    {.thread = 3, .time = 150, .ticket = 8},
	};
	struct order *o = order_it(turns, 3);

	/* Of 7 nothing is known; when 8 was drawn, 5 was done. */
	check_threads(o, (const uint32_t[]){2, 1, 3});
	ck_assert_uint_eq(order_corrections(o), 1);
	order_free(o);
}
END_TEST

START_TEST(a_contradiction_is_an_error)
{
	const struct order_turn turns[] = {
	    {.thread = 1, .time = 1u << 20, .line = 1, .ticket = 2},
	    {.thread = 1, .time = 1u << 21, .line = 2, .ticket = 1},
	    {.thread = 2, .time = 1u << 20, .line = 2, .ticket = 2},
	    {.thread = 2, .time = 1u << 21, .line = 1, .ticket = 1},
	};
	struct hark_err err = {0};
	struct order *o = NULL;

	ck_assert_int_eq(order_of_turns(turns, 4, &o, &err), -1);
	ck_assert_int_eq(err.code, HARK_EINPUT);
	ck_assert_ptr_null(o);
}
END_TEST

START_TEST(none_is_an_order_too)
{
	struct order *o = order_it(NULL, 0);

	ck_assert_uint_eq(order_corrections(o), 0);
	order_free(o);
}
END_TEST

/* A true history, told by clocks that differ: tickets give it back. */
START_TEST(histories_come_back)
{
	enum { THREADS = 4, LINES = 3, EVENTS = 3000 };
	static struct order_turn turns[EVENTS];
	struct hark_err err = {0};
	uint64_t tickets[LINES] = {0}, seed = 88172645463325252ull;
	uint32_t owner[LINES] = {0};
	size_t n = 0;
	struct order *o;

	for (uint32_t thread = 1; thread <= THREADS; thread++) {
		uint64_t again = 88172645463325252ull;

		seed = again;
		for (int i = 0; i < LINES; i++)
			tickets[i] = owner[i] = 0;
		for (uint64_t at = 0; at < EVENTS; at++) {
			uint32_t who, line;

			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			who = (uint32_t)(seed >> 8 & 3) + 1;
			line = (uint32_t)(seed >> 20) % LINES;
			if (who == thread && owner[line] != who)
				turns[n++] = (struct order_turn){
				    .thread = thread,
				    .time = 100000 + at + 1000 * thread,
				    .count = at,
				    .line = line,
				    .ticket = tickets[line]};
			owner[line] = who;
			tickets[line]++;
		}
	}
	ck_assert_uint_gt(n, EVENTS / 2);
	ck_assert_msg(order_of_turns(turns, n, &o, &err) == 0, "%s", err.text);
	ck_assert_uint_gt(order_corrections(o), 0);
	for (int line = 0; line < LINES; line++) {
		uint64_t last = 0;

		for (size_t i = 0; i < n; i++) {
			const struct order_turn *t = order_turn(o, i);

			if (t->line != (uint32_t)line)
				continue;
			ck_assert_uint_ge(t->ticket, last);
			last = t->ticket;
		}
	}
	order_free(o);
}
END_TEST

Suite *record_order_suite(void)
{
	Suite *s = suite_create("record_order");
	TCase *t = tcase_create("order");

	tcase_add_test(t, clocks_that_agree_are_believed);
	tcase_add_test(t, tickets_correct_clocks);
	tcase_add_test(t, what_was_overtaken_is_left_alone);
	tcase_add_test(t, a_contradiction_is_an_error);
	tcase_add_test(t, none_is_an_order_too);
	tcase_add_test(t, histories_come_back);
	suite_add_tcase(s, t);
	return s;
}
