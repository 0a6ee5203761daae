/* tests/unit/image_keep_test.c - what is kept on disk is what was saved, or
 * nothing. */
#include "image/frames_priv.h"
#include "image/image_priv.h"
#include "image/keep.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIBC	  "/lib/x86_64-linux-gnu/libc.so.6"
#define FILE_NAME "0102030405060708090a.test1"

enum { LEN = 200, HEAD = 72 };

static char base[64], place[96], path[256];
static struct keep *k;
static struct budget budget;
static const uint8_t id[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static struct keep_key key;
static uint8_t saved[LEN];

static void setup(void)
{
	strcpy(base, "/tmp/hark-keep-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(place, sizeof place, "%s/sub/cache", base);
	snprintf(path, sizeof path, "%s/" FILE_NAME, place);
	setenv("HARK_CACHE", place, 1);
	k = keep_new();
	ck_assert_ptr_nonnull(k);
	budget_init(&budget, 1 << 30);
	key = (struct keep_key){
	    .id = id, .id_len = sizeof id, .kind = "test1", .source = 4711};
	for (size_t i = 0; i < LEN; i++)
		saved[i] = (uint8_t)(i * 7);
}

static void teardown(void)
{
	char command[128];

	keep_free(k);
	snprintf(command, sizeof command, "rm -rf '%s'", base);
	ck_assert_int_eq(system(command), 0);
}

static void save(void)
{
	keep_save(k, &key, saved, LEN);
}

/* 1: what was saved; 0: nothing. Anything else is wrong. */
static int load_by(struct keep *by)
{
	size_t len = 0;
	uint8_t *bytes = keep_load(by, &key, &budget.heap, &len);

	if (bytes == NULL) {
		ck_assert_uint_eq(budget.used, 0);
		return 0;
	}
	ck_assert_uint_eq(len, LEN);
	ck_assert_mem_eq(bytes, saved, LEN);
	heap_give(&budget.heap, bytes, len);
	return 1;
}

static int load(void)
{
	return load_by(k);
}

/* By one who has not opened the place yet. */
static int load_anew(void)
{
	struct keep *other = keep_new();
	int rc = load_by(other);

	keep_free(other);
	return rc;
}

static unsigned mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(name, &st), 0);
	return st.st_mode & 07777;
}

static int count_files(void)
{
	char command[160], text[16] = "";
	FILE *f;

	snprintf(command, sizeof command, "ls -A '%s' | wc -l", place);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(fgets(text, sizeof text, f));
	pclose(f);
	return atoi(text);
}

START_TEST(what_was_saved_is_loaded)
{
	mode_t before = umask(0);

	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(access(place, F_OK), -1); /* nothing is made by that */
	save();
	umask(before);
	ck_assert_int_eq(load(), 1);
	ck_assert_int_eq(load_anew(), 1);
	ck_assert_uint_eq(mode_of(place), 0700);
	ck_assert_uint_eq(mode_of(path), 0600);
	ck_assert_int_eq(count_files(), 1);
	saved[3]++;
	save(); /* in its place */
	ck_assert_int_eq(load(), 1);
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(what_was_made_from_something_else_is_not)
{
	static const uint8_t other[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11};

	save();
	key.source++;
	ck_assert_int_eq(load(), 0);
	key.source--;
	key.kind = "test2";
	ck_assert_int_eq(load(), 0);
	key.kind = "test1";
	key.id = other;
	ck_assert_int_eq(load(), 0);
	key.id = id;
	key.id_len = 4; /* no build-id */
	ck_assert_int_eq(load(), 0);
	save();
	ck_assert_int_eq(count_files(), 1);
	key.id_len = sizeof id;
	ck_assert_int_eq(load(), 1);
}
END_TEST

/* The file of another id under this one's name. */
START_TEST(a_name_alone_is_not_believed)
{
	static const uint8_t other[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11};
	char from[256];

	key.id = other;
	save();
	key.id = id;
	snprintf(from, sizeof from, "%s/0102030405060708090b.test1", place);
	ck_assert_int_eq(rename(from, path), 0);
	ck_assert_int_eq(load(), 0);
}
END_TEST

START_TEST(no_part_of_a_file_will_do)
{
	save();
	for (off_t len = HEAD + LEN - 1; len >= 0; len--) {
		ck_assert_int_eq(truncate(path, len), 0);
		ck_assert_int_eq(load(), 0);
	}
	save();
	ck_assert_int_eq(truncate(path, HEAD + LEN + 1), 0);
	ck_assert_int_eq(load(), 0);
}
END_TEST

START_TEST(every_bit_counts)
{
	uint8_t byte, flipped;
	int fd;

	save();
	fd = open(path, O_RDWR);
	for (off_t at = 0; at < HEAD + LEN; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
			flipped = (uint8_t)(byte ^ 1u << bit);
			ck_assert_int_eq(pwrite(fd, &flipped, 1, at), 1);
			ck_assert_int_eq(load(), 0);
			ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		}
	ck_assert_int_eq(load(), 1);
	close(fd);
}
END_TEST

/* A hundred thousand damaged files: bytes changed, moved, swapped, zeroed. */
START_TEST(damaged_files_are_no_files)
{
	uint8_t good[HEAD + LEN], bad[HEAD + LEN];
	int fd, found = 0;

	save();
	srandom(1);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pread(fd, good, sizeof good, 0), sizeof good);
	for (int i = 0; i < 100000; i++) {
		size_t n = 1 + (size_t)random() % 8;

		memcpy(bad, good, sizeof bad);
		while (n-- > 0) {
			size_t at = (size_t)random() % sizeof bad;
			size_t from = (size_t)random() % sizeof bad;

			bad[at] = i % 3 == 0   ? (uint8_t)random()
				  : i % 3 == 1 ? 0
					       : bad[from];
		}
		ck_assert_int_eq(pwrite(fd, bad, sizeof bad, 0), sizeof bad);
		ck_assert_int_eq(load(),
				 memcmp(bad, good, sizeof bad) == 0 ? 1 : 0);
		found += memcmp(bad, good, sizeof bad) == 0;
	}
	ck_assert_int_lt(found, 10000);
	close(fd);
}
END_TEST

