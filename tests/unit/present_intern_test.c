/* tests/unit/present_intern_test.c - every text and key has one number. */
#include "present/intern.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 5000 };

START_TEST(intern_numbers_texts_by_first_sight)
{
	struct intern in = {0};
	uint32_t id;

	ck_assert_int_eq(intern_text(&in, "a", false, &id), 0);
	ck_assert_uint_eq(id, 0);
	ck_assert_int_eq(intern_text(&in, NULL, false, &id), 0);
	ck_assert_uint_eq(id, 1);
	ck_assert_int_eq(intern_text(&in, "", false, &id), 0);
	ck_assert_uint_eq(id, 1);
	ck_assert_int_eq(intern_text(&in, "a", true, &id), 0);
	ck_assert_uint_eq(id, 2);
	ck_assert_int_eq(intern_text(&in, "a", false, &id), 0);
	ck_assert_uint_eq(id, 0);
	intern_fini(&in);
}
END_TEST

/* Numbers stay when the table grows under them. */
START_TEST(intern_keeps_numbers_while_it_grows)
{
	static char names[MANY][16];
	struct intern texts = {0}, keys = {0};
	uint32_t i, id;
	int round;

	for (round = 0; round < 2; round++)
		for (i = 0; i < MANY; i++) {
			snprintf(names[i], sizeof names[i], "name%u", i);
			ck_assert_int_eq(
			    intern_text(&texts, names[i], false, &id), 0);
			ck_assert_uint_eq(id, i);
			ck_assert_int_eq(
			    intern_key(&keys,
				       (struct intern_key){{i / 7, i % 7}},
				       &id),
			    0);
			ck_assert_uint_eq(id, i);
		}
	ck_assert_uint_eq(texts.n, MANY);
	ck_assert_uint_eq(keys.n, MANY);
	ck_assert_str_eq(texts.texts[4321].text, "name4321");
	intern_fini(&texts);
	intern_fini(&keys);
}
END_TEST

Suite *present_intern_suite(void)
{
	Suite *s = suite_create("present_intern");
	TCase *t = tcase_create("intern");

	tcase_add_test(t, intern_numbers_texts_by_first_sight);
	tcase_add_test(t, intern_keeps_numbers_while_it_grows);
	suite_add_tcase(s, t);
	return s;
}
