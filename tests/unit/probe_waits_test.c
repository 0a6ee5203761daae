/* tests/unit/probe_waits_test.c - what waits count for, by made-up records and
 * looks. */
#include "probe/waits.h"

#include "unwind/unwind.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000000, MOST = 64 };

/* What a look finds: one frame, of that address; 0: nothing. */
static uint64_t there;
static unsigned n_looks;
static uint64_t clock_ns;

static bool look(void *ctx, pid_t pid, pid_t tid, struct wait_stack *out)
{
	(void)ctx;
	(void)pid;
	(void)tid;
	n_looks++;
	if (there == 0)
		return false;
	if (out->room == 0) {
		out->frames = calloc(2, sizeof *out->frames);
		out->room = 2;
	}
	out->frames[0] = (struct session_frame){.pc = 1, .is_return = 1};
	out->frames[1] = (struct session_frame){.pc = there};
	out->n = 2;
	out->end = UNWIND_OUTERMOST;
	return true;
}

static uint64_t now(void)
{
	return clock_ns;
}

static struct {
	struct session_sample s;
	uint64_t top; /* the last new frame; 0: none is new */
} got[MOST];
static size_t n_got;

static int put(void *ctx, const struct session_sample *s, struct hark_err *err)
{
	(void)ctx;
	(void)err;
	ck_assert_uint_lt(n_got, MOST);
	got[n_got].s = *s;
	got[n_got++].top = s->n > 0 ? s->frames[s->n - 1].pc : 0;
	return 0;
}

static struct waits *w;

static void begin(uint64_t period, bool counts_ready)
{
	const struct waits_plan plan = {.period_ns = period,
					.counts_ready = counts_ready,
					.look = look,
					.put = put,
					.now = now};
	struct hark_err err;

	there = 0;
	n_looks = 0;
	n_got = 0;
	clock_ns = 0;
	ck_assert_int_eq(waits_new(&plan, &w, &err), 0);
}

static void event_of(pid_t tid, enum switch_kind kind, uint64_t ns)
{
	const struct switch_event e = {
	    .time_ns = ns, .n = 1, .pid = 7, .tid = tid, .kind = (uint8_t)kind};
	struct hark_err err;

	ck_assert_int_eq(waits_event(w, &e, &err), 0);
}

static void event(enum switch_kind kind, uint64_t ns)
{
	event_of(8, kind, ns);
}

static void look_at(uint64_t ns, uint64_t top)
{
	clock_ns = ns;
	there = top;
	waits_look(w);
}

static void tell(uint64_t ns, bool last)
{
	struct hark_err err;

	ck_assert_int_eq(waits_count(w, ns, last, &err), 0);
}

static void is_sample(size_t i, uint64_t weight, uint8_t why, uint64_t top)
{
	ck_assert_uint_lt(i, n_got);
	ck_assert_uint_eq(got[i].s.ticks, weight);
	ck_assert_uint_eq(got[i].s.end, why);
	ck_assert_uint_eq(got[i].top, top);
	ck_assert_int_eq(got[i].s.pid, 7);
}

START_TEST(a_wait_counts_for_the_stack_that_was_seen)
{
	begin(0, false);
	event(SWITCH_OUT, 10 * MS);
	look_at(11 * MS, 100);
	event(SWITCH_IN, 15 * MS);
	ck_assert_uint_eq(n_got, 1);
	is_sample(0, 5 * MS, UNWIND_OUTERMOST, 100);
	ck_assert_uint_eq(got[0].s.kept, 0);
	ck_assert_uint_eq(got[0].s.n, 2);
	waits_free(w);
}
END_TEST

START_TEST(frames_that_stay_are_kept)
{
	begin(0, false);
	event(SWITCH_OUT, 10 * MS);
	look_at(11 * MS, 100);
	event(SWITCH_IN, 15 * MS);
	event(SWITCH_OUT, 20 * MS);
	look_at(21 * MS, 200);
	event(SWITCH_IN, 25 * MS);
	event(SWITCH_OUT, 30 * MS);
	look_at(31 * MS, 200);
	event(SWITCH_IN, 32 * MS);
	ck_assert_uint_eq(n_got, 3);
	is_sample(1, 5 * MS, UNWIND_OUTERMOST, 200);
	ck_assert_uint_eq(got[1].s.kept, 1);
	is_sample(2, 2 * MS, UNWIND_OUTERMOST, 0);
	ck_assert_uint_eq(got[2].s.kept, 2);
	waits_free(w);
}
END_TEST

