/* tests/unit/record_count_test.c - what is kept beside a recording. */
#include "record/count.h"

#include "wire/file.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hark-count.XXXXXX";

static void write_file(const char *name, const void *bytes, size_t len)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static void enter(void)
{
	struct wire_file head = {.magic = WIRE_FILE_MAGIC, .id = 0xabcdef};

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	write_file("a.hark", &head, sizeof head);
}

static void leave(void)
{
	unlink("a.hark");
	unlink("a.hark.count");
	unlink("victim");
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else was left behind */
}

START_TEST(what_was_stored_is_loaded)
{
	struct hark_err err = {0};
	struct stat st;
	uint64_t n = 1;

	enter();
	ck_assert_int_eq(count_load("a.hark", &n), 0);
	ck_assert_int_eq(count_store("a.hark", 12345, &err), 0);
	ck_assert_int_eq(count_load("a.hark", &n), 1);
	ck_assert_uint_eq(n, 12345);
	ck_assert_int_eq(count_store("a.hark", UINT64_MAX, &err), 0);
	ck_assert_int_eq(count_load("a.hark", &n), 1);
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert_int_eq(stat("a.hark.count", &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	leave();
}
END_TEST

START_TEST(the_count_of_another_file_is_not_believed)
{
	static const char *const lines[] = {
	    "hark-count 1 abcdee 5\n",
	    "hark-count 1 abcdef 5",
	    "hark-count 1 abcdef \n",
	    "hark-count 1 abcdef -5\n",
	    "hark-count 1 abcdef 5 \n",
	    "hark-count 2 abcdef 5\n",
	    "hark-count 1 abcdef 99999999999999999999999\n",
	    ""};
	uint64_t n;

	enter();
	write_file("a.hark.count", "hark-count 1 abcdef 5\n", 22);
	ck_assert_int_eq(count_load("a.hark", &n), 1);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		write_file("a.hark.count", lines[i], strlen(lines[i]));
		ck_assert_msg(count_load("a.hark", &n) == 0, "%s", lines[i]);
	}
	leave();
}
END_TEST

/* A link is replaced, never followed. */
START_TEST(links_lead_nowhere)
{
	struct hark_err err = {0};
	struct stat st;

	enter();
	write_file("victim", "x", 1);
	ck_assert_int_eq(symlink("victim", "a.hark.count"), 0);
	ck_assert_int_eq(count_store("a.hark", 5, &err), 0);
	ck_assert_int_eq(stat("victim", &st), 0);
	ck_assert_int_eq(st.st_size, 1);
	leave();
}
END_TEST

START_TEST(no_recording_has_no_count)
{
	struct hark_err err = {0};
	uint64_t n;

	enter();
	ck_assert_int_eq(count_load("b.hark", &n), 0);
	ck_assert_int_eq(count_store("b.hark", 5, &err), -1);
	leave();
}
END_TEST

Suite *record_count_suite(void)
{
	Suite *suite = suite_create("record_count");
	TCase *tc = tcase_create("record_count");

	tcase_add_test(tc, what_was_stored_is_loaded);
	tcase_add_test(tc, the_count_of_another_file_is_not_believed);
	tcase_add_test(tc, links_lead_nowhere);
	tcase_add_test(tc, no_recording_has_no_count);
	suite_add_tcase(suite, tc);
	return suite;
}
