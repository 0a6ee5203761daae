/* tests/unit/base_varint_test.c - numbers in as few bytes as they need. */
#include "base/varint.h"

#include <check.h>

static const uint64_t numbers[] = {
    0, 1, 127, 128, 16383, 16384, 1u << 31, 1ull << 62, 1ull << 63, UINT64_MAX,
};
enum { N = sizeof numbers / sizeof numbers[0] };

START_TEST(varint_gives_back_what_was_put)
{
	uint8_t bytes[VARINT_MAX];
	const uint8_t *end = varint_put(bytes, numbers[_i]), *at = bytes;
	uint64_t got = 5;

	ck_assert_int_le(end - bytes, VARINT_MAX);
	ck_assert(varint_get(&at, end, &got));
	ck_assert_uint_eq(numbers[_i], got);
	ck_assert_ptr_eq(end, at);
	ck_assert_int_eq((int64_t)numbers[_i],
			 varint_unfold(varint_fold((int64_t)numbers[_i])));
}
END_TEST

START_TEST(varint_that_is_cut_is_none)
{
	uint8_t bytes[VARINT_MAX];
	const uint8_t *end = varint_put(bytes, numbers[_i]), *at;
	uint64_t got = 5;

	for (const uint8_t *cut = bytes; cut < end; cut++) {
		at = bytes;
		ck_assert(!varint_get(&at, cut, &got));
		ck_assert_ptr_eq(bytes, at);
		ck_assert_uint_eq(5, got);
	}
}
END_TEST

START_TEST(varint_beyond_64_bits_is_none)
{
	static const uint8_t large[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					0x80, 0x80, 0x80, 2,	0};
	static const uint8_t long_one[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					   0x80, 0x80, 0x80, 0x80, 0};
	const uint8_t *at = large;
	uint64_t got;

	ck_assert(!varint_get(&at, large + sizeof large, &got));
	at = long_one;
	ck_assert(!varint_get(&at, long_one + sizeof long_one, &got));
}
END_TEST

START_TEST(varint_folds_small_numbers_of_both_signs_to_small_ones)
{
	ck_assert_uint_eq(0, varint_fold(0));
	ck_assert_uint_eq(1, varint_fold(-1));
	ck_assert_uint_eq(2, varint_fold(1));
	ck_assert_uint_eq(UINT64_MAX, varint_fold(INT64_MIN));
}
END_TEST

Suite *base_varint_suite(void)
{
	Suite *s = suite_create("base_varint");
	TCase *t = tcase_create("varint");

	tcase_add_loop_test(t, varint_gives_back_what_was_put, 0, N);
	tcase_add_loop_test(t, varint_that_is_cut_is_none, 0, N);
	tcase_add_test(t, varint_beyond_64_bits_is_none);
	tcase_add_test(t,
		       varint_folds_small_numbers_of_both_signs_to_small_ones);
	suite_add_tcase(s, t);
	return s;
}
