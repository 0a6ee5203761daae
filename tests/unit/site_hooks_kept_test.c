/* tests/unit/site_hooks_kept_test.c - system calls that are known from the
 * last time are those that would be found, and nothing on disk can make hark
 * change something else. */
#include "site/hooks_kept.h"

#include "image/image.h"
#include "image/modules.h"
#include "native/native.h"
#include "site/listing.h"

#include <check.h>
#include <dirent.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { HEAD = 72, FAR = 256 }; /* bytes of a head, and around each call */

static char place[64], path[400];
static struct image *im;
static struct modules *modules;
static const struct module *libc;
static struct hooks_found cold;
static uint8_t *bytes; /* of the file */
static size_t len;
static struct hark_err err;

static void find(struct hooks_found *out)
{
	ck_assert_int_eq(hooks_find(libc->file, native_hooks, 0, out, &err), 1);
}

/* The one file that there is. */
static void find_file(void)
{
	DIR *d = opendir(place);
	const struct dirent *e;
	int n = 0;

	while ((e = readdir(d)) != NULL)
		if (strstr(e->d_name, ".hooks2") != NULL) {
			snprintf(path, sizeof path, "%s/%s", place, e->d_name);
			n++;
		}
	closedir(d);
	ck_assert_int_eq(n, 1);
}

static uint8_t *near; /* of each byte of code: is it around a call? */

static void mark_near(void)
{
	const struct survey *s = cold.survey;

	near = calloc(s->len, 1);
	for (size_t i = 0; i < cold.n; i++)
		for (uint64_t k = 0; k < 2 * FAR; k++)
			if (cold.at[i] - FAR + k - s->start < s->len)
				near[cold.at[i] - FAR + k - s->start] = 1;
}

