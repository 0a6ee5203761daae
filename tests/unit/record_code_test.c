/* tests/unit/record_code_test.c - code in time, against a simple model. */
#include "record/code.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
	BASE = 0x401f00, /* so that pages are crossed */
	SPAN = 9000,
	VERSIONS = 400,
};

struct version {
	uint64_t serial, address;
	uint32_t len;
	uint8_t bytes[300];
};

static struct version versions[VERSIONS];
static uint64_t seed;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x9e3779b97f4a7c15;
}

/* What wire/record.h says: the newest up to the epoch, else the oldest; -1:
 * nothing is known. */
static int model_byte(uint64_t address, uint64_t epoch)
{
	int found = -1;

	for (unsigned i = 0; i < VERSIONS; i++) {
		const struct version *v = &versions[i];

		if (address < v->address || address >= v->address + v->len)
			continue;
		if (v->serial <= epoch || found < 0)
			found = v->bytes[address - v->address];
	}
	return found;
}

/* Of few values, so that many versions say the same again. */
static struct code *random_code(void)
{
	struct code *c = code_new(CODE_MEMORY_MAX);
	struct hark_err err = {0};
	uint64_t serial = 0;

	ck_assert_ptr_nonnull(c);
	for (unsigned i = 0; i < VERSIONS; i++) {
		struct version *v = &versions[i];

		serial += 1 + random64() % 3;
		v->serial = serial;
		v->address = BASE + random64() % (SPAN - sizeof v->bytes);
		v->len = (uint32_t)(random64() % 8 == 0
					? random64() % sizeof v->bytes
					: 1 + random64() % 12);
		memset(v->bytes, (int)(random64() % 3), sizeof v->bytes);
		ck_assert_int_eq(
		    code_add(c, serial, v->address, v->bytes, v->len, &err), 0);
	}
	return c;
}

START_TEST(every_byte_is_that_of_its_epoch)
{
	for (seed = 1; seed < 6; seed += 3) {
		struct code *c = random_code();

		for (int round = 0; round < 20; round++) {
			uint64_t epoch = random64() % (2 * VERSIONS);

			code_set_epoch(c, epoch, NULL, NULL);
			for (uint64_t a = BASE; a < BASE + SPAN; a += 7) {
				int want = model_byte(a, epoch);
				uint8_t got;

				ck_assert_uint_eq(code_fetch(c, a, &got, 1),
						  want >= 0);
				if (want >= 0)
					ck_assert_int_eq(got, want);
			}
		}
		code_free(c);
	}
}
END_TEST

START_TEST(a_fetch_ends_where_knowledge_does)
{
	struct code *c = code_new(CODE_MEMORY_MAX);
	struct hark_err err;
	uint8_t code[6000], got[6000];

	memset(code, 0x90, sizeof code);
	ck_assert_uint_eq(code_fetch(c, 0x1000, got, 1), 0);
	ck_assert_int_eq(code_add(c, 1, 0x1ff0, code, 5000, &err), 0);
	ck_assert_uint_eq(code_fetch(c, 0x1fef, got, 10), 0);
	ck_assert_uint_eq(code_fetch(c, 0x1ff0, got, 15), 15);
	ck_assert_uint_eq(code_fetch(c, 0x1ff0, got, sizeof got), 5000);
	ck_assert_int_eq(memcmp(code, got, 5000), 0);
	ck_assert_uint_eq(code_fetch(c, 0x1ff0 + 4999, got, 15), 1);
	code_free(c);
}
END_TEST

/* -- What changes with the epoch -- */

/* Bytes that somebody keeps, and takes anew only when told. */
static uint8_t kept[SPAN];

static void take_anew(void *ctx, uint64_t start, uint64_t end)
{
	struct code *c = ctx;

	ck_assert_uint_lt(start, end);
	for (uint64_t a = start; a < end; a++)
		ck_assert_uint_eq(code_fetch(c, a, &kept[a - BASE], 1), 1);
}

