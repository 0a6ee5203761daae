/* tests/unit/base_vec_test.c - arrays that grow. */
#include "base/vec.h"

#include <check.h>
#include <stdlib.h>

struct counted {
	size_t bytes, calls, fail_at; /* 0: never */
};

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	struct counted *c = ctx;

	if (len == 0) {
		free(old);
		c->bytes -= old_len;
		return NULL;
	}
	if (++c->calls == c->fail_at)
		return NULL;
	c->bytes += len - old_len;
	return realloc(old, len);
}

struct numbers {
	VEC(uint32_t);
};

START_TEST(pushes_keep_their_order_and_cost_few_resizes)
{
	struct counted c = {0};
	struct heap heap = {resize, &c};
	struct numbers v = {0};

	for (uint32_t i = 0; i < 100000; i++)
		*vec_push(&v, &heap) = i;
	ck_assert_uint_eq(v.n, 100000);
	for (uint32_t i = 0; i < 100000; i++)
		if (v.at[i] != i)
			ck_abort_msg("%u became %u", i, v.at[i]);
	ck_assert_uint_lt(c.calls, 40);
	ck_assert_uint_eq(c.bytes, v.room * sizeof *v.at);
	vec_trim(&v, &heap);
	ck_assert_uint_eq(v.room, 100000);
	ck_assert_uint_eq(v.at[99999], 99999);
	vec_free(&v, &heap);
	ck_assert_uint_eq(c.bytes, 0);
	ck_assert_ptr_null(v.at);
}
END_TEST

START_TEST(a_failed_push_changes_nothing)
{
	struct counted c = {.fail_at = 3};
	struct heap heap = {resize, &c};
	struct numbers v = {0};
	uint32_t *new, n = 0;

	while ((new = vec_push(&v, &heap)) != NULL)
		*new = n++;
	ck_assert_uint_eq(v.n, n);
	ck_assert_uint_eq(v.room, n);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(v.at[i], i);
	ck_assert_ptr_nonnull(vec_push(&v, &heap)); /* memory is back */
	vec_free(&v, &heap);
	ck_assert_uint_eq(c.bytes, 0);
}
END_TEST

START_TEST(lengths_that_overflow_are_refused)
{
	struct counted c = {0};
	struct heap heap = {resize, &c};
	struct numbers v = {0};

	ck_assert_int_eq(vec_fit(&v, 0, &heap), 0);
	ck_assert_int_eq(vec_fit(&v, SIZE_MAX, &heap), -1);
	ck_assert_int_eq(vec_fit(&v, SIZE_MAX / 4, &heap), -1);
	ck_assert_int_eq(vec_fit(&v, 10, &heap), 0);
	v.n = 10;
	ck_assert_int_eq(vec_fit(&v, SIZE_MAX - 5, &heap), -1);
	ck_assert_uint_eq(v.room, 10);
	vec_free(&v, &heap);
	ck_assert_uint_eq(c.bytes, 0);
}
END_TEST

Suite *base_vec_suite(void)
{
	Suite *s = suite_create("base_vec");
	TCase *t = tcase_create("vec");

	tcase_add_test(t, pushes_keep_their_order_and_cost_few_resizes);
	tcase_add_test(t, a_failed_push_changes_nothing);
	tcase_add_test(t, lengths_that_overflow_are_refused);
	suite_add_tcase(s, t);
	return s;
}
