/* tests/unit/outside_drain_test.c - a channel survives either side's death.
 *
 * A child process writes numbered records through three rings while this one
 * drains them into a chunk file; one of them is killed at a random moment. The
 * file must then hold, for each ring, exactly the records 0, 1, 2, ... up to
 * some point: nothing lost before it, nothing invented. */
#include "outside/drain.h"

#include "outside/file.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RINGS = 3 };

static const struct wire_geometry geometry = {
    .max_threads = 4, .n_slots = 0, .ring_chunks = 3, .chunk_size = 512};

struct record {
	uint32_t number, ring;
	uint64_t echo;
};

static _Noreturn void produce(void *base)
{
	struct ring_view v[RINGS];

	for (uint32_t i = 0; i < RINGS; i++) {
		v[i] = channel_ring(&geometry, base, i);
		ring_open(&v[i], i + 1);
	}
	for (uint32_t n = 0;; n++)
		for (uint32_t i = 0; i < RINGS; i++) {
			struct record *r;

			while ((r = ring_reserve(&v[i], sizeof *r)) == NULL)
				usleep(10);
			*r = (struct record){n, i, ~(uint64_t)n};
			ring_commit(&v[i], sizeof *r);
		}
}

static int to_file(void *ctx, uint32_t ring, uint32_t tid, const uint8_t *bytes,
		   uint32_t len, struct hark_err *err)
{
	if (tid != ring + 1)
		ck_abort_msg("ring %u says it is thread %u's", ring, tid);
	return file_put(ctx, WIRE_CHUNK_DATA, 1, ring + 1, bytes, len, err);
}

static struct drain *make_channel(void **base)
{
	struct hark_err err;
	struct drain *d = NULL;

	ck_assert_int_eq(0,
			 drain_open(memfd_create("channel", MFD_ALLOW_SEALING),
				    &geometry, 1, &d, &err));
	*base = drain_base(d);
	return d;
}

/* The records of each ring count up from 0; how many there are. */
static uint64_t check_file(int fd)
{
	uint32_t next[RINGS] = {0};
	struct file_reader *r = NULL;
	enum file_status status;
	struct file_chunk c;
	struct hark_err err;

	lseek(fd, 0, SEEK_SET);
	if (file_open_fd(fd, "drained", &r, &err) < 0)
		return 0; /* killed before its header was there */
	while ((status = file_next(r, &c, &err)) == FILE_CHUNK)
		for (size_t at = 0; at + sizeof(struct record) <= c.len;
		     at += sizeof(struct record)) {
			struct record one;

			memcpy(&one, c.bytes + at, sizeof one);
			if (one.ring + 1 != c.thread ||
			    one.number != next[one.ring]++ ||
			    one.echo != ~(uint64_t)one.number)
				ck_abort_msg("ring %u: %u is wrong", one.ring,
					     one.number);
		}
	ck_assert_int_ne(status, FILE_DAMAGED);
	file_reader_close(r);
	return (uint64_t)next[0] + next[1] + next[2];
}

