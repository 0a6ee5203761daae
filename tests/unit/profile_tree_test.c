/* tests/unit/profile_tree_test.c - a calling-context tree. */
#include "profile/tree.h"

#include <check.h>
#include <stdlib.h>

START_TEST(tree_has_every_frame_once)
{
	struct tree t;
	const struct tree_frame frames[] = {
	    {.address = 1, .module = 1},
	    {.address = 1, .module = 2},
	    {.address = 1, .module = 1, .flags = TREE_RETURN},
	    {.address = 1ull << 40, .module = 0}, /* the key of the next, too */
	    {.address = 0, .module = 1},
	    {.address = UINT64_MAX, .module = UINT32_MAX, .flags = 15},
	};

	ck_assert_int_eq(0, tree_init(&t));
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 6; i++)
			ck_assert_uint_eq(i, tree_frame(&t, &frames[i]));
	ck_assert_uint_eq(6, t.n_frames);
	tree_fini(&t);
}
END_TEST

START_TEST(tree_has_every_stack_once)
{
	struct tree t;
	uint32_t a, b;

	ck_assert_int_eq(0, tree_init(&t));
	ck_assert_uint_eq(1, t.n_nodes);
	a = tree_node(&t, 0, 5);
	b = tree_node(&t, a, 5);
	ck_assert_uint_eq(1, a);
	ck_assert_uint_eq(2, b);
	ck_assert_uint_eq(3, tree_node(&t, 0, 6));
	ck_assert_uint_eq(a, tree_node(&t, 0, 5));
	ck_assert_uint_eq(b, tree_node(&t, a, 5));
	ck_assert_uint_eq(4, tree_node(&t, b, 5));
	ck_assert_uint_eq(5, t.n_nodes);
	tree_fini(&t);
}
END_TEST

/* Deep, wide, and again: what was numbered keeps its number while it grows. */
START_TEST(tree_of_a_million_nodes_is_found_again)
{
#ifdef __SANITIZE_ADDRESS__
	enum { N = 100000 };
#else
	enum { N = 1000000 };
#endif
	struct tree t;
	uint32_t at;

	ck_assert_int_eq(0, tree_init(&t));
	for (int round = 0; round < 2; round++) {
		at = 0;
		for (uint32_t i = 0; i < N / 2; i++) {
			at = tree_node(&t, at, i % 100);
			ck_assert_uint_eq(at, 2 * i + 1);
			ck_assert_uint_eq(2 * i + 2,
					  tree_node(&t, 0, 1000 + i));
		}
		ck_assert_uint_eq(N + 1, t.n_nodes);
	}
	tree_fini(&t);
}
END_TEST

START_TEST(keys_give_all_numbers_of_one_key)
{
	struct keys k = {0};
	size_t at;

	ck_assert_uint_eq(KEYS_NONE, keys_find(&k, 0));
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_int_eq(0, keys_add(&k, i % 10, i));
	for (uint64_t key = 0; key < 10; key++) {
		uint32_t n = 0, value, seen = 0;

		at = keys_first(&k, key);
		while ((value = keys_next(&k, key, &at)) != KEYS_NONE) {
			ck_assert_uint_eq(key, value % 10);
			seen += value;
			n++;
		}
		ck_assert_uint_eq(100, n);
		ck_assert_uint_eq(49500 + 100 * key, seen);
	}
	ck_assert_uint_eq(KEYS_NONE, keys_find(&k, 10));
	ck_assert_int_eq(0, keys_add(&k, UINT64_MAX, 5));
	keys_replace(&k, UINT64_MAX, 6);
	ck_assert_uint_eq(6, keys_find(&k, UINT64_MAX));
	keys_fini(&k);
}
END_TEST

Suite *profile_tree_suite(void)
{
	Suite *s = suite_create("profile_tree");
	TCase *t = tcase_create("tree");

	tcase_add_test(t, tree_has_every_frame_once);
	tcase_add_test(t, tree_has_every_stack_once);
	tcase_add_test(t, tree_of_a_million_nodes_is_found_again);
	tcase_add_test(t, keys_give_all_numbers_of_one_key);
	suite_add_tcase(s, t);
	return s;
}
