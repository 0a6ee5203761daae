/* tests/unit/outside_pace_test.c - levels for programs that say much or little,
 * of bytes that are pressed in different ways. */
#include "outside/pace.h"

#include <check.h>

enum { MS = 1000000, JOB = 1 << 20 };

/* ps a byte of each level, hardest first: measured of a database, and of an
 * interpreter. */
static const uint32_t database[PACE_LEVELS] = {5860, 3720, 2790, 2380,
					       1700, 1260, 840};
static const uint32_t interpreter[PACE_LEVELS] = {2610, 1810, 1770, 1780,
						  1400, 1370, 1240};

/* A program says so many bytes a second for that long; the level at its end. */
static int run_ms(struct pace *p, const uint32_t *costs, uint64_t rate,
		  int64_t ms, uint64_t waiting)
{
	int64_t step = (int64_t)(JOB * 1000000000ull / rate), now = p->since_ns;
	int64_t end = now + ms * MS;
	unsigned number;

	while (now < end) {
		pace_level(p, waiting, &number);
		now += step;
		pace_note(p, number, JOB, JOB * (int64_t)costs[number] / 1000,
			  now);
	}
	return pace_level(p, waiting, &number);
}

static int run(struct pace *p, const uint32_t *costs, uint64_t rate,
	       int64_t seconds, uint64_t waiting)
{
	return run_ms(p, costs, rate, seconds * 1000, waiting);
}

static int level_of(const uint32_t *costs, uint64_t rate)
{
	struct pace p;

	pace_init(&p, 5 * MS);
	return run(&p, costs, rate, 30, 0);
}

START_TEST(who_says_little_is_pressed_hard)
{
	ck_assert_int_eq(3, level_of(database, 2 << 20));
	ck_assert_int_eq(2, level_of(database, 4 << 20));
	ck_assert_int_eq(1, level_of(database, 14 << 20));
}
END_TEST

START_TEST(who_says_much_is_pressed_lightly)
{
	ck_assert_int_eq(-3, level_of(database, 22 << 20));
	ck_assert_int_eq(-5, level_of(database, 30 << 20));
	ck_assert_int_eq(-10, level_of(database, 200 << 20));
}
END_TEST

/* Level 2 costs what level -1 costs, so that saves nothing. */
START_TEST(a_level_that_saves_nothing_is_not_used)
{
	ck_assert_int_eq(2, level_of(interpreter, 26 << 20));
}
END_TEST

START_TEST(it_begins_as_is_usual)
{
	struct pace p;
	unsigned number;

	pace_init(&p, 0);
	ck_assert_int_eq(1, pace_level(&p, 0, &number));
}
END_TEST

START_TEST(the_more_wait_the_easier_they_are_pressed)
{
	struct pace p;
	unsigned number;

	pace_init(&p, 0);
	ck_assert_int_eq(1, pace_level(&p, 8 << 20, &number));
	ck_assert_int_eq(-1, pace_level(&p, (8 << 20) + 1, &number));
	ck_assert_int_eq(-5, pace_level(&p, 20 << 20, &number));
	ck_assert_int_eq(-10, pace_level(&p, 40 << 20, &number));
}
END_TEST

START_TEST(it_follows_a_program_that_changes)
{
	struct pace p;

	pace_init(&p, 0);
	ck_assert_int_eq(-10, run(&p, database, 200 << 20, 5, 0));
	ck_assert_int_eq(3, run(&p, database, 1 << 20, 30, 0));
	ck_assert_int_eq(-10, run(&p, database, 200 << 20, 5, 0));
}
END_TEST

/* Where far too much is said, two levels at a time; else one. */
START_TEST(a_short_program_is_followed_as_well)
{
	struct pace p;

	pace_init(&p, 0);
	ck_assert_int_eq(-3, run_ms(&p, database, 200 << 20, 110, 0));
	ck_assert_int_eq(-10, run_ms(&p, database, 200 << 20, 110, 0));
	pace_init(&p, 0);
	ck_assert_int_eq(-1, run_ms(&p, database, 30 << 20, 140, 0));
}
END_TEST

Suite *outside_pace_suite(void)
{
	Suite *s = suite_create("outside_pace");
	TCase *t = tcase_create("all");

	tcase_add_test(t, who_says_little_is_pressed_hard);
	tcase_add_test(t, who_says_much_is_pressed_lightly);
	tcase_add_test(t, a_level_that_saves_nothing_is_not_used);
	tcase_add_test(t, it_begins_as_is_usual);
	tcase_add_test(t, the_more_wait_the_easier_they_are_pressed);
	tcase_add_test(t, it_follows_a_program_that_changes);
	tcase_add_test(t, a_short_program_is_followed_as_well);
	suite_add_tcase(s, t);
	return s;
}
