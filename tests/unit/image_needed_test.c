/* tests/unit/image_needed_test.c - what stays in this process, and what does
 * not. */
#include "image/needed.h"

#include <check.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* A part of the C library's package that nobody needs. */
#define SPARE "libanl.so.1"

static struct image *image;
static struct modules *modules;
static bool *stays;

static void look(void)
{
	struct hark_err err;

	ck_assert_int_eq(0, image_new(&image, &err));
	ck_assert_int_eq(0, modules_of_pid(image, getpid(), &modules, &err));
	stays = calloc(modules_count(modules) + 1, sizeof *stays);
	ck_assert_ptr_nonnull(stays);
	needed_find(modules, stays);
}

static void forget(void)
{
	free(stays);
	modules_free(modules);
	image_free(image);
}

/* 1, 0; -1: it is not there. */
static int does_stay(const char *name)
{
	for (size_t i = 0; i < modules_count(modules); i++)
		if (module_matches(modules_get(modules, i), name))
			return stays[i];
	return -1;
}

START_TEST(the_program_and_what_it_needs_stay)
{
	look();
	ck_assert_int_eq(1, does_stay("a.out"));
	ck_assert_int_eq(1, does_stay("libm.so.6"));
	ck_assert_int_eq(1, does_stay("libc.so.6"));
	ck_assert_int_eq(-1, does_stay(SPARE));
	forget();
}
END_TEST

/* The loader: libc needs it, whatever its file is called. */
START_TEST(what_is_needed_by_what_is_needed_stays)
{
	look();
	ck_assert_int_eq(1, does_stay("ld-linux*"));
	forget();
}
END_TEST

START_TEST(what_was_asked_for_may_go)
{
	void *spare = dlopen(SPARE, RTLD_NOW);

	ck_assert_ptr_nonnull(spare);
	look();
	ck_assert_int_eq(0, does_stay(SPARE));
	ck_assert_int_eq(1, does_stay("libc.so.6"));
	forget();
	dlclose(spare);
}
END_TEST

Suite *image_needed_suite(void);

Suite *image_needed_suite(void)
{
	Suite *s = suite_create("image_needed");
	TCase *t = tcase_create("needed");

	tcase_add_test(t, the_program_and_what_it_needs_stay);
	tcase_add_test(t, what_is_needed_by_what_is_needed_stays);
	tcase_add_test(t, what_was_asked_for_may_go);
	suite_add_tcase(s, t);
	return s;
}