/* -- Who may be believed -- */

START_TEST(what_others_may_write_is_not_read)
{
	char other[160];

	save();
	ck_assert_int_eq(chmod(path, 0620), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(chmod(path, 0602), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_eq(load(), 1);
	ck_assert_int_eq(chmod(place, 0770), 0);
	ck_assert_int_eq(load_anew(), 0);
	ck_assert_int_eq(chmod(place, 0707), 0);
	ck_assert_int_eq(load_anew(), 0);
	ck_assert_int_eq(chmod(place, 0700), 0);
	ck_assert_int_eq(load_anew(), 1);
	/* Links, to what would be good. */
	snprintf(other, sizeof other, "%s/sub/other", base);
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(rename(other, path), 0);
	ck_assert_int_eq(load(), 1);
	ck_assert_int_eq(rename(place, other), 0);
	ck_assert_int_eq(symlink(other, place), 0);
	ck_assert_int_eq(load_anew(), 0);
}
END_TEST

START_TEST(what_others_own_is_not_read)
{
	if (geteuid() != 0)
		return; /* only root can give things away */
	save();
	ck_assert_int_eq(chown(path, 65534, 65534), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(load(), 1);
	ck_assert_int_eq(chown(place, 65534, 65534), 0);
	ck_assert_int_eq(load_anew(), 0);
}
END_TEST

START_TEST(what_is_no_file_is_not_waited_for)
{
	save();
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(load(), 0);
	save(); /* cannot be done, and leaves nothing */
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* -- Where -- */

static int is_kept_in(const char *where)
{
	struct keep *other = keep_new();
	char name[256];
	int found;

	keep_save(other, &key, saved, LEN);
	keep_free(other);
	snprintf(name, sizeof name, "%s/%s/" FILE_NAME, base, where);
	found = access(name, F_OK) == 0;
	unlink(name);
	return found;
}

START_TEST(the_place_is_where_users_expect_it)
{
	char cache[96];
	struct keep *none;

	snprintf(cache, sizeof cache, "%s/xdg", base);
	setenv("HOME", base, 1);
	setenv("XDG_CACHE_HOME", cache, 1);
	ck_assert(is_kept_in("sub/cache"));
	setenv("HARK_CACHE", "", 1); /* as good as not set */
	ck_assert(is_kept_in("xdg/hark"));
	unsetenv("HARK_CACHE");
	ck_assert(is_kept_in("xdg/hark"));
	setenv("XDG_CACHE_HOME", "relative", 1); /* must be ignored */
	ck_assert(is_kept_in(".cache/hark"));
	unsetenv("XDG_CACHE_HOME");
	ck_assert(is_kept_in(".cache/hark"));
	unsetenv("HOME");
	ck_assert_ptr_null(keep_new());
	setenv("HOME", base, 1);
	setenv("HARK_CACHE", "off", 1);
	none = keep_new();
	ck_assert_ptr_null(none);
	ck_assert_int_eq(load_by(none), 0);
	keep_save(none, &key, saved, LEN);
}
END_TEST

START_TEST(where_nothing_can_be_made_nothing_is_kept)
{
	struct keep *other;

	setenv("HARK_CACHE", "/proc/hark", 1);
	other = keep_new();
	keep_save(other, &key, saved, LEN);
	ck_assert_int_eq(load_by(other), 0);
	keep_free(other);
}
END_TEST

/* As if the disk were full. */
START_TEST(half_a_file_is_not_left)
{
	struct rlimit little = {100, RLIM_INFINITY}, before;

	save();
	ck_assert_int_eq(unlink(path), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	little.rlim_max = before.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
	save();
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(count_files(), 0);
	save();
	ck_assert_int_eq(load(), 1);
}
END_TEST

/* -- Bounds -- */

/* An empty file of a length, so old. */
static void put_file(const char *name, off_t len, int hours)
{
	struct timespec t[2] = {{.tv_sec = time(NULL) - hours * 3600}};
	char full[256];
	int fd;

	t[1] = t[0];
	snprintf(full, sizeof full, "%s/%s", place, name);
	fd = open(full, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, len), 0);
	ck_assert_int_eq(futimens(fd, t), 0);
	close(fd);
}

static bool has_file(const char *name)
{
	char full[256];

	snprintf(full, sizeof full, "%s/%s", place, name);
	return access(full, F_OK) == 0;
}

START_TEST(the_oldest_goes_when_there_is_too_much)
{
	save();
	ck_assert_int_eq(unlink(path), 0);
	put_file("00000000000000000a.frames1", KEEP_MAX / 2, 30);
	put_file("00000000000000000b.frames1", KEEP_MAX / 4, 50);
	put_file("00000000000000000c.frames1", KEEP_MAX / 4, 10);
	put_file("mine.txt", KEEP_MAX, 100); /* is nobody's business */
	put_file(".new-1", 1000, 0);
	put_file(".new-2", 1000, 2);
	save();
	ck_assert_int_eq(load(), 1);
	ck_assert(has_file("00000000000000000a.frames1"));
	ck_assert(!has_file("00000000000000000b.frames1"));
	ck_assert(has_file("00000000000000000c.frames1"));
	ck_assert(has_file("mine.txt"));
	ck_assert(has_file(".new-1")); /* somebody is writing it */
	ck_assert(!has_file(".new-2"));
}
END_TEST

START_TEST(there_are_not_too_many_files)
{
	char name[64];

	save();
	ck_assert_int_eq(unlink(path), 0);
	for (int i = 0; i < KEEP_FILES + 5; i++) {
		snprintf(name, sizeof name, "%020x.frames1", i);
		put_file(name, 10, 10 + i);
	}
	save();
	ck_assert_int_eq(load(), 1);
	ck_assert_int_eq(count_files(), KEEP_FILES);
	ck_assert(has_file("00000000000000000000.frames1"));
	ck_assert(!has_file(name)); /* the oldest */
}
END_TEST

START_TEST(what_is_used_is_not_old)
{
	save();
	put_file(FILE_NAME, HEAD + LEN, 100);
	ck_assert_int_eq(load(), 1); /* that is a use */
	put_file("00000000000000000a.frames1", KEEP_MAX - HEAD - LEN, 50);
	key.kind = "test2";
	save();
	ck_assert(!has_file("00000000000000000a.frames1"));
	ck_assert(has_file(FILE_NAME));
}
END_TEST

/* -- Several at once -- */

static void save_many(unsigned number)
{
	for (int i = 0; i < 300; i++) {
		memset(saved, (int)(number * 50 + (unsigned)i % 50), LEN);
		save();
	}
	_exit(0);
}

START_TEST(several_writers_do_not_mix)
{
	int status, running = 4;

	memset(saved, 1, LEN);
	save();
	for (unsigned i = 0; i < 4; i++)
		if (fork() == 0)
			save_many(i);
	while (running > 0) {
		size_t len;
		uint8_t *bytes = keep_load(k, &key, &budget.heap, &len);

		ck_assert_ptr_nonnull(bytes); /* it is never gone */
		for (size_t i = 1; i < len; i++)
			ck_assert_uint_eq(bytes[i], bytes[0]);
		heap_give(&budget.heap, bytes, len);
		if (waitpid(-1, &status, WNOHANG) > 0) {
			ck_assert_int_eq(status, 0);
			running--;
		}
	}
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* -- Tables -- */

static struct frame_table *table; /* of libc, as it is built */

/* libc's table by way of the place. */
static void check_frames(void)
{
	const struct frame_table *t;
	struct image_file *f;
	struct image *im;

	ck_assert_int_eq(image_new(&im, NULL), 0);
	image_use_cache(im);
	ck_assert_int_eq(image_open(im, LIBC, &f, NULL), 0);
	ck_assert_int_eq(frames_of(f, &t, NULL), 0);
	ck_assert_uint_eq(t->len, table->len);
	ck_assert_mem_eq(t, table, t->len);
	key.id = memcpy(path, f->elf->id, f->elf->id_len);
	key.id_len = f->elf->id_len;
	key.kind = "frames1";
	ck_assert_int_eq(frames_source(f->elf, &key.source), 0);
	image_free(im);
}

static void setup_frames(void)
{
	const struct frame_table *t;
	struct image_file *f;
	struct image *im;

	setup();
	ck_assert_int_eq(image_new(&im, NULL), 0);
	ck_assert_int_eq(image_open(im, LIBC, &f, NULL), 0);
	ck_assert_int_eq(frames_of(f, &t, NULL), 0);
	table = malloc(t->len);
	memcpy(table, t, t->len);
	image_free(im);
	check_frames(); /* and it is there from now on */
	ck_assert_int_eq(count_files(), 1);
}

static void teardown_frames(void)
{
	free(table);
	teardown();
}

/* The table as it is on disk now; the caller gives it back. */
static struct frame_table *kept_table(void)
{
	size_t len;
	struct frame_table *t = keep_load(k, &key, &budget.heap, &len);

	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(len, t->len);
	return t;
}

/* On disk is what is built. */
static void check_kept(void)
{
	struct frame_table *t = kept_table();

	ck_assert_uint_eq(t->len, table->len);
	ck_assert_mem_eq(t, table, t->len);
	heap_give(&budget.heap, t, t->len);
}

START_TEST(a_kept_table_is_the_one_that_is_built)
{
	check_kept();
	check_frames();
	check_kept();
}
END_TEST

/* With a right sum, so that only the table's own check can tell. */
START_TEST(a_bad_table_is_built_anew)
{
	struct frame_table *bad = kept_table();
	size_t len = bad->len;

	((struct frame_row *)frame_rows(bad))[100].rule = 65535;
	keep_save(k, &key, bad, len);
	check_frames();
	check_kept(); /* and mended */
	memcpy(bad, table, len);
	((struct frame_row *)frame_rows(bad))[100].low =
	    frame_rows(bad)[99].low;
	keep_save(k, &key, bad, len);
	check_frames();
	memcpy(bad, table, len);
	bad->id[0] ^= 1;
	keep_save(k, &key, bad, len);
	check_frames();
	memcpy(bad, table, len);
	keep_save(k, &key, bad, 40);
	check_frames();
	check_kept();
	heap_give(&budget.heap, bad, len);
}
END_TEST

/* The same build-id, and another section: tools that rewrite programs do that.
 */
START_TEST(another_section_makes_another_table)
{
	struct image_file *f;
	struct image *im;
	uint64_t source;
	struct elf_section *s;

	ck_assert_int_eq(image_new(&im, NULL), 0);
	ck_assert_int_eq(image_open(im, LIBC, &f, NULL), 0);
	ck_assert_int_eq(frames_source(f->elf, &source), 0);
	ck_assert_uint_eq(source, key.source);
	s = elf_section(f->elf, ".eh_frame");
	s->h.sh_addr += 64;
	ck_assert_int_eq(frames_source(f->elf, &source), 0);
	ck_assert_uint_ne(source, key.source);
	s->h.sh_addr -= 64;
	s->h.sh_offset += 8;
	ck_assert_int_eq(frames_source(f->elf, &source), 0);
	ck_assert_uint_ne(source, key.source);
	s->h.sh_offset = UINT64_MAX - 100;
	ck_assert_int_eq(frames_source(f->elf, &source), -1);
	image_free(im);
}
END_TEST

Suite *image_keep_suite(void)
{
	Suite *s = suite_create("image_keep");
	TCase *c = tcase_create("files"), *t = tcase_create("tables");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_set_timeout(c, 120);
	tcase_add_test(c, what_was_saved_is_loaded);
	tcase_add_test(c, what_was_made_from_something_else_is_not);
	tcase_add_test(c, a_name_alone_is_not_believed);
	tcase_add_test(c, no_part_of_a_file_will_do);
	tcase_add_test(c, every_bit_counts);
	tcase_add_test(c, damaged_files_are_no_files);
	tcase_add_test(c, what_others_may_write_is_not_read);
	tcase_add_test(c, what_others_own_is_not_read);
	tcase_add_test(c, what_is_no_file_is_not_waited_for);
	tcase_add_test(c, the_place_is_where_users_expect_it);
	tcase_add_test(c, where_nothing_can_be_made_nothing_is_kept);
	tcase_add_test(c, half_a_file_is_not_left);
	tcase_add_test(c, the_oldest_goes_when_there_is_too_much);
	tcase_add_test(c, there_are_not_too_many_files);
	tcase_add_test(c, what_is_used_is_not_old);
	tcase_add_test(c, several_writers_do_not_mix);
	suite_add_tcase(s, c);
	tcase_add_checked_fixture(t, setup_frames, teardown_frames);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_kept_table_is_the_one_that_is_built);
	tcase_add_test(t, a_bad_table_is_built_anew);
	tcase_add_test(t, another_section_makes_another_table);
	suite_add_tcase(s, t);
	return s;
}