START_TEST(a_look_at_a_thread_that_ran_meanwhile_is_not_believed)
{
	begin(0, false);
	event(SWITCH_OUT, 10 * MS);
	look_at(15 * MS, 100); /* over after it ran again */
	event(SWITCH_IN, 14 * MS);
	event(SWITCH_OUT, 14 * MS + 1000);
	event(SWITCH_IN, 20 * MS);
	ck_assert_uint_eq(n_got, 0);
	tell(21 * MS, true);
	ck_assert_uint_eq(n_got, 1);
	is_sample(0, 10 * MS - 1000, SESSION_SHORT, 0);
	waits_free(w);
}
END_TEST

START_TEST(a_look_in_vain_is_made_again)
{
	begin(0, false);
	event(SWITCH_OUT, 10 * MS);
	look_at(11 * MS, 0);
	look_at(12 * MS, 100);
	look_at(13 * MS, 200); /* it is known */
	ck_assert_uint_eq(n_looks, 2);
	event(SWITCH_IN, 15 * MS);
	is_sample(0, 5 * MS, UNWIND_OUTERMOST, 100);
	waits_free(w);
}
END_TEST

START_TEST(a_wait_that_goes_on_counts_once)
{
	uint64_t sum = 0;

	begin(0, false);
	event(SWITCH_OUT, 10 * MS);
	look_at(11 * MS, 100);
	for (unsigned i = 20; i < 2000; i += 7)
		tell((uint64_t)i * MS, false);
	ck_assert_uint_ge(n_got, 5);
	event(SWITCH_IN, 2100ull * MS);
	for (size_t i = 0; i < n_got; i++) {
		ck_assert_uint_eq(got[i].s.end, UNWIND_OUTERMOST);
		sum += got[i].s.ticks;
	}
	ck_assert_uint_eq(sum, 2090ull * MS);
	waits_free(w);
}
END_TEST

START_TEST(ticks_are_those_of_one_clock)
{
	begin(MS, true);
	event(SWITCH_OUT, 10 * MS + 900000);
	look_at(11 * MS + 10, 100);
	event(SWITCH_IN, 11 * MS + 100000); /* one, though it was short */
	event(SWITCH_OUT, 11 * MS + 200000);
	event(SWITCH_IN, 11 * MS + 900000); /* none */
	event(SWITCH_OUT, 12 * MS - 1);
	look_at(13 * MS, 300);
	event(SWITCH_IN, 15 * MS);
	tell(16 * MS, true);
	ck_assert_uint_eq(n_got, 2);
	is_sample(0, 1, UNWIND_OUTERMOST, 100);
	is_sample(1, 4, UNWIND_OUTERMOST, 300);
	waits_free(w);
}
END_TEST

START_TEST(without_a_processor_is_no_wait)
{
	begin(_i == 0 ? 0 : MS, _i != 0);
	event(SWITCH_READY, 10 * MS);
	look_at(11 * MS, 100);
	ck_assert_uint_eq(n_looks, 0);
	event(SWITCH_IN, 15 * MS);
	tell(16 * MS, true);
	ck_assert_uint_eq(n_got, (size_t)_i);
	if (_i != 0)
		is_sample(0, 5, SESSION_READY, 0);
	waits_free(w);
}
END_TEST

START_TEST(many_short_waits_are_told_together)
{
	begin(0, false);
	for (unsigned i = 0; i < 1000; i++) {
		event(SWITCH_OUT, (1000 + i) * 1000ull);
		event(SWITCH_IN, (1000 + i) * 1000ull + 300);
	}
	tell(3 * MS, true);
	ck_assert_uint_eq(n_got, 1);
	is_sample(0, 300000, SESSION_SHORT, 0);
	waits_free(w);
}
END_TEST