static void setup(void)
{
	FILE *f;

	strcpy(place, "/tmp/hark-hooks-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(place));
	setenv("HARK_CACHE", place, 1);
	ck_assert_int_eq(image_new(&im, &err), 0);
	image_use_cache(im);
	ck_assert_int_eq(modules_of_pid(im, getpid(), &modules, &err), 0);
	libc = modules_find(modules, (uint64_t)&gnu_get_libc_version);
	ck_assert_ptr_nonnull(libc);
	find(&cold);
	ck_assert_uint_gt(cold.n, 20);
	ck_assert_uint_eq(cold.unproved, 0);
	mark_near();
	find_file();
	f = fopen(path, "r");
	bytes = malloc(1 << 20);
	len = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	ck_assert_uint_gt(len, HEAD);
}

static void teardown(void)
{
	char command[128];

	hooks_found_fini(&cold);
	free(near);
	free(bytes);
	modules_free(modules);
	image_free(im);
	snprintf(command, sizeof command, "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

/* How many facts were known before, and are not now, far from all calls. */
static size_t compare(const struct hooks_found *h)
{
	size_t less = 0;

	ck_assert_uint_eq(h->n, cold.n);
	ck_assert_mem_eq(h->at, cold.at, h->n * sizeof *h->at);
	ck_assert_uint_eq(h->survey->start, cold.survey->start);
	ck_assert_uint_eq(h->survey->len, cold.survey->len);
	for (uint64_t k = 0; k < h->survey->len; k++) {
		uint8_t a = h->survey->facts[k], b = cold.survey->facts[k];

		if (near[k]) {
			ck_assert_uint_eq(a, b);
			ck_assert_uint_eq(h->survey->shapes[k],
					  cold.survey->shapes[k]);
		} else if (a != b) {
			ck_assert_uint_eq(a, 0);
			less++;
		}
	}
	return less;
}

START_TEST(the_second_time_it_comes_from_the_disk)
{
	struct hooks_found h;

	find(&h);
	ck_assert_uint_gt(compare(&h), 10000); /* it was not looked at again */
	hooks_found_fini(&h);
}
END_TEST

START_TEST(patches_are_the_same)
{
	struct listing *l[2];

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(listing_new(modules, getpid(), &l[i], &err),
				 0);
		ck_assert_int_eq(listing_add_hooks(l[i], native_hooks, &err),
				 0);
		ck_assert_int_eq(listing_make(l[i], &err), 0);
	}
	ck_assert_uint_eq(listing_hook_count(l[0]), listing_hook_count(l[1]));
	for (size_t i = 0; i < listing_hook_count(l[0]); i++) {
		struct listing_hook a, b;

		listing_get_hook(l[0], i, &a);
		listing_get_hook(l[1], i, &b);
		ck_assert_uint_eq(a.addr, b.addr);
		ck_assert_ptr_nonnull(a.patch);
		ck_assert_ptr_nonnull(b.patch);
		ck_assert_int_eq(a.patch->form, b.patch->form);
		ck_assert_uint_eq(a.patch->at, b.patch->at);
		ck_assert_uint_eq(a.patch->window, b.patch->window);
		ck_assert_uint_eq(a.patch->hop, b.patch->hop);
	}
	listing_free(l[0]);
	listing_free(l[1]);
}
END_TEST

/* Other numbers, another address: other answers. */
static bool wants_write(uint64_t number)
{
	return number == 1;
}

START_TEST(another_question_has_another_answer)
{
	struct hooks_found h;

	ck_assert_int_eq(hooks_find(libc->file, wants_write, 0, &h, &err), 1);
	ck_assert(h.n != cold.n ||
		  memcmp(h.at, cold.at, h.n * sizeof *h.at) != 0);
	hooks_found_fini(&h);
}
END_TEST

/* -- What could be on disk -- */

/* The file anew, with a right sum. */
static void write_back(void)
{
	uint64_t payload = len - HEAD, sum;
	FILE *f;

	memcpy(bytes + HEAD - 16, &payload, 8);
	sum = XXH3_64bits_withSeed(bytes + HEAD, payload,
				   XXH3_64bits(bytes, HEAD - 8));
	memcpy(bytes + HEAD - 8, &sum, 8);
	f = fopen(path, "w");
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static uint64_t *word(size_t n)
{
	return (uint64_t *)(bytes + HEAD) + n;
}

static void is_found_anew(void)
{
	struct hooks_found h;

	write_back();
	find(&h);
	ck_assert_uint_eq(compare(&h), 0);
	hooks_found_fini(&h);
}

static void change(size_t n, uint64_t value)
{
	uint64_t before = *word(n);

	*word(n) = value;
	is_found_anew();
	*word(n) = before;
}

START_TEST(what_cannot_be_is_looked_for_again)
{
	size_t span = 3 + cold.n; /* the first one's start, in words */
	struct hooks_found h;

	write_back(); /* unchanged, it is used */
	find(&h);
	ck_assert_uint_gt(compare(&h), 10000);
	hooks_found_fini(&h);
	change(0, cold.n - 1);
	change(0, UINT64_MAX / 8);
	change(0, 0);
	change(1, *word(1) + 1);
	change(1, UINT64_MAX / 16);
	change(3, cold.at[0] + 1); /* no system call */
	change(3, cold.at[1]);
	change(3, 8);
	change(span, *word(span) - cold.survey->start);
	change(span, UINT64_MAX - 100);
	change(span, cold.survey->start + cold.survey->len);
	change(span + 1, *word(span + 1) + 1);
	change(span + 1, UINT64_MAX);
	change(span + 2,
	       *word(span)); /* the second begins where the first does */
	len--;
	is_found_anew();
	len = HEAD + 8;
	is_found_anew();
}
END_TEST

/* Whatever it is, nobody falls over it; and a call is a system call. */
START_TEST(nothing_on_disk_is_too_odd)
{
	uint8_t *good = malloc(len);

	memcpy(good, bytes, len);
	srandom(2);
	for (int i = 0; i < 100; i++) {
		size_t front = 24 + cold.n * 24;
		struct hooks_found h = {0};
		int rc;

		memcpy(bytes, good, len);
		for (int n = 1 + i % 4; n > 0; n--)
			bytes[HEAD +
			      (size_t)random() % (i % 2 ? front : len - HEAD)] =
			    (uint8_t)random();
		write_back();
		rc = hooks_find(libc->file, native_hooks, 0, &h, &err);
		ck_assert_int_eq(rc, 1);
		ck_assert_uint_le(h.n, cold.n);
		for (size_t k = 0; k < h.n; k++)
			ck_assert_mem_eq(survey_bytes(h.survey, h.at[k]),
					 "\x0f\x05", 2);
		hooks_found_fini(&h);
	}
	free(good);
}
END_TEST

Suite *site_hooks_kept_suite(void)
{
	Suite *suite = suite_create("site_hooks_kept");
	TCase *c = tcase_create("probe_hooks_kept");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, the_second_time_it_comes_from_the_disk);
	tcase_add_test(c, patches_are_the_same);
	tcase_add_test(c, another_question_has_another_answer);
	tcase_add_test(c, what_cannot_be_is_looked_for_again);
	tcase_add_test(c, nothing_on_disk_is_too_odd);
	suite_add_tcase(suite, c);
	return suite;
}
