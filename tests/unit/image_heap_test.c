/* tests/unit/image_heap_test.c - budgets, and budgets that are parts of one. */
#include "image/heap_priv.h"

#include <check.h>

enum { MB = 1 << 20 };

START_TEST(a_budget_ends)
{
	struct budget b;
	void *first;

	budget_init(&b, 2 * MB);
	first = heap_take(&b.heap, MB);
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(heap_take(&b.heap, MB + 1));
	heap_give(&b.heap, first, MB);
	ck_assert_uint_eq(b.used, 0);
}
END_TEST

START_TEST(parts_together_take_no_more_than_the_whole)
{
	struct budget all, part[3];
	void *block[3];

	budget_init(&all, 2 * MB);
	for (unsigned i = 0; i < 3; i++) {
		budget_init(&part[i], 8 * MB);
		budget_join(&part[i], &all, 0);
		block[i] = heap_take(&part[i].heap, MB);
	}
	ck_assert_ptr_nonnull(block[0]);
	ck_assert_ptr_nonnull(block[1]);
	ck_assert_ptr_null(block[2]);
	heap_give(&part[0].heap, block[0], MB);
	block[2] = heap_take(&part[2].heap, MB);
	ck_assert_ptr_nonnull(block[2]);
	heap_give(&part[1].heap, block[1], MB);
	heap_give(&part[2].heap, block[2], MB);
	for (unsigned i = 0; i < 3; i++)
		budget_leave(&part[i]);
	ck_assert_uint_eq(all.used, 0);
}
END_TEST

START_TEST(a_part_adds_to_the_whole_while_it_is_there)
{
	struct budget all, part;
	void *block;

	budget_init(&all, MB);
	budget_init(&part, 8 * MB);
	budget_join(&part, &all, MB);
	block = heap_take(&part.heap, 2 * MB);
	ck_assert_ptr_nonnull(block);
	heap_give(&part.heap, block, 2 * MB);
	budget_leave(&part);
	ck_assert_uint_eq(all.limit, MB);
}
END_TEST

Suite *image_heap_suite(void);
Suite *image_heap_suite(void)
{
	Suite *s = suite_create("image_heap");
	TCase *t = tcase_create("heap");

	tcase_add_test(t, a_budget_ends);
	tcase_add_test(t, parts_together_take_no_more_than_the_whole);
	tcase_add_test(t, a_part_adds_to_the_whole_while_it_is_there);
	suite_add_tcase(s, t);
	return s;
}