static void drain_for(struct drain *d, struct file_writer *w, long us)
{
	struct timespec now, end;
	struct hark_err err;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += us * 1000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	do {
		if (drain_pass(d, to_file, w, &err) < 0)
			ck_abort_msg("%s", err.text);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static uint64_t kill_producer(unsigned seed)
{
	int fd = memfd_create("file", 0);
	struct file_writer *w = NULL;
	struct hark_err err;
	struct drain *d;
	uint64_t records;
	void *base;
	pid_t pid;

	d = make_channel(&base);
	pid = fork();
	if (pid == 0)
		produce(base);
	srand(seed);
	ck_assert_int_eq(0, file_create_fd(fd, "drained", &w, &err));
	drain_for(d, w, rand() % 4000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_ge(drain_pass(d, to_file, w, &err), 0);
	ck_assert_uint_eq(drain_stats(d).damaged, 0);
	file_writer_close(w);
	drain_close(d);
	records = check_file(fd);
	close(fd);
	return records;
}

START_TEST(drain_saves_all_that_a_killed_target_had_written)
{
	uint64_t records = 0;

	for (unsigned seed = 0; seed < 250 || records <= 10000; seed++)
		records += kill_producer(seed);
}
END_TEST

/* hark is the child this time; the target goes on writing without it. */
static uint64_t kill_consumer(unsigned seed)
{
	int fd = memfd_create("file", 0);
	struct hark_err err;
	struct drain *d;
	uint64_t records;
	void *base;
	pid_t target, hark;

	d = make_channel(&base);
	target = fork();
	if (target == 0)
		produce(base);
	hark = fork();
	if (hark == 0) {
		struct file_writer *w = NULL;

		if (file_create_fd(fd, "drained", &w, &err) == 0)
			drain_for(d, w, 900000);
		_exit(0);
	}
	srand(seed);
	usleep((useconds_t)rand() % 4000);
	kill(hark, SIGKILL);
	waitpid(hark, NULL, 0);
	ck_assert_int_eq(waitpid(target, NULL, WNOHANG), 0); /* unharmed */
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	drain_close(d);
	records = check_file(fd);
	close(fd);
	return records;
}

START_TEST(drain_killed_leaves_a_readable_file_and_a_living_target)
{
	uint64_t records = 0;

	for (unsigned seed = 0; seed < 250 || records <= 10000; seed++)
		records += kill_consumer(seed);
}
END_TEST

static int no_bytes(void *ctx, uint32_t ring, uint32_t tid,
		    const uint8_t *bytes, uint32_t len, struct hark_err *err)
{
	(void)ctx, (void)ring, (void)tid, (void)err;
	for (uint32_t i = 0; i < len; i++) /* ASan looks at each */
		if (bytes[i] == 1 && len == 0)
			return -1;
	return 0;
}

START_TEST(drain_survives_a_target_that_scribbles)
{
	struct hark_err err;
	struct drain *d;
	void *base;

	for (unsigned seed = 0; seed < 3000; seed++) {
		struct wire_control c;

		d = make_channel(&base);
		for (uint32_t i = 0; i < RINGS; i++) {
			struct ring_view v = channel_ring(&geometry, base, i);

			ring_open(&v, i + 1);
		}
		srand(seed);
		channel_layout(&geometry, &c);
		for (int i = 0; i < 64; i++)
			((uint8_t *)base)[(size_t)rand() % c.size] =
			    (uint8_t)rand();
		for (int i = 0; i < 3; i++)
			drain_pass(d, no_bytes, NULL, &err);
		drain_close(d);
	}
}
END_TEST

START_TEST(drain_frees_a_closed_ring_for_the_next_thread)
{
	struct wire_visit v = {.type = WIRE_VISIT, .size = sizeof v};
	int fd = memfd_create("file", 0);
	struct file_writer *w = NULL;
	struct hark_err err;
	struct drain *d;
	void *base;

	d = make_channel(&base);
	ck_assert_int_eq(0, file_create_fd(fd, "drained", &w, &err));
	for (int i = 0; i < 10; i++) {
		struct ring_view ring = channel_ring(&geometry, base, 0);

		ck_assert_uint_eq(ring.ring->state, WIRE_RING_FREE);
		ring_open(&ring, 1);
		memcpy(ring_reserve(&ring, sizeof v), &v, sizeof v);
		ring_commit(&ring, sizeof v);
		ring_lose(&ring, 5);
		ring_close(&ring);
		ck_assert_int_eq(drain_pass(d, to_file, w, &err), sizeof v);
	}
	ck_assert_uint_eq(drain_stats(d).lost, 50);
	file_writer_close(w);
	drain_close(d);
	close(fd);
}
END_TEST

Suite *outside_drain_suite(void)
{
	Suite *s = suite_create("outside_drain");
	TCase *t = tcase_create("drain");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, drain_saves_all_that_a_killed_target_had_written);
	tcase_add_test(t,
		       drain_killed_leaves_a_readable_file_and_a_living_target);
	tcase_add_test(t, drain_survives_a_target_that_scribbles);
	tcase_add_test(t, drain_frees_a_closed_ring_for_the_next_thread);
	suite_add_tcase(s, t);
	return s;
}
