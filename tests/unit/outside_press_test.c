/* tests/unit/outside_press_test.c - chunks, pressed by many (press.h). */
#include "outside/press.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* -- Setting -- */

enum { PIECE = 64 << 10 };

static int out_fd; /* what was written */
static char said[256];

static void failed(void *ctx, const char *why)
{
	(void)ctx;
	snprintf(said, sizeof said, "%s", why);
}

static struct press *begin(uint64_t keep)
{
	struct press_plan plan = {.keep = keep, .failed = failed};
	struct press *p = NULL;
	struct hark_err err = {0};

	out_fd = memfd_create("out", MFD_CLOEXEC);
	ck_assert_int_ge(out_fd, 0);
	ck_assert_int_eq(0, file_create_fd(out_fd, "out", &plan.file, &err));
	ck_assert_msg(press_new(&plan, &p, &err) == 0, "%s", err.text);
	ck_assert_msg(press_start(p, &err) == 0, "%s", err.text);
	return p;
}

/* Bytes that can be pressed a little, another every time. */
static void fill(uint8_t *bytes, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(seed >> 24 & 0x3f);
	}
}

static void add(struct press *p, uint32_t number, size_t len)
{
	struct press_job *j = press_job(p);

	ck_assert_ptr_nonnull(j);
	ck_assert_int_eq(0, press_job_fit(j, len));
	fill(j->bytes, len, number);
	j->len = len;
	j->type = WIRE_CHUNK_DATA;
	j->process = 1;
	j->thread = number;
	press_add(p, j);
}

/* The next chunk of what was written is the one of that number. */
static void expect(struct file_reader *r, uint32_t number, size_t len)
{
	struct file_chunk c;
	struct hark_err err = {0};
	uint8_t *bytes = malloc(len);

	ck_assert_ptr_nonnull(bytes);
	fill(bytes, len, number);
	ck_assert_int_eq(FILE_CHUNK, file_next(r, &c, &err));
	ck_assert_uint_eq(number, c.thread);
	ck_assert_uint_eq(len, c.len);
	ck_assert_mem_eq(bytes, c.bytes, len);
	free(bytes);
}

static struct file_reader *read_again(void)
{
	struct file_reader *r = NULL;
	struct hark_err err = {0};

	ck_assert_int_eq(0, lseek(out_fd, 0, SEEK_SET));
	ck_assert_int_eq(0, file_open_fd(out_fd, "out", &r, &err));
	return r;
}

/* -- Order -- */

START_TEST(the_file_has_the_order_of_adding)
{
	enum { N = 500 };
	struct press *p = begin(0);
	struct file_reader *r;

	for (uint32_t i = 1; i <= N; i++)
		add(p, i, i % 7 == 0 ? 300000 : 100 * i);
	press_wait(p, 0);
	r = read_again();
	for (uint32_t i = 1; i <= N; i++)
		expect(r, i, i % 7 == 0 ? 300000 : 100 * i);
	file_reader_close(r);
	press_free(p);
}
END_TEST

/* -- R5 -- */

/* How many threads of this process are bound to less than `all`. */
static int count_bound(const cpu_set_t *all)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
		cpu_set_t set;

		if (tid > 0 && tid != getpid() &&
		    sched_getaffinity(tid, sizeof set, &set) == 0)
			n += !CPU_EQUAL(&set, all);
	}
	closedir(d);
	return n;
}

START_TEST(workers_are_not_bound_to_the_cpu_of_who_adds)
{
	struct press *p = begin(0);
	cpu_set_t all, one;

	ck_assert_int_eq(0, sched_getaffinity(0, sizeof all, &all));
	CPU_ZERO(&one);
	for (int i = 0; CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	ck_assert_int_eq(0, sched_setaffinity(0, sizeof one, &one));
	for (uint32_t i = 1; i <= 64; i++)
		add(p, i, 200000);
	ck_assert_int_eq(0, count_bound(&all));
	press_wait(p, 0);
	ck_assert_int_eq(0, count_bound(&all));
	press_free(p);
}
END_TEST

/* -- Files -- */

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* A file of n pieces. */
static int make_file(unsigned n)
{
	int fd = memfd_create("in", MFD_CLOEXEC);
	uint8_t *bytes = malloc(PIECE);

	ck_assert_int_ge(fd, 0);
	ck_assert_ptr_nonnull(bytes);
	for (uint32_t i = 1; i <= n; i++) {
		fill(bytes, PIECE, i);
		ck_assert_int_eq(PIECE, write(fd, bytes, PIECE));
	}
	free(bytes);
	return fd;
}

static void add_of(struct press *p, struct press_source *s, uint32_t number)
{
	struct press_job *j = press_job(p);

	ck_assert_ptr_nonnull(j);
	j->type = WIRE_CHUNK_BYTES;
	j->thread = number;
	press_job_read(p, j, s, (number - 1) * (uint64_t)PIECE, PIECE);
	press_add(p, j);
}

START_TEST(a_long_file_takes_one_descriptor_until_it_is_written)
{
	enum { N = 600 };
	struct press *p = begin(0);
	int fd = make_file(N);
	struct press_source *s = press_source(fd);
	struct rlimit few = {64, 64};
	struct file_reader *r;

	ck_assert_ptr_nonnull(s);
	ck_assert_int_eq(0, setrlimit(RLIMIT_NOFILE, &few));
	for (uint32_t i = 1; i <= N; i++)
		add_of(p, s, i);
	ck_assert_int_ne(0, is_open(fd));
	press_source_leave(p, s);
	press_wait(p, 0);
	ck_assert_int_eq(0, is_open(fd));
	r = read_again();
	for (uint32_t i = 1; i <= N; i++)
		expect(r, i, PIECE);
	file_reader_close(r);
	press_free(p);
}
END_TEST

START_TEST(a_file_that_waits_is_no_load)
{
	enum { N = 600 };
	struct press *p = begin(0);
	struct press_source *s = press_source(make_file(N));

	for (uint32_t i = 1; i <= N; i++)
		add_of(p, s, i);
	ck_assert_uint_lt(press_load(p), (uint64_t)PIECE * N / 16);
	press_source_leave(p, s);
	press_free(p);
}
END_TEST

/* -- */

Suite *outside_press_suite(void)
{
	Suite *s = suite_create("outside_press");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, the_file_has_the_order_of_adding);
	tcase_add_test(t, workers_are_not_bound_to_the_cpu_of_who_adds);
	tcase_add_test(t, a_long_file_takes_one_descriptor_until_it_is_written);
	tcase_add_test(t, a_file_that_waits_is_no_load);
	suite_add_tcase(s, t);
	return s;
}
