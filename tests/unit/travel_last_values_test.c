/* travel/last_values.c: the last value of each thread, word by word. */
#include "travel/last_values.h"

#include "outside/faults.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct last_values *v;

static void set_up(void)
{
	v = last_values_new();
	ck_assert_ptr_nonnull(v);
}

static void tear_down(void)
{
	last_values_free(v);
}

/* A store of a thread in a turn, which takes one unit of time. */
static struct last_touch in_turn(int64_t turn)
{
	return (struct last_touch){.turn = turn,
				   .from = (uint64_t)turn * 10,
				   .to = (uint64_t)turn * 10 + 9};
}

static void note(unsigned thread, int64_t turn, uint64_t address,
		 const char *bytes)
{
	struct last_touch touch = in_turn(turn);

	ck_assert_int_eq(last_values_note(v, thread, address,
					  (const uint8_t *)bytes, strlen(bytes),
					  &touch),
			 0);
}

/* What is known at a turn of thread 0: '?' for what is not, '-' for what was
 * never touched. */
static const char *ask(int64_t turn, uint64_t address, unsigned len)
{
	static char text[65];
	struct last_touch here = in_turn(turn);
	uint64_t touched, known;

	here.is_selected = true;
	memset(text, 0, sizeof text);
	known = last_values_ask(v, 0, address, len, &here, (uint8_t *)text,
				&touched);
	for (unsigned i = 0; i < len; i++)
		if (!(known >> i & 1))
			text[i] = touched >> i & 1 ? '?' : '-';
	return text;
}

START_TEST(what_was_never_touched_is_said_to_be)
{
	note(1, 1, 0x1003, "ab");
	ck_assert_str_eq(ask(2, 0x1000, 8), "---ab---");
}
END_TEST

START_TEST(values_cross_words)
{
	note(1, 1, 0x1006, "abcdefghijkl");
	ck_assert_str_eq(ask(2, 0x1004, 16), "--abcdefghijkl--");
}
END_TEST

START_TEST(the_later_of_two_threads_is_right_byte_by_byte)
{
	note(1, 1, 0x1000, "aaaaaaaa");
	note(2, 2, 0x1000, "bbbb");
	note(1, 3, 0x1004, "cc");
	ck_assert_str_eq(ask(4, 0x1000, 8), "bbbbccaa");
}
END_TEST

START_TEST(a_touch_of_other_bytes_of_the_word_makes_a_view_no_newer)
{
	note(1, 1, 0x1000, "aaaaaaaa");
	note(2, 2, 0x1000, "bbbb");
	note(1, 3, 0x1006, "cc");
	ck_assert_str_eq(ask(4, 0x1000, 8), "bbbbaacc");
}
END_TEST

START_TEST(what_lies_after_the_moment_makes_other_views_unsure)
{
	note(1, 1, 0x1000, "a");
	note(2, 9, 0x1000, "b");
	ck_assert_str_eq(ask(4, 0x1000, 1), "?");
}
END_TEST

START_TEST(what_is_forgotten_was_never_touched)
{
	note(1, 1, 0x1000, "aaaaaaaa");
	note(1, 1, 0x1008, "bbbbbbbb");
	note(1, 1, 0x2000, "cccccccc");
	last_values_forget(v, 0x1000, 0x1008);
	ck_assert_str_eq(ask(2, 0x1000, 16), "--------bbbbbbbb");
	ck_assert_str_eq(ask(2, 0x2000, 8), "cccccccc");
	note(2, 3, 0x1000, "d");
	ck_assert_str_eq(ask(4, 0x1000, 2), "d-");
}
END_TEST

/* As a plain array has it. */
START_TEST(many_words_are_kept_apart)
{
	enum { WORDS = 5000, ROUNDS = 20000 };
	static uint8_t bytes[WORDS * 8];
	static bool has[WORDS * 8];

	srandom(1);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t at = (uint64_t)random() % (sizeof bytes - 16);
		unsigned len = 1 + (unsigned)random() % 16;
		struct last_touch touch = in_turn(i);
		uint8_t *to = &bytes[at];

		for (unsigned k = 0; k < len; k++) {
			to[k] = (uint8_t)random();
			has[at + k] = true;
		}
		ck_assert_int_eq(last_values_note(v, (unsigned)random() % 5,
						  at << 12 >> 12, to, len,
						  &touch),
				 0);
		if (random() % 1000 == 0) {
			last_values_forget(v, at & ~7ull, (at & ~7ull) + 4096);
			for (uint64_t k = at & ~7ull;
			     k < (at & ~7ull) + 4096 && k < sizeof bytes; k++)
				has[k] = false;
		}
	}
	for (uint64_t at = 0; at < sizeof bytes; at++) {
		struct last_touch here = in_turn(ROUNDS);
		uint64_t touched;
		uint8_t byte = 0;

		ck_assert_uint_eq(
		    last_values_ask(v, 0, at, 1, &here, &byte, &touched),
		    has[at]);
		ck_assert_uint_eq(touched, has[at]);
		ck_assert(!has[at] || byte == bytes[at]);
	}
}
END_TEST

START_TEST(without_memory_nothing_is_noted_and_nothing_breaks)
{
	struct last_touch touch = in_turn(1);
	unsigned k = 0;
	int rc;

	do {
		uint8_t bytes[64] = {0};

		faults_set(++k);
		rc = 0;
		for (uint64_t i = 0; rc == 0 && i < 100; i++)
			rc = last_values_note(v, 1, i * 64, bytes, 64, &touch);
		last_values_forget(v, 0, 64);
		faults_set(0);
	} while (rc < 0 && k < 100);
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_gt(k, 1);
}
END_TEST

Suite *travel_last_values_suite(void)
{
	Suite *suite = suite_create("travel_last_values");
	TCase *tc = tcase_create("values");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, what_was_never_touched_is_said_to_be);
	tcase_add_test(tc, values_cross_words);
	tcase_add_test(tc, the_later_of_two_threads_is_right_byte_by_byte);
	tcase_add_test(
	    tc, a_touch_of_other_bytes_of_the_word_makes_a_view_no_newer);
	tcase_add_test(tc, what_lies_after_the_moment_makes_other_views_unsure);
	tcase_add_test(tc, what_is_forgotten_was_never_touched);
	tcase_add_test(tc, many_words_are_kept_apart);
	tcase_add_test(tc, without_memory_nothing_is_noted_and_nothing_breaks);
	suite_add_tcase(suite, tc);
	return suite;
}
