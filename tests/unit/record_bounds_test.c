/* tests/unit/record_bounds_test.c - bounds are numbers that a user can set. */
#include "record/bounds.h"

#include <check.h>
#include <stdlib.h>

START_TEST(what_may_be_unpacked_grows_with_the_file)
{
	unsetenv(BOUNDS_UNPACK);
	ck_assert_uint_eq(bounds_unpack(0), 256 << 20);
	ck_assert_uint_eq(bounds_unpack(1000000), (256 << 20) + 64000000);
}
END_TEST

START_TEST(a_variable_sets_another_bound)
{
	static const struct {
		const char *text;
		uint64_t value;
	} some[] = {{"5", 5},
		    {"0", 0},
		    {"3K", 3072},
		    {"7M", 7 << 20},
		    {"9G", 9ull << 30},
		    {"1T", 1ull << 40},
		    {"99999999999T", UINT64_MAX}};

	for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++) {
		setenv(BOUNDS_UNPACK, some[i].text, 1);
		ck_assert_uint_eq(bounds_unpack(1), some[i].value);
	}
	setenv(BOUNDS_TIME, "12", 1);
	ck_assert_uint_eq(bounds_time(), 12);
	setenv(BOUNDS_MEMORY, "2G", 1);
	ck_assert_uint_eq(bounds_memory(), 2ull << 30);
}
END_TEST

START_TEST(what_is_no_number_counts_as_not_set)
{
	static const char *const some[] = {
	    "",	  "-1",	  " 1",
	    "1X", "1KB",  "K",
	    "1 ", "0x10", "99999999999999999999999"};

	for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++) {
		setenv(BOUNDS_UNPACK, some[i], 1);
		ck_assert_uint_eq(bounds_unpack(0), 256 << 20);
	}
}
END_TEST

START_TEST(memory_and_time_are_always_bounded)
{
	unsetenv(BOUNDS_MEMORY);
	unsetenv(BOUNDS_TIME);
	ck_assert_uint_ge(bounds_memory(), 1 << 30);
	ck_assert_uint_lt(bounds_memory(), 1ull << 60);
	ck_assert_uint_eq(bounds_time(), 3600);
}
END_TEST

Suite *record_bounds_suite(void);
Suite *record_bounds_suite(void)
{
	Suite *s = suite_create("record_bounds");
	TCase *t = tcase_create("bounds");

	tcase_add_test(t, what_may_be_unpacked_grows_with_the_file);
	tcase_add_test(t, a_variable_sets_another_bound);
	tcase_add_test(t, what_is_no_number_counts_as_not_set);
	tcase_add_test(t, memory_and_time_are_always_bounded);
	suite_add_tcase(s, t);
	return s;
}
