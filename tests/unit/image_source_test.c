/* tests/unit/image_source_test.c - source lines, safe to print. */
#include "image/source.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hark-source.XXXXXX";
static struct sources *src;

static void put(const char *name, const void *bytes, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static void setup(void)
{
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("HARK_SOURCE_PATH", dir, 1);
	ck_assert_int_eq(sources_new(&src, NULL), 0);
}

static void teardown(void)
{
	char command[128];

	sources_free(src);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static const char *line(const char *name, uint32_t n)
{
	struct source_line l = {0};
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return sources_line(src, path, n, 0, &l, NULL) == 0 ? l.text : NULL;
}

START_TEST(lines_count_from_one)
{
	put("a.c", "one\ntwo\r\n\nlast", 14);
	ck_assert_str_eq(line("a.c", 1), "one");
	ck_assert_str_eq(line("a.c", 2), "two");
	ck_assert_str_eq(line("a.c", 3), "");
	ck_assert_str_eq(line("a.c", 4), "last");
	ck_assert_ptr_null(line("a.c", 0));
	ck_assert_ptr_null(line("a.c", 5));
	ck_assert_ptr_null(line("a.c", UINT32_MAX));
	put("empty.c", "", 0);
	ck_assert_ptr_null(line("empty.c", 1));
}
END_TEST

START_TEST(what_acts_on_a_terminal_is_shown)
{
	static const char bytes[] =
	    "\ta \x1b[2J \x07 \x7f\n"		       /* controls */
	    "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x89\n" /* good UTF-8 */
	    "\xff \xc3( \xe2\x82 \xc0\xaf \xed\xa0\x80\n"
	    "\xc2\x9b"
	    "2J \xe2\x80\xae rev \xe2\x81\xa6\n"
	    "a\0b";

	put("b.c", bytes, sizeof bytes - 1);
	ck_assert_str_eq(line("b.c", 1), "\ta \\x1b[2J \\x07 \\x7f");
	ck_assert_str_eq(line("b.c", 2),
			 "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x89");
	ck_assert_str_eq(line("b.c", 3), "\\xff \\xc3( \\xe2\\x82 \\xc0\\xaf "
					 "\\xed\\xa0\\x80");
	ck_assert_str_eq(line("b.c", 4), "\\u009b2J \\u202e rev \\u2066");
	ck_assert_str_eq(line("b.c", 5), "a\\x00b");
}
END_TEST

START_TEST(long_lines_are_cut)
{
	size_t len = 1 << 20;
	char *bytes = malloc(len);

	memset(bytes, 0x01, len);
	put("c.c", bytes, len);
	free(bytes);
	ck_assert_uint_eq(strlen(line("c.c", 1)), 65536 * 4);
}
END_TEST

START_TEST(moved_sources_are_found_by_their_last_parts)
{
	struct source_line l;
	char path[128];

	snprintf(path, sizeof path, "%s/sub", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	put("sub/d.c", "here\n", 5);
	put("d.c", "not here\n", 9);
	ck_assert_int_eq(sources_line(src, "/build/x/sub/d.c", 1, 0, &l, NULL),
			 0);
	ck_assert_str_eq(l.text, "here");
	snprintf(path, sizeof path, "%s/sub/d.c", dir);
	ck_assert_str_eq(l.path, path);
	ck_assert_int_eq(sources_line(src, "other/d.c", 1, 0, &l, NULL), 0);
	ck_assert_str_eq(l.text, "not here");
	ck_assert_int_eq(sources_line(src, "/build/e.c", 1, 0, &l, NULL), -1);
}
END_TEST

START_TEST(newer_sources_are_marked)
{
	struct source_line l;
	struct stat st;
	char path[128];
	int64_t ns;

	put("f.c", "x\n", 2);
	snprintf(path, sizeof path, "%s/f.c", dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	ck_assert_int_eq(sources_line(src, path, 1, ns, &l, NULL), 0);
	ck_assert(!l.newer);
	ck_assert_int_eq(sources_line(src, path, 1, ns - 1, &l, NULL), 0);
	ck_assert(l.newer);
	ck_assert_int_eq(sources_line(src, path, 1, 0, &l, NULL), 0);
	ck_assert(!l.newer);
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
	struct hark_err err = {0};
	struct source_line l;
	char path[128];

	ck_assert_int_eq(sources_line(src, "/dev/zero", 1, 0, &l, &err), -1);
	ck_assert_int_eq(err.code, HARK_EINPUT);
	ck_assert_int_eq(sources_line(src, dir, 1, 0, &l, &err), -1);
	snprintf(path, sizeof path, "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(sources_line(src, path, 1, 0, &l, &err), -1);
}
END_TEST

START_TEST(many_files_are_held_few_at_a_time)
{
	char name[32], text[32];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "m%d.c", i);
		snprintf(text, sizeof text, "file %d\n", i);
		put(name, text, strlen(text));
	}
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 50; i++) {
			snprintf(name, sizeof name, "m%d.c", i);
			snprintf(text, sizeof text, "file %d", i);
			ck_assert_str_eq(line(name, 1), text);
		}
}
END_TEST

Suite *image_source_suite(void)
{
	Suite *s = suite_create("image_source");
	TCase *t = tcase_create("source");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, lines_count_from_one);
	tcase_add_test(t, what_acts_on_a_terminal_is_shown);
	tcase_add_test(t, long_lines_are_cut);
	tcase_add_test(t, moved_sources_are_found_by_their_last_parts);
	tcase_add_test(t, newer_sources_are_marked);
	tcase_add_test(t, what_is_no_file_is_refused);
	tcase_add_test(t, many_files_are_held_few_at_a_time);
	suite_add_tcase(s, t);
	return s;
}
