/* tests/unit/travel_sheet_test.c - sheets of a shadow and a map that are
 * nearly empty. */
#include "travel/marks.h"
#include "travel/sheet.h"
#include "wire/record.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, BEYOND = 1 << 18 };

static uint8_t *new_map(void)
{
	void *at = mmap(NULL, WIRE_SHADOW_SIZE + BEYOND, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	madvise(at, WIRE_SHADOW_SIZE + BEYOND, MADV_NOHUGEPAGE);
	return at;
}

static size_t pages_of(const uint8_t *map)
{
	const size_t n = WIRE_SHADOW_SIZE / PAGE;
	uint8_t *present = malloc(n);
	size_t sum = 0;

	ck_assert_ptr_nonnull(present);
	touched_pages(map, n, present);
	for (size_t i = 0; i < n; i++)
		sum += present[i] & 1;
	free(present);
	return sum;
}

static void touch(uint8_t *shadow, uint8_t *map, uint32_t index)
{
	shadow[index] = (uint8_t)(index * 7 + 1);
	map[(uint32_t)(index + OBSERVE_SKEW)] = 0xff;
}

/* Each look at pages beside what was marked would make them there. */
START_TEST(nothing_comes_of_taking_sheets)
{
	static const uint32_t at[] = {0x100040, 0x7fff0fff, 0xfff00000};
	uint8_t *shadow = new_map(), *map = new_map(), byte;
	struct sheet *last = NULL, *next;
	size_t before, marks;

	for (unsigned i = 0; i < 3; i++)
		touch(shadow, map, at[i]);
	before = pages_of(shadow);
	marks = pages_of(map);
	ck_assert_uint_eq(before, 3);
	ck_assert_uint_eq(marks, 3);
	for (unsigned k = 0; k < 5; k++) {
		next = sheet_take(shadow, map, last, NULL);
		ck_assert_ptr_nonnull(next);
		sheet_free(last);
		last = next;
	}
	ck_assert_uint_eq(pages_of(shadow), before);
	ck_assert_uint_eq(pages_of(map), marks);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(sheet_byte(last, at[i], &byte), 1);
		ck_assert_uint_eq(byte, (uint8_t)(at[i] * 7 + 1));
		ck_assert_int_eq(sheet_byte(last, at[i] + 1, &byte), 0);
	}
	sheet_free(last);
	munmap(shadow, WIRE_SHADOW_SIZE + BEYOND);
	munmap(map, WIRE_SHADOW_SIZE + BEYOND);
}
END_TEST

/* What was taken is what is put. */
START_TEST(a_sheet_comes_back)
{
	uint8_t *shadow = new_map(), *map = new_map();
	uint8_t *shadow2 = new_map(), *map2 = new_map();
	struct sheet *s;

	for (uint32_t i = 0; i < 300; i++)
		touch(shadow, map, 0x5000 + i * 61);
	s = sheet_take(shadow, map, NULL, NULL);
	ck_assert_ptr_nonnull(s);
	sheet_put(s, shadow2, map2);
	ck_assert_int_eq(memcmp(shadow, shadow2, 0x20000), 0);
	ck_assert_int_eq(memcmp(map + (uint32_t)(0x5000 + OBSERVE_SKEW),
				map2 + (uint32_t)(0x5000 + OBSERVE_SKEW),
				WIRE_SHADOW_SKEW - 0x5000),
			 0);
	ck_assert_int_eq(memcmp(map, map2, 0x20000), 0);
	sheet_free(s);
	munmap(shadow, WIRE_SHADOW_SIZE + BEYOND);
	munmap(map, WIRE_SHADOW_SIZE + BEYOND);
	munmap(shadow2, WIRE_SHADOW_SIZE + BEYOND);
	munmap(map2, WIRE_SHADOW_SIZE + BEYOND);
}
END_TEST

Suite *travel_sheet_suite(void)
{
	Suite *s = suite_create("travel_sheet");
	TCase *t = tcase_create("sheet");

	tcase_add_test(t, nothing_comes_of_taking_sheets);
	tcase_add_test(t, a_sheet_comes_back);
	suite_add_tcase(s, t);
	return s;
}
