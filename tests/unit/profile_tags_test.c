/* tests/unit/profile_tags_test.c - numbers by halves of hashes. */
#include "profile/tags.h"

#include "outside/faults.h"

#include <check.h>

/* How many have that tag, and the sum of them. */
static unsigned count(const struct tags *t, uint32_t tag, uint64_t *sum)
{
	size_t at = tag;
	uint32_t n;
	unsigned found = 0;

	*sum = 0;
	while ((n = tags_next(t, tag, &at)) != TAGS_NONE) {
		*sum += n;
		found++;
	}
	return found;
}

START_TEST(tags_find_all_that_were_added)
{
	struct tags t = {0};
	uint64_t sum;

	ck_assert_uint_eq(0, count(&t, 7, &sum));
	for (uint32_t i = 0; i < 100000; i++)
		ck_assert_int_eq(0, tags_add(&t, tags_of(i), i));
	ck_assert_uint_ge(t.size, 2 * t.n);
	for (uint32_t i = 0; i < 100000; i++) {
		size_t at = tags_of(i);
		uint32_t n;

		while ((n = tags_next(&t, tags_of(i), &at)) != i)
			ck_assert_uint_ne(TAGS_NONE, n);
	}
	tags_fini(&t);
}
END_TEST

/* They go over the end of the table, and on at its beginning. */
START_TEST(tags_may_be_the_same)
{
	struct tags t = {0};
	uint64_t sum;

	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_int_eq(0, tags_add(&t, UINT32_MAX - i % 3, i));
	ck_assert_uint_eq(334, count(&t, UINT32_MAX, &sum));
	ck_assert_uint_eq(333 * 334 / 2 * 3, sum);
	ck_assert_uint_eq(333, count(&t, UINT32_MAX - 2, &sum));
	ck_assert_uint_eq(0, count(&t, 0, &sum));
	tags_fini(&t);
}
END_TEST

START_TEST(tags_reserved_are_not_moved)
{
	const struct tags_slot *slots;
	struct tags t = {0};
	int rc;

	ck_assert_int_eq(0, tags_add(&t, 1, 1));
	ck_assert_int_eq(0, tags_reserve(&t, 5000));
	slots = t.slots;
	for (uint32_t i = 0; i < 4999; i++)
		ck_assert_int_eq(0, tags_add(&t, tags_of(i), i));
	ck_assert_ptr_eq(slots, t.slots);
	faults_set(1);
	rc = tags_reserve(&t, 100000);
	faults_set(0);
	ck_assert_int_eq(-1, rc);
	ck_assert_ptr_eq(slots, t.slots);
	tags_fini(&t);
}
END_TEST

Suite *profile_tags_suite(void)
{
	Suite *s = suite_create("profile_tags");
	TCase *c = tcase_create("profile_tags");

	tcase_add_test(c, tags_find_all_that_were_added);
	tcase_add_test(c, tags_may_be_the_same);
	tcase_add_test(c, tags_reserved_are_not_moved);
	suite_add_tcase(s, c);
	return s;
}
