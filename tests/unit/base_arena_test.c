/* tests/unit/base_arena_test.c - blocks that live and die together. */
#include "base/arena.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A heap that counts, and fails when it has given `left` blocks. */
struct counted {
	size_t bytes, blocks, left;
};

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	struct counted *c = ctx;
	void *block;

	if (len == 0) {
		free(old);
		c->bytes -= old_len;
		c->blocks -= old != NULL;
		return NULL;
	}
	if (old == NULL && c->left-- == 0)
		return NULL;
	block = realloc(old, len);
	c->bytes += len - old_len;
	c->blocks += old == NULL;
	return block;
}

START_TEST(blocks_are_aligned_apart_and_given_back)
{
	struct counted c = {.left = SIZE_MAX};
	struct heap heap = {resize, &c};
	struct arena a;
	unsigned char *block[1000];

	arena_init(&a, &heap);
	for (size_t i = 0; i < 1000; i++) {
		size_t len = i * 37 % 700 + 1;

		block[i] = arena_take(&a, len);
		ck_assert_uint_eq((uintptr_t)block[i] % 16, 0);
		memset(block[i], (int)i, len);
	}
	for (size_t i = 0; i < 1000; i++)
		for (size_t k = 0; k < i * 37 % 700 + 1; k++)
			if (block[i][k] != (unsigned char)i)
				ck_abort_msg("block %zu was overwritten", i);
	arena_fini(&a);
	ck_assert_uint_eq(c.bytes, 0);
	ck_assert_uint_eq(c.blocks, 0);
}
END_TEST

START_TEST(text_is_packed_and_ends)
{
	struct counted c = {.left = SIZE_MAX};
	struct heap heap = {resize, &c};
	struct arena a;
	char *one, *two;

	arena_init(&a, &heap);
	one = arena_text(&a, "abcdef", 3);
	two = arena_text(&a, "x", 1);
	ck_assert_str_eq(one, "abc");
	ck_assert_str_eq(two, "x");
	ck_assert_ptr_eq(two, one + 4);
	ck_assert_uint_eq((uintptr_t)arena_take(&a, 1) % 16, 0);
	arena_fini(&a);
	ck_assert_uint_eq(c.bytes, 0);
}
END_TEST

START_TEST(big_blocks_do_not_waste_the_room_left)
{
	struct counted c = {.left = SIZE_MAX};
	struct heap heap = {resize, &c};
	struct arena a;
	char *before, *after;

	arena_init(&a, &heap);
	before = arena_take(&a, 16);
	ck_assert_ptr_nonnull(arena_take(&a, 1 << 20));
	after = arena_take(&a, 16);
	ck_assert_ptr_eq(after, before + 16);
	arena_fini(&a);
	ck_assert_uint_eq(c.bytes, 0);
}
END_TEST

START_TEST(no_memory_is_an_answer)
{
	for (size_t left = 0; left < 5; left++) {
		struct counted c = {.left = left};
		struct heap heap = {resize, &c};
		struct arena a;
		size_t got = 0;

		arena_init(&a, &heap);
		while (got < 100000 && arena_take(&a, 100) != NULL)
			got++;
		ck_assert_uint_lt(got, 100000);
		ck_assert_uint_ge(got, left * 100);
		c.left = 1; /* and it may go on later */
		ck_assert_ptr_nonnull(arena_take(&a, 100));
		ck_assert_ptr_null(arena_take(&a, SIZE_MAX));
		ck_assert_ptr_null(arena_text(&a, "", SIZE_MAX));
		arena_fini(&a);
		ck_assert_uint_eq(c.bytes, 0);
	}
}
END_TEST

Suite *base_arena_suite(void)
{
	Suite *s = suite_create("base_arena");
	TCase *t = tcase_create("arena");

	tcase_add_test(t, blocks_are_aligned_apart_and_given_back);
	tcase_add_test(t, text_is_packed_and_ends);
	tcase_add_test(t, big_blocks_do_not_waste_the_room_left);
	tcase_add_test(t, no_memory_is_an_answer);
	suite_add_tcase(s, t);
	return s;
}
