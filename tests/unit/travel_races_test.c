/* tests/unit/travel_races_test.c - what comes before what, held against a slow
 * way to find out. */
#include "travel/races.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, THINGS = 3, GRANULES = 2, EVENTS = 120 };

/* -- The slow way: all that is before each event -- */

enum kind { TAKE, GIVE, TOUCH };
struct event {
	enum kind kind;
	unsigned thread, what;
	uint8_t loads, stores;
	uint8_t is_before[EVENTS]; /* which events are before it */
};

static void comes_after(struct event *all, unsigned later, unsigned earlier)
{
	all[later].is_before[earlier] = 1;
	for (unsigned i = 0; i < EVENTS; i++)
		all[later].is_before[i] |= all[earlier].is_before[i];
}

static void find_before(struct event *all, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (all[k].thread == all[i].thread ||
		    (all[i].kind == TAKE && all[k].kind == GIVE &&
		     all[k].what == all[i].what))
			comes_after(all, i, k);
}

static uint8_t bytes_of(const struct event *a, const struct event *b)
{
	return (uint8_t)((a->stores & (b->loads | b->stores)) |
			 (a->loads & b->stores));
}

/* Bytes that some earlier touch conflicts in, and is not before. */
static uint8_t conflict_of(const struct event *all, unsigned i)
{
	uint8_t bytes = 0;

	for (unsigned k = 0; k < i; k++)
		if (all[k].kind == TOUCH && all[k].what == all[i].what &&
		    !all[i].is_before[k])
			bytes |= bytes_of(&all[k], &all[i]);
	return bytes;
}

/* -- The clocks -- */

struct heard {
	const struct event *all;
	unsigned now;
	uint8_t bytes;
};

static int hear(void *ctx, uint32_t granule, uint32_t other, uint8_t bytes)
{
	struct heard *h = ctx;
	const struct event *was = &h->all[other], *now = &h->all[h->now];

	ck_assert_uint_eq(granule, now->what);
	ck_assert_uint_eq(granule, was->what);
	ck_assert_uint_ne(was->thread, now->thread);
	ck_assert(!now->is_before[other]);
	ck_assert_uint_eq(bytes & ~bytes_of(was, now), 0);
	h->bytes |= bytes;
	return 0;
}

static void tell(struct clocks *c, struct event *all, unsigned i)
{
	const struct event *e = &all[i];
	struct heard h = {.all = all, .now = i};
	const struct clocks_touch touch = {
	    .region = i, .loads = e->loads, .stores = e->stores};
	struct hark_err err = {0};

	if (e->kind == TAKE)
		clocks_take(c, e->thread, e->what);
	else if (e->kind == GIVE)
		ck_assert_int_eq(clocks_give(c, e->thread, e->what, &err), 0);
	else
		ck_assert_int_eq(
		    clocks_touch(c, e->thread, e->what, &touch, hear, &h, &err),
		    0);
	if (e->kind == TOUCH)
		ck_assert_uint_eq(h.bytes, conflict_of(all, i));
}

static unsigned some(unsigned *seed, unsigned n)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 16) % n;
}

START_TEST(nothing_is_missed_and_nothing_invented)
{
	static struct event all[EVENTS];
	unsigned seed = (unsigned)_i + 1;
	struct clocks *c = clocks_new(THREADS);

	ck_assert_ptr_nonnull(c);
	memset(all, 0, sizeof all);
	for (unsigned i = 0; i < EVENTS; i++) {
		struct event *e = &all[i];

		e->kind = (enum kind)some(&seed, 3);
		e->thread = some(&seed, THREADS);
		e->what = some(&seed, e->kind == TOUCH ? GRANULES : THINGS);
		if (e->kind == TOUCH) {
			e->loads = (uint8_t)some(&seed, 256);
			e->stores =
			    (uint8_t)(some(&seed, 256) & some(&seed, 256));
		}
		find_before(all, i);
		tell(c, all, i);
	}
	clocks_free(c);
}
END_TEST

/* -- Numbers -- */

START_TEST(numbers_are_kept_once_and_in_order)
{
	struct numbers s = {0};
	struct hark_err err = {0};
	uint64_t *list;
	size_t n;

	ck_assert(!numbers_have(&s, 1));
	for (uint64_t i = 1000; i > 0; i--)
		for (int twice = 0; twice < 2; twice++)
			ck_assert_int_eq(numbers_add(&s, i * i << 12, &err), 0);
	ck_assert(numbers_have(&s, 49 << 12));
	ck_assert(!numbers_have(&s, 50 << 12));
	ck_assert(!numbers_have(&s, 0));
	ck_assert_int_eq(numbers_list(&s, &list, &n, &err), 0);
	ck_assert_uint_eq(n, 1000);
	for (uint64_t i = 0; i < n; i++)
		ck_assert_uint_eq(list[i], (i + 1) * (i + 1) << 12);
	free(list);
	numbers_free(&s);
}
END_TEST

Suite *travel_races_suite(void);
Suite *travel_races_suite(void)
{
	Suite *s = suite_create("travel_races");
	TCase *c = tcase_create("races");

	tcase_add_loop_test(c, nothing_is_missed_and_nothing_invented, 0, 300);
	tcase_add_test(c, numbers_are_kept_once_and_in_order);
	suite_add_tcase(s, c);
	return s;
}
