/* tests/unit/engine_pool_test.c - elements that never move, bytes that are
 * freed together, and the note of all that the engine has mapped. */
#include "engine/pool.h"

#include "inside/sys.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 24, SHIFT = 5, MANY = 1000, CHUNK = 1 << 20 };

static struct memory memory;
static struct pool pool;
static struct bytes bytes;

static void open_memory(void)
{
	memory.hint = 0x200000000000;
	pool_init(&pool, SIZE, SHIFT, &memory);
	bytes.memory = &memory;
}

static int is_noted(const void *at, uint64_t len)
{
	struct span asked = {(uint64_t)at, (uint64_t)at + len}, got;

	return memory_meets(&memory, asked, &got);
}

/* -- Elements -------------------------------------------------------------- */

START_TEST(elements_are_numbered_from_1_and_lie_apart)
{
	open_memory();
	for (uint32_t i = 1; i <= MANY; i++) {
		uint8_t *at;

		ck_assert_uint_eq(i, pool_add(&pool));
		at = pool_at(&pool, i);
		for (unsigned k = 0; k < SIZE; k++)
			ck_assert_uint_eq(0, at[k]);
		memset(at, (int)(i & 0xff) | 1, SIZE);
	}
	for (uint32_t i = 1; i <= MANY; i++) {
		const uint8_t *at = pool_at(&pool, i);

		for (unsigned k = 0; k < SIZE; k++)
			ck_assert_uint_eq((i & 0xff) | 1, at[k]);
	}
}
END_TEST

START_TEST(elements_never_move)
{
	void *first;

	open_memory();
	first = pool_at(&pool, pool_add(&pool));
	for (uint32_t i = 0; i < MANY; i++)
		pool_add(&pool);
	ck_assert_ptr_eq(first, pool_at(&pool, 1));
}
END_TEST

START_TEST(a_cleared_pool_gives_the_same_memory_zeroed)
{
	uint8_t *first;

	open_memory();
	for (uint32_t i = 1; i <= MANY; i++)
		memset(pool_at(&pool, pool_add(&pool)), 0xee, SIZE);
	first = pool_at(&pool, 1);
	pool_clear(&pool);
	ck_assert_uint_eq(0, pool.n);
	ck_assert_uint_eq(1, pool_add(&pool));
	ck_assert_ptr_eq(first, pool_at(&pool, 1));
	for (unsigned k = 0; k < SIZE; k++)
		ck_assert_uint_eq(0, first[k]);
}
END_TEST

START_TEST(a_pool_ends_with_its_last_chunk)
{
	open_memory();
	for (uint32_t i = 1; i <= POOL_CHUNKS << SHIFT; i++)
		if (pool_add(&pool) != i)
			ck_abort_msg("no element %u", i);
	ck_assert_uint_eq(0, pool_add(&pool));
	ck_assert_uint_eq(POOL_CHUNKS << SHIFT, pool.n);
}
END_TEST

/* -- Bytes ----------------------------------------------------------------- */

START_TEST(bytes_are_aligned_and_lie_apart)
{
	uint8_t *got[MANY];

	open_memory();
	for (unsigned i = 0; i < MANY; i++) {
		got[i] = bytes_take(&bytes, 1 + i * 7 % 5000);
		ck_assert_ptr_nonnull(got[i]);
		ck_assert_uint_eq(0, (uint64_t)got[i] % 8);
		memset(got[i], (int)(i & 0xff), 1 + i * 7 % 5000);
	}
	for (unsigned i = 0; i < MANY; i++)
		for (unsigned k = 0; k < 1 + i * 7 % 5000; k++)
			if (got[i][k] != (i & 0xff))
				ck_abort_msg("%u was written over", i);
}
END_TEST

START_TEST(cleared_bytes_are_given_again)
{
	void *first;
	uint32_t spans;

	open_memory();
	first = bytes_take(&bytes, 64 << 10);
	for (unsigned i = 0; i < 100; i++)
		bytes_take(&bytes, 64 << 10);
	spans = memory.n;
	for (unsigned round = 0; round < 3; round++) {
		bytes_clear(&bytes);
		ck_assert_ptr_eq(first, bytes_take(&bytes, 64 << 10));
		for (unsigned i = 0; i < 100; i++)
			ck_assert_ptr_nonnull(bytes_take(&bytes, 64 << 10));
	}
	ck_assert_uint_eq(spans, memory.n); /* nothing new was mapped */
}
END_TEST

START_TEST(a_cleared_nothing_is_nothing)
{
	open_memory();
	bytes_clear(&bytes);
	ck_assert_ptr_nonnull(bytes_take(&bytes, 1));
}
END_TEST

/* -- The note -------------------------------------------------------------- */

START_TEST(what_is_mapped_is_noted_until_it_is_unmapped)
{
	uint8_t *at, *other;

	open_memory();
	at = memory_map(&memory, 3 * 4096);
	other = memory_map(&memory, 100);
	ck_assert_ptr_nonnull(at);
	ck_assert_uint_eq(0, at[3 * 4096 - 1]);
	ck_assert_int_eq(1, is_noted(at, 1));
	ck_assert_int_eq(1, is_noted(at + 3 * 4096 - 1, 1));
	ck_assert_int_eq(0, is_noted(at + 3 * 4096, 1));
	ck_assert_int_eq(1, is_noted(at - 10, 11));
	ck_assert_int_eq(1, is_noted(other + 4095, 1)); /* the whole page */
	memory_unmap(&memory, at, 3 * 4096);
	ck_assert_int_eq(0, is_noted(at, 3 * 4096));
	ck_assert_int_eq(1, is_noted(other, 1));
}
END_TEST

START_TEST(memory_that_others_mapped_can_be_noted)
{
	struct span got;

	open_memory();
	memory_note(&memory, 0x10000000, 10);
	memory_note(&memory, 0x20000800, 4096);
	ck_assert_int_eq(
	    1,
	    memory_meets(&memory, (struct span){0x20000000, 0x30000000}, &got));
	ck_assert_uint_eq(0x20000000, got.start);
	ck_assert_uint_eq(0x20002000, got.end);
	ck_assert_int_eq(
	    0,
	    memory_meets(&memory, (struct span){0x10001000, 0x20000000}, &got));
}
END_TEST

START_TEST(mapping_goes_around_what_is_there)
{
	uint64_t at;

	open_memory();
	at = memory.hint - 4096;
	ck_assert_int_eq((int64_t)at, sys_map(at, 4096, SYS_PROT_READ,
					      SYS_MAP_FIXED_NOREPLACE));
	ck_assert_ptr_nonnull(memory_map(&memory, 8192));
	ck_assert_uint_lt(memory.hint, at);
}
END_TEST

Suite *engine_pool_suite(void)
{
	Suite *s = suite_create("engine_pool");
	TCase *t = tcase_create("memory");

	tcase_add_test(t, elements_are_numbered_from_1_and_lie_apart);
	tcase_add_test(t, elements_never_move);
	tcase_add_test(t, a_cleared_pool_gives_the_same_memory_zeroed);
	tcase_add_test(t, a_pool_ends_with_its_last_chunk);
	tcase_add_test(t, bytes_are_aligned_and_lie_apart);
	tcase_add_test(t, cleared_bytes_are_given_again);
	tcase_add_test(t, a_cleared_nothing_is_nothing);
	tcase_add_test(t, what_is_mapped_is_noted_until_it_is_unmapped);
	tcase_add_test(t, memory_that_others_mapped_can_be_noted);
	tcase_add_test(t, mapping_goes_around_what_is_there);
	suite_add_tcase(s, t);
	return s;
}