START_TEST(whoever_is_told_of_changes_has_the_right_bytes)
{
	for (seed = 1; seed < 6; seed += 3) {
		struct code *c = random_code();

		memset(kept, 0xee, sizeof kept);
		for (uint64_t a = BASE; a < BASE + SPAN; a++)
			code_fetch(c, a, &kept[a - BASE], 1);
		for (int round = 0; round < 20; round++) {
			uint64_t epoch = random64() % (2 * VERSIONS);

			code_set_epoch(c, epoch, take_anew, c);
			for (uint64_t a = BASE; a < BASE + SPAN; a += 3) {
				int want = model_byte(a, epoch);

				ck_assert_int_eq(kept[a - BASE],
						 want < 0 ? 0xee : want);
			}
		}
		code_free(c);
	}
}
END_TEST

static void count_changes(void *ctx, uint64_t start, uint64_t end)
{
	(void)start;
	(void)end;
	++*(int *)ctx;
}

/* Most code is only ever added: then nothing has to be thrown away. */
START_TEST(first_versions_change_nothing)
{
	struct code *c = code_new(CODE_MEMORY_MAX);
	struct hark_err err;
	int n = 0;

	code_add(c, 1, 0x1000, (const uint8_t *)"abcdef", 6, &err);
	code_add(c, 2, 0x1003, (const uint8_t *)"defghi", 6, &err);
	code_set_epoch(c, 0, count_changes, &n);
	code_set_epoch(c, 2, count_changes, &n);
	ck_assert_int_eq(n, 0);
	code_add(c, 3, 0x1003, (const uint8_t *)"deFghi", 6, &err);
	code_set_epoch(c, 3, count_changes, &n);
	ck_assert_int_eq(n, 1);
	code_set_epoch(c, 5, count_changes, &n);
	ck_assert_int_eq(n, 1);
	code_free(c);
}
END_TEST

START_TEST(serial_numbers_may_not_fall)
{
	struct code *c = code_new(CODE_MEMORY_MAX);
	struct hark_err err = {0};

	ck_assert_int_eq(code_add(c, 5, 0, (const uint8_t *)"a", 1, &err), 0);
	ck_assert_int_eq(code_add(c, 4, 0, (const uint8_t *)"a", 1, &err), -1);
	ck_assert_str_eq(err.text, "code 4 comes after code 5");
	code_free(c);
}
END_TEST

/* A byte on each of a million pages would take gigabytes. */
START_TEST(memory_is_bounded)
{
	enum { LIMIT = 16 << 20 };
	struct code *c = code_new(LIMIT);
	struct hark_err err = {0};
	uint64_t n = 0;

	while (code_add(c, n + 1, n * 4096, (const uint8_t *)"a", 1, &err) == 0)
		ck_assert_uint_lt(++n, LIMIT / 4096);
	ck_assert_int_eq(err.code, HARK_ENOMEM);
	code_free(c);
}
END_TEST

/* Self-modifying code rewrites one page over and over. */
START_TEST(a_page_may_change_many_times)
{
	enum { TIMES = 100000 };
	struct code *c = code_new(CODE_MEMORY_MAX);
	struct hark_err err;

	for (uint32_t i = 1; i <= TIMES; i++)
		ck_assert_int_eq(
		    code_add(c, i, 0x1000, (const uint8_t *)&i, 4, &err), 0);
	for (uint32_t i = 1; i <= TIMES; i++) {
		uint32_t got;

		code_set_epoch(c, i, NULL, NULL);
		ck_assert_uint_eq(code_fetch(c, 0x1000, (uint8_t *)&got, 4), 4);
		ck_assert_uint_eq(got, i);
	}
	code_free(c);
}
END_TEST

Suite *record_code_suite(void)
{
	Suite *suite = suite_create("record_code");
	TCase *tc = tcase_create("record_code");

	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, every_byte_is_that_of_its_epoch);
	tcase_add_test(tc, a_fetch_ends_where_knowledge_does);
	tcase_add_test(tc, whoever_is_told_of_changes_has_the_right_bytes);
	tcase_add_test(tc, first_versions_change_nothing);
	tcase_add_test(tc, serial_numbers_may_not_fall);
	tcase_add_test(tc, memory_is_bounded);
	tcase_add_test(tc, a_page_may_change_many_times);
	suite_add_tcase(suite, tc);
	return suite;
}
