/* tests/unit/base_fmt_test.c - our formatter says what printf says. */
#include "base/fmt.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>

#define SAME(...)                                                     \
	do {                                                          \
		char mine[64], theirs[64];                            \
		size_t a = fmt_text(mine, sizeof mine, __VA_ARGS__);  \
		int b = snprintf(theirs, sizeof theirs, __VA_ARGS__); \
		ck_assert_str_eq(mine, theirs);                       \
		ck_assert_int_eq((int)a, b);                          \
	} while (0)

START_TEST(fmt_agrees_with_printf)
{
	SAME("plain");
	SAME("%d %d %d", 0, -1, INT_MIN);
	SAME("%u %x %lx %lu", 7u, 0xbeefu, ULONG_MAX, ULONG_MAX);
	SAME("%ld %zu", LONG_MIN, (size_t)12);
	SAME("[%5d] [%-5d] [%05d] [%05d]", 42, 42, 42, -42);
	SAME("[%8s] [%-8s] [%.2s] [%.*s]", "abc", "abc", "abc", 1, "abc");
	SAME("[%*d]", 6, 1);
	SAME("%c%%%c", 'a', 'b');
	SAME("%016lx", 0x1234ul);
}
END_TEST

START_TEST(fmt_truncates_and_still_counts)
{
	char out[4] = "zzz";

	ck_assert_uint_eq(6, fmt_text(out, sizeof out, "%s", "abcdef"));
	ck_assert_str_eq(out, "abc");
	ck_assert_uint_eq(3, fmt_text(NULL, 0, "%d", 123));
}
END_TEST

Suite *base_fmt_suite(void)
{
	Suite *s = suite_create("base_fmt");
	TCase *t = tcase_create("fmt");

	tcase_add_test(t, fmt_agrees_with_printf);
	tcase_add_test(t, fmt_truncates_and_still_counts);
	suite_add_tcase(s, t);
	return s;
}
