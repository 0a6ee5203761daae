/* engine/shadow.c: behind the end comes the beginning, also when parts are
 * given back. */
#include "engine/shadow.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *engine_shadow_suite(void);

enum { PAGE = 4096 };
#define LEN (WIRE_SHADOW_SIZE + SHADOW_AGAIN)

static uint8_t *make(void)
{
	void *at = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert_int_eq(shadow_join((uint64_t)at), 0);
	return at;
}

START_TEST(what_goes_beyond_the_end_is_at_the_beginning)
{
	volatile uint8_t *s = make(); /* a byte with two addresses */

	memset((uint8_t *)s + WIRE_SHADOW_SIZE - 5, 0x77, 5 + SHADOW_AGAIN);
	for (unsigned i = 0; i < SHADOW_AGAIN; i++)
		ck_assert_int_eq(s[i], 0x77);
	ck_assert_int_eq(s[SHADOW_AGAIN], 0);
	s[3] = 1;
	ck_assert_int_eq(s[WIRE_SHADOW_SIZE + 3], 1);
	munmap((void *)s, LEN);
}
END_TEST

START_TEST(any_pages_can_be_given_back)
{
	uint8_t *s = make();
	const unsigned last = SHADOW_AGAIN / PAGE + 3;

	for (unsigned first = 0; first < last; first++)
		for (unsigned end = first; end <= last; end++) {
			memset(s, 9, (size_t)last * PAGE);
			shadow_give_back((uint64_t)s, (uint64_t)first * PAGE,
					 (uint64_t)(end - first) * PAGE);
			for (unsigned i = 0; i < last; i++) {
				int kept = i < first || i >= end;

				ck_assert_int_eq(s[i * PAGE + 8], kept ? 9 : 0);
				if (i < SHADOW_AGAIN / PAGE)
					ck_assert_int_eq(
					    s[WIRE_SHADOW_SIZE + i * PAGE + 8],
					    kept ? 9 : 0);
			}
		}
	memset(s + WIRE_SHADOW_SIZE - PAGE, 9, 2 * PAGE);
	shadow_give_back((uint64_t)s, 0, WIRE_SHADOW_SIZE);
	ck_assert_int_eq(s[0], 0);
	ck_assert_int_eq(s[WIRE_SHADOW_SIZE - 1], 0);
	ck_assert_int_eq(s[WIRE_SHADOW_SIZE], 0);
	munmap(s, LEN);
}
END_TEST

START_TEST(what_is_locked_is_given_back_all_the_same)
{
	uint8_t *s = make();
	const uint64_t some = 64 * PAGE;

	memset(s, 9, some);
	if (mlock(s, some) == 0) {
		shadow_give_back((uint64_t)s, 0, some);
		for (uint64_t i = 0; i < some; i += PAGE)
			ck_assert_int_eq(s[i], 0);
	}
	munmap(s, LEN);
}
END_TEST

START_TEST(a_child_that_joins_again_has_its_own)
{
	volatile uint8_t *s = make(); /* a byte with two addresses */
	int status;
	pid_t pid;

	s[0] = 5;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (shadow_join((uint64_t)s) < 0 || s[0] != 0)
			_exit(1);
		s[WIRE_SHADOW_SIZE] = 6;
		_exit(s[0] == 6 ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(s[0], 5);
	munmap((void *)s, LEN);
}
END_TEST

START_TEST(what_begins_below_the_end_may_wrap)
{
	ck_assert(!shadow_wraps(0xffffffff, 1));
	ck_assert(shadow_wraps(0xffffffff, 2));
	ck_assert(!shadow_wraps(0, WIRE_STRING_PART));
	ck_assert(!shadow_wraps(0u - WIRE_STRING_PART, WIRE_STRING_PART));
	ck_assert(shadow_wraps(1u - WIRE_STRING_PART, WIRE_STRING_PART));
}
END_TEST

Suite *engine_shadow_suite(void)
{
	Suite *s = suite_create("engine_shadow");
	TCase *t = tcase_create("shadow");

	tcase_add_test(t, what_goes_beyond_the_end_is_at_the_beginning);
	tcase_add_test(t, any_pages_can_be_given_back);
	tcase_add_test(t, what_is_locked_is_given_back_all_the_same);
	tcase_add_test(t, a_child_that_joins_again_has_its_own);
	tcase_add_test(t, what_begins_below_the_end_may_wrap);
	suite_add_tcase(s, t);
	return s;
}
