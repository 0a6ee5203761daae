/* tests/unit/probe_clock_test.c - time-stamps by the processor's counter keep
 * pace with the kernel's clock. */
#include "probe/clock.h"

#include <check.h>

#include <time.h>
#include <x86intrin.h>

static uint64_t by_counter(const struct collect_clock *c, uint64_t tsc)
{
	return c->base_ns +
	       (uint64_t)(((unsigned __int128)(tsc - c->base_tsc) * c->mult) >>
			  32);
}

START_TEST(the_counter_keeps_pace_with_the_clock)
{
	struct clock_look first, later;
	struct collect_clock c;
	const struct timespec nap = {.tv_nsec = 50000000};
	int64_t off;

	clock_look(&first);
	clock_calibrate(&first, &c);
	ck_assert_int_ne(c.wall_ns, 0);
	if (c.mult == 0)
		return; /* the kernel does not trust it, nor does hark */
	nanosleep(&nap, NULL);
	clock_look(&later);
	off = (int64_t)(by_counter(&c, later.tsc) - later.ns);
	/* 200 in a million of some 50 ms, and what a look takes */
	ck_assert_int_lt(off < 0 ? -off : off, 60000);
}
END_TEST

Suite *probe_clock_suite(void)
{
	Suite *s = suite_create("probe_clock");
	TCase *t = tcase_create("all");

	tcase_add_test(t, the_counter_keeps_pace_with_the_clock);
	suite_add_tcase(s, t);
	return s;
}