START_TEST(a_thread_that_ends_waits_no_longer)
{
	begin(0, false);
	event(SWITCH_OUT, 10 * MS);
	event(SWITCH_IN, 11 * MS);
	event(SWITCH_EXIT, 12 * MS);
	tell(90 * MS, true);
	ck_assert_uint_eq(n_got, 1);
	is_sample(0, MS, SESSION_SHORT, 0);
	/* Another one of the same number. */
	event(SWITCH_OUT, 100 * MS);
	look_at(101 * MS, 100);
	event(SWITCH_IN, 105 * MS);
	is_sample(1, 5 * MS, UNWIND_OUTERMOST, 100);
	ck_assert_uint_eq(got[1].s.kept, 0);
	waits_free(w);
}
END_TEST

START_TEST(after_a_gap_nothing_is_known)
{
	struct session_waits a;

	begin(0, false);
	event(SWITCH_OUT, 10 * MS);
	look_at(11 * MS, 100);
	event(SWITCH_LOST, 12 * MS);
	event(SWITCH_IN, 15 * MS);
	tell(16 * MS, true);
	ck_assert_uint_eq(n_got, 0);
	waits_account(w, &a);
	ck_assert_uint_eq(a.lost, 1);
	ck_assert_uint_eq(a.wait_ns, 0);
	waits_free(w);
}
END_TEST

START_TEST(what_hark_made_it_wait_for_does_not_count)
{
	begin(0, false);
	waits_held(w, 7, 12 * MS, 14 * MS);
	waits_held(w, 9, 10 * MS, 15 * MS); /* another process */
	event(SWITCH_OUT, 10 * MS);
	look_at(11 * MS, 100);
	event(SWITCH_IN, 15 * MS);
	event(SWITCH_OUT, 20 * MS);
	look_at(21 * MS, 200);
	waits_held(w, 7, 19 * MS, 22 * MS);
	event(SWITCH_IN, 25 * MS);
	is_sample(0, 3 * MS, UNWIND_OUTERMOST, 100);
	is_sample(1, 3 * MS, UNWIND_OUTERMOST, 200);
	waits_free(w);
}
END_TEST

START_TEST(threads_are_told_apart)
{
	begin(0, false);
	for (pid_t tid = 1; tid <= 3; tid++)
		event_of(tid * 1024, SWITCH_OUT, (uint64_t)tid * MS);
	look_at(10 * MS, 100);
	ck_assert_uint_eq(n_looks, 3);
	event_of(2048, SWITCH_IN, 20 * MS);
	tell(30 * MS, true);
	ck_assert_uint_eq(n_got, 3);
	is_sample(0, 18 * MS, UNWIND_OUTERMOST, 100);
	ck_assert_int_eq(got[0].s.tid, 2048);
	ck_assert_uint_eq(got[1].s.ticks + got[2].s.ticks, (29 + 27) * MS);
	waits_free(w);
}
END_TEST

Suite *probe_waits_suite(void)
{
	Suite *s = suite_create("probe/waits");
	TCase *t = tcase_create("all");

	suite_add_tcase(s, t);
	tcase_add_test(t, a_wait_counts_for_the_stack_that_was_seen);
	tcase_add_test(t, frames_that_stay_are_kept);
	tcase_add_test(t,
		       a_look_at_a_thread_that_ran_meanwhile_is_not_believed);
	tcase_add_test(t, a_look_in_vain_is_made_again);
	tcase_add_test(t, a_wait_that_goes_on_counts_once);
	tcase_add_test(t, ticks_are_those_of_one_clock);
	tcase_add_loop_test(t, without_a_processor_is_no_wait, 0, 2);
	tcase_add_test(t, many_short_waits_are_told_together);
	tcase_add_test(t, a_thread_that_ends_waits_no_longer);
	tcase_add_test(t, after_a_gap_nothing_is_known);
	tcase_add_test(t, what_hark_made_it_wait_for_does_not_count);
	tcase_add_test(t, threads_are_told_apart);
	return s;
}
