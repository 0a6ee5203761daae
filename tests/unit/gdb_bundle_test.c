/* tests/unit/gdb_bundle_test.c - sources are unpacked where they belong, and
 * nowhere else. */
#include "gdb/bundle.h"

#include "outside/file.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hark-unit.XXXXXX", path[64], to[64];
static struct file_writer *w;
static uint32_t number;

static void put(enum wire_chunk_type type, uint32_t thread, const char *text)
{
	struct hark_err err;

	ck_assert_int_eq(file_put(w, type, 0, thread, text, strlen(text), &err),
			 0);
}

static void set_up(void)
{
	struct hark_err err;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/r.hark", dir);
	snprintf(to, sizeof to, "%s/out", dir);
	ck_assert_int_eq(file_create(path, 1, &w, &err), 0);
	put(WIRE_CHUNK_META, 0, "kind=recording\nrecord=1\n");
	number = 0;
}

static void tear_down(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing is left */
}

/* A file of the recording, whose contents are its path. */
static void add(const char *kind, const char *name, const char *more)
{
	char text[512];

	snprintf(text, sizeof text, "kind=%s\npath=%s\nsize=%zu\n%s", kind,
		 name, strlen(name), more);
	put(WIRE_CHUNK_MODULE, ++number, text);
	put(WIRE_CHUNK_BYTES, number, name);
}

static int unpack(void)
{
	struct hark_recording *r;
	struct hark_error error = {0};
	struct hark_err err = {0};
	int rc;

	put(WIRE_CHUNK_END, 0, "exit=0\n");
	file_writer_close(w);
	ck_assert_msg(hark_open(path, &r, &error) == 0, "%s", error.text);
	rc = bundle_unpack(r, to, &err);
	hark_close(r);
	return rc;
}

/* What a file below `to` holds; "": it is not there. */
static const char *read_it(const char *name)
{
	static char text[4096];
	char whole[256];
	size_t n = 0;
	FILE *f;

	snprintf(whole, sizeof whole, "%s/%s", to, name);
	f = fopen(whole, "r");
	if (f != NULL) {
		n = fread(text, 1, sizeof text - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	return text;
}

START_TEST(sources_are_where_they_were)
{
	struct stat st;

	add("file", "/bin/prog", "");
	add("source", "/home/me/src/a.c", "dir=/home/me/build\n");
	add("source", "/home/me/b.h", "");
	ck_assert_int_eq(unpack(), 1);
	ck_assert_str_eq(read_it("files/home/me/src/a.c"), "/home/me/src/a.c");
	ck_assert_str_eq(read_it("files/home/me/build/../b.h"), "/home/me/b.h");
	ck_assert_str_eq(read_it("files/bin/prog"), "");
	ck_assert_str_eq(read_it("rules"),
			 "/home/me/src\n/home/me/build\n/home/me\n");
	ck_assert_int_eq(stat(to, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	bundle_remove(to);
}
END_TEST

START_TEST(without_sources_nothing_is_made)
{
	add("file", "/bin/prog", "");
	ck_assert_int_eq(unpack(), 0);
	ck_assert_int_eq(access(to, F_OK), -1);
}
END_TEST

START_TEST(odd_paths_lead_nowhere)
{
	add("source", "/../../escaped.c", "dir=/../up\n");
	add("source", "relative.c", "dir=relative\n");
	add("source", "/a/./b.c", "");
	add("source", "//b.c", "");
	add("source", "/", "");
	add("source", "/a/", "");
	add("source", "/a\\nb/c.c", "");
	add("source", "/a\rb/c.c", "");
	add("source", "/a\033b/c.c", "dir=/\033\n");
	add("source", "/good.c", "dir=/..\n");
	add("source", "/good.c/below.c", ""); /* that is a file */
	add("source", "/good.c", "");	      /* twice */
	ck_assert_int_eq(unpack(), 1);
	ck_assert_str_eq(read_it("files/good.c"), "/good.c");
	ck_assert_str_eq(read_it("rules"), "");
	ck_assert_str_eq(read_it("../escaped.c"), "");
	ck_assert_str_eq(read_it("files/relative.c"), "");
	bundle_remove(to);
}
END_TEST

START_TEST(what_is_there_already_is_not_touched)
{
	add("source", "/a.c", "");
	ck_assert_int_eq(mkdir(to, 0700), 0);
	ck_assert_int_eq(unpack(), -1);
	ck_assert_int_eq(rmdir(to), 0);
}
END_TEST

Suite *gdb_bundle_suite(void);
Suite *gdb_bundle_suite(void)
{
	Suite *s = suite_create("gdb_bundle");
	TCase *t = tcase_create("bundle");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, sources_are_where_they_were);
	tcase_add_test(t, without_sources_nothing_is_made);
	tcase_add_test(t, odd_paths_lead_nowhere);
	tcase_add_test(t, what_is_there_already_is_not_touched);
	suite_add_tcase(s, t);
	return s;
}
