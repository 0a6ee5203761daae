/* tests/unit/outside_recorder_test.c - all that was committed is in the file.
 *
 * Children play programs (record_play.h) and are killed, scribble, or end as
 * they should; the recording is opened again, and says what they said: every
 * number from 0 on, in its order, up to where they came. */
#include "outside/recorder.h"

#include "outside/file.h"
#include "record/recording.h"
#include "record_play.h"

#include <check.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/hark-unit.XXXXXX", path[64];
static char *command[] = {(char *)"prog", (char *)"with space", NULL};
static char said[1024];
static int channel_fd; /* of the last that joined */

/* -- Setting -- */

static void set_up(void)
{
	sigset_t chld;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	chmod(dir, 01777);
	snprintf(path, sizeof path, "%s/r.hark", dir);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigaddset(&chld, SIGPIPE);
	sigaddset(&chld, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &chld, NULL);
}

static void tear_down(void)
{
	unlink(path);
	rmdir(dir);
}

static void note(void *ctx, const char *text)
{
	(void)ctx;
	snprintf(said, sizeof said, "%s", text);
}

static struct recorder *begin(uint64_t keep)
{
	struct recorder_plan plan = {
	    .argv = command, .keep = keep, .note = note};
	struct recorder *r = NULL;
	struct hark_err err = {0};

	ck_assert_int_eq(0, file_create(path, 0, &plan.file, &err));

	ck_assert_msg(recorder_open(&plan, &r, &err) == 0, "%s", err.text);
	ck_assert_int_eq(0, recorder_start(r, &err));
	return r;
}

static struct recorder_source *join(struct recorder *r, struct play *out)
{
	struct hark_err err = {0};
	struct recorder_source *s = NULL;
	struct drain *d = NULL;

	ck_assert_msg(
	    drain_open(memfd_create("channel", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		       recorder_geometry(r), 1, &d, &err) == 0,
	    "%s", err.text);
	channel_fd = drain_descriptor(d);
	ck_assert_int_ge(channel_fd, 0);
	ck_assert_int_eq(0, recorder_meet(r, getpid(), d, &s, &err));
	*out = (struct play){recorder_geometry(r), drain_base(d)};
	recorder_join(s, d);
	return s;
}

static struct recorder_totals finish(struct recorder *r, int status)
{
	const struct timespec limit = {.tv_sec = 20};
	struct recorder_totals t;
	sigset_t chld;

	recorder_finish(r, status);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	while (!recorder_is_done(r))
		ck_assert_int_ge(sigtimedwait(&chld, NULL, &limit), 0);
	recorder_close(r, &t);
	if (t.failed && said[0] != 0)
		fprintf(stderr, "# recorder: %s\n", said);
	return t;
}

/* -- What the file says -- */

static struct recording *open_it(void)
{
	struct recording *r = NULL;
	struct hark_err err = {0};

	ck_assert_msg(recording_open(path, &r, &err) == 0, "%s", err.text);
	ck_assert_msg(recording_check(r, &err) == 0, "%s", err.text);
	return r;
}

/* All segments of one thread, one after the other. */
static struct play_reading read_thread(struct recording *r, uint32_t process,
				       uint32_t thread)
{
	struct play_reading p = {0};
	struct hark_err err = {0};

	for (unsigned i = 0; i < recording_n_segments(r); i++) {
		const struct recording_segment *g = recording_segment(r, i);
		struct recording_stream *s;
		const uint8_t *bytes;
		uint64_t keys = p.keys;
		size_t len;

		if (g->process != process || g->thread != thread)
			continue;
		ck_assert_int_eq(0, recording_read_segment(r, i, &s, &err));
		ck_assert_uint_eq(g->is_first != 0, p.keys == 0);
		while (recording_stream_next(s, &bytes, &len, &err) > 0)
			play_read(&p, bytes, len);
		recording_stream_close(s);
		ck_assert_uint_eq(keys + 1, p.keys);
	}
	ck_assert_int_eq(0, p.bad);
	return p;
}

/* -- Programs -- */

enum { THREADS = 3 };

static void play_begin(const struct play *p, uint32_t process, uint32_t parent,
		       struct play_ring *own, struct play_ring threads[THREADS])
{
	uint32_t pid = (uint32_t)getpid();

	if (play_take(p, own) < 0 ||
	    play_process(own, process, parent, pid) < 0)
		_exit(1);
	for (uint32_t i = 0; i < THREADS; i++) {
		if (play_take(p, &threads[i]) < 0 ||
		    play_start(&threads[i], process, i + 1, pid) < 0 ||
		    play_key(&threads[i]) < 0)
			_exit(1);
		threads[i].key_every = 100 * (i + 1);
	}
}

/* How far it came, for its parent to know. */
static uint32_t *shared_numbers(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

static _Noreturn void play_on(const struct play *p, uint32_t records,
			      uint32_t len, uint32_t *done)
{
	struct play_ring own, threads[THREADS];

	play_begin(p, 1, 0, &own, threads);
	for (uint32_t n = 0; n < records; n++)
		for (uint32_t i = 0; i < THREADS; i++) {
			if (play_data(&threads[i], len) < 0)
				_exit(2);
			__atomic_store_n(&done[i], n + 1, __ATOMIC_RELEASE);
		}
	for (uint32_t i = 0; i < THREADS; i++)
		play_close(&threads[i]);
	play_close(&own);
	_exit(0);
}

START_TEST(what_was_said_is_in_the_file)
{
	uint32_t *done = shared_numbers();
	struct recorder *rec = begin(0);
	struct recorder_totals t;
	struct recording *r;
	struct play p;
	int status;
	pid_t pid;

	join(rec, &p);
	pid = fork();
	if (pid == 0)
		play_on(&p, 20000, 300, done);
	waitpid(pid, &status, 0);
	t = finish(rec, status);
	ck_assert_int_eq(0, t.failed);
	ck_assert_uint_eq(1, t.processes);
	ck_assert_uint_eq(THREADS, t.threads);
	r = open_it();
	ck_assert_int_eq(1, recording_is_complete(r));
	ck_assert_str_eq("0", recording_end(r, "exit"));
	ck_assert_str_eq("with space", recording_meta_nth(r, "arg", 1));
	for (uint32_t i = 1; i <= THREADS; i++) {
		struct play_reading g = read_thread(r, 1, i);

		ck_assert_uint_eq(20000, g.next);
		ck_assert_uint_eq(1, g.starts);
		ck_assert_uint_eq(20000 / (100 * i) + (20000 % (100 * i) != 0),
				  g.keys);
	}
	recording_close(r);
}
END_TEST

/* C1, when the program is killed at any moment. */
START_TEST(a_killed_program_has_said_all_it_said)
{
	uint32_t *done = shared_numbers();
	struct recorder *rec = begin(0);
	struct recording *r;
	struct play p;
	int status;
	pid_t pid;

	join(rec, &p);
	pid = fork();
	if (pid == 0)
		play_on(&p, UINT32_MAX, 200, done);
	for (uint32_t i = 0; i < THREADS; i++)
		while (__atomic_load_n(&done[i], __ATOMIC_ACQUIRE) == 0)
			usleep(100);
	srand((unsigned)_i);
	usleep((useconds_t)(rand() % 40000));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	finish(rec, status);
	r = open_it();
	ck_assert_int_eq(1, recording_is_complete(r));
	ck_assert_str_eq("9", recording_end(r, "signal"));
	for (uint32_t i = 0; i < THREADS; i++) {
		uint64_t there = read_thread(r, 1, i + 1).next;

		ck_assert_uint_ge(there, done[i]);
		ck_assert_uint_le(there, done[i] + 1);
	}
	recording_close(r);
}
END_TEST

/* Until the file, which grows, has something of every thread. */
static void wait_for_segments(void)
{
	for (int i = 0; i < 10000; i++) {
		struct recording *r = NULL;
		unsigned n = 0;

		if (recording_open(path, &r, NULL) == 0)
			n = recording_n_segments(r);
		recording_close(r);
		if (n >= THREADS)
			return;
		usleep(10000);
	}
}

/* The writer is killed: what is in the file is whole, and nobody waits. */
START_TEST(a_killed_writer_leaves_a_whole_beginning)
{
	uint32_t *done = shared_numbers();
	struct recording *r = NULL;
	struct hark_err err = {0};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct recorder *rec = begin(0);
		struct play p;

		join(rec, &p);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(200);
			play_on(&p, UINT32_MAX, 200, done);
		}
		pause();
		_exit(0);
	}
	wait_for_segments();
	srand((unsigned)_i);
	usleep((useconds_t)(rand() % 200000));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ck_assert_msg(recording_open(path, &r, &err) == 0, "%s", err.text);
	ck_assert_int_eq(0, recording_is_complete(r));
	ck_assert_msg(recording_check(r, &err) == 0, "%s", err.text);
	for (uint32_t i = 0; i < THREADS; i++)
		ck_assert_uint_gt(read_thread(r, 1, i + 1).next, 0);
	recording_close(r);
}
END_TEST

/* C5. Each record of the thread comes after the code of the same number. */
static _Noreturn void play_code(const struct play *p)
{
	struct play_ring own, threads[THREADS];
	uint8_t code[64] = {0};

	play_begin(p, 1, 0, &own, threads);
	for (uint32_t n = 0; n < 30000; n++) {
		memcpy(code + 1, &n, sizeof n);
		if (play_put(&own, WIRE_REC_CODE, code, sizeof code) < 0 ||
		    play_data(&threads[0], 200) < 0)
			_exit(1);
	}
	_exit(0);
}

static void count_code(struct play_reading *r, const struct file_chunk *c)
{
	for (size_t at = 0; at < c->len; at += 4u + c->bytes[at + 2])
		r->next += c->bytes[at] == WIRE_REC_CODE;
}

START_TEST(code_is_in_the_file_before_what_ran_it)
{
	struct play_reading code = {0}, thread = {0};
	struct recorder *rec = begin(0);
	struct file_reader *f = NULL;
	struct hark_err err = {0};
	struct file_chunk c;
	struct play p;
	int status;
	pid_t pid;

	join(rec, &p);
	pid = fork();
	if (pid == 0)
		play_code(&p);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(0, status);
	finish(rec, status);
	ck_assert_int_eq(0, file_open(path, &f, &err));
	while (file_next(f, &c, &err) == FILE_CHUNK) {
		if (c.type == WIRE_CHUNK_DATA && c.thread == 0)
			count_code(&code, &c);
		if (c.type == WIRE_CHUNK_DATA && c.thread == 1)
			play_read(&thread, c.bytes, c.len);
		ck_assert_uint_le(thread.next, code.next);
	}
	ck_assert_uint_eq(30000, thread.next);
	file_reader_close(f);
}
END_TEST

/* -- Processes -- */

START_TEST(processes_of_all_channels_are_numbered_in_one_file)
{
	struct play_ring own, threads[THREADS], child, child_threads[THREADS];
	struct recorder *rec = begin(0);
	const struct recording_process *q;
	struct recording *r;
	struct play p, other;

	join(rec, &p);
	play_begin(&p, 1, 0, &own, threads);
	play_begin(&p, 2, 1, &child, child_threads);
	join(rec, &other);
	usleep(50000);
	play_begin(&other, 1, 0, &own, threads);
	finish(rec, 0);
	r = open_it();
	ck_assert_uint_eq(3, recording_n_processes(r));
	q = recording_process(r, 1);
	ck_assert_uint_eq(2, q->number);
	ck_assert_uint_eq(1, q->parent);
	ck_assert_uint_eq(THREADS, q->n_threads);
	q = recording_process(r, 2);
	ck_assert_uint_eq(0, q->parent);
	ck_assert_uint_eq(getpid(), q->pid);
	ck_assert_uint_eq(2, q->previous);
	ck_assert_str_ne("", q->exe);
	ck_assert_uint_eq(3u * THREADS, recording_n_segments(r));
	recording_close(r);
}
END_TEST

/* A child may take a ring below its parent's, and be heard of first. */
START_TEST(a_child_that_is_heard_of_first_has_its_parent)
{
	struct play_ring gap, own, threads[THREADS], child[THREADS + 1];
	struct recorder *rec = begin(0);
	struct recorder_source *s;
	const struct recording_process *q;
	struct recording *r;
	struct play p;
	unsigned programs = 0;

	s = join(rec, &p);
	recorder_hide(s); /* nothing is drained until all is there */
	p.channel = mmap(NULL, 1ul << 31, PROT_READ | PROT_WRITE, MAP_SHARED,
			 channel_fd, 0);
	ck_assert_ptr_ne(p.channel, MAP_FAILED);
	ck_assert_int_eq(0, play_take(&p, &gap));
	play_begin(&p, 1, 0, &own, threads);
	gap.view.ring->state = WIRE_RING_FREE;
	play_begin(&p, 2, 1, &child[0], child + 1);
	recorder_show(s, 0);
	finish(rec, 0);
	r = open_it();
	ck_assert_uint_eq(2, recording_n_processes(r));
	for (unsigned i = 0; i < 2; i++) {
		q = recording_process(r, i);
		ck_assert_uint_eq(getpid(), q->pid);
		if (q->parent == 0 && q->exe[0] != '\0')
			programs++;
		else
			ck_assert_uint_eq(3 - q->number, q->parent);
	}
	ck_assert_uint_eq(1, programs);
	recording_close(r);
}
END_TEST

START_TEST(a_ring_is_used_again_and_again)
{
	struct recorder *rec = begin(0);
	struct recording *r;
	struct play_ring own;
	struct play p;

	join(rec, &p);
	ck_assert_int_eq(0, play_take(&p, &own));
	ck_assert_int_eq(0, play_process(&own, 1, 0, 1));
	for (uint32_t i = 1; i <= 6000; i++) {
		struct play_ring t;

		while (play_take(&p, &t) < 0)
			usleep(100);
		ck_assert_int_eq(0, play_start(&t, 1, i, 1));
		ck_assert_int_eq(0, play_key(&t));
		ck_assert_int_eq(0, play_data(&t, 10));
		play_close(&t);
	}
	finish(rec, 0);
	r = open_it();
	ck_assert_uint_eq(6000, recording_n_segments(r));
	for (uint32_t i = 1; i <= 6000; i += 997)
		ck_assert_uint_eq(1, read_thread(r, 1, i).next);
	recording_close(r);
}
END_TEST

/* Who has it might lift the limit again. The rest of what root may do stays:
 * a file system may have its last free blocks for root only. */
static void drop_resource_right(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct sets[2];

	ck_assert_int_eq(0, syscall(SYS_capget, &head, sets));
	sets[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	sets[0].permitted &= ~(1U << CAP_SYS_RESOURCE);
	ck_assert_int_eq(0, syscall(SYS_capset, &head, sets));
}

/* A channel is a file, too: where those are limited, it has few rings. */
static void limit_rings(void)
{
	struct rlimit small = {20 << 20, 20 << 20};
	struct stat own;

	/* The recording has this program in it. */
	ck_assert_int_eq(0, stat("/proc/self/exe", &own));
	small.rlim_cur = small.rlim_max += (rlim_t)own.st_size;
	ck_assert_int_eq(0, setrlimit(RLIMIT_FSIZE, &small));
	drop_resource_right();
}

START_TEST(where_files_are_limited_there_are_fewer_rings)
{
	uint32_t *done = shared_numbers();
	struct recorder *rec;
	enum { USUALLY = 4096 };
	struct play p;
	int status;
	pid_t pid;

	limit_rings();
	rec = begin(0);
	ck_assert_uint_lt(recorder_geometry(rec)->max_threads, USUALLY);
	join(rec, &p);
	pid = fork();
	if (pid == 0)
		play_on(&p, 2000, 300, done);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(0, status);
	ck_assert_int_eq(0, finish(rec, status).failed);
}
END_TEST

/* Children that end without a word: their rings are not lost for ever. */
START_TEST(rings_of_the_dead_are_used_again)
{
	struct recorder *rec;
	struct recorder_totals t;
	struct recording *r;
	struct play p;

	limit_rings();
	rec = begin(0);
	join(rec, &p);
	for (uint32_t i = 1; i <= 80; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct play_ring own, thread;

			while (play_take(&p, &own) < 0)
				usleep(1000);
			play_process(&own, i, 0, (uint32_t)getpid());
			while (play_take(&p, &thread) < 0)
				usleep(1000);
			play_start(&thread, i, 1, (uint32_t)getpid());
			play_key(&thread);
			play_data(&thread, 10);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	t = finish(rec, 0);
	ck_assert_uint_eq(80, t.processes);
	r = open_it();
	ck_assert_uint_eq(80, recording_n_segments(r));
	for (uint32_t i = 1; i <= 80; i++)
		ck_assert_uint_eq(1, read_thread(r, i, 1).next);
	recording_close(r);
}
END_TEST

/* -- Hostile programs -- */

START_TEST(scribbles_end_one_stream_and_no_other)
{
	struct play_ring own, threads[THREADS];
	struct recorder *rec = begin(0);
	struct recorder_totals t;
	struct recording *r;
	struct play p;

	join(rec, &p);
	play_begin(&p, 1, 0, &own, threads);
	for (int n = 0; n < 50; n++)
		for (uint32_t i = 0; i < THREADS; i++)
			play_data(&threads[i], 100);
	if (_i == 0) { /* a record that is none */
		play_put(&threads[1], 99, "garbage", 7);
	} else if (_i == 1) { /* one that is longer than what was committed */
		const struct wire_rec long_one = {WIRE_REC_BYTES, 0, 65000};

		memcpy(ring_reserve(&threads[1].view, 8), &long_one,
		       sizeof long_one);
		ring_commit(&threads[1].view, 8);
	} else { /* the ring itself */
		threads[1].view.ring->head = 77777;
	}
	for (int n = 0; n < 50; n++)
		for (uint32_t i = 0; i < THREADS; i++)
			if (i != 1)
				play_data(&threads[i], 100);
	t = finish(rec, 0);
	ck_assert_uint_gt(t.lost, 0);
	r = open_it();
	ck_assert_ptr_nonnull(recording_note(r, 0));
	ck_assert_uint_eq(100, read_thread(r, 1, 1).next);
	ck_assert_uint_eq(100, read_thread(r, 1, 3).next);
	if (_i < 2)
		ck_assert_uint_eq(50, read_thread(r, 1, 2).next);
	recording_close(r);
}
END_TEST

START_TEST(who_finds_no_ring_is_counted)
{
	struct recorder *rec = begin(0);
	struct recorder_totals t;
	struct play p;

	join(rec, &p);
	wire_recording_of(p.channel)->left_out = 3;
	t = finish(rec, 0);
	ck_assert_uint_eq(3, t.lost);
}
END_TEST

/* -- A file that cannot be written -- */

START_TEST(a_file_that_may_not_grow_stops_nobody)
{
	const struct rlimit small = {200000, 200000};
	uint32_t *done = shared_numbers();
	struct recorder *rec;
	struct recorder_totals t;
	struct recording *r = NULL;
	struct hark_err err = {0};
	struct play p;
	int status;
	pid_t pid;

	rec = begin(0);
	join(rec, &p);
	pid = fork();
	if (pid == 0)
		play_on(&p, UINT32_MAX, 3000, done);
	setrlimit(RLIMIT_FSIZE, &small);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(2, WEXITSTATUS(status)); /* it was told */
	t = finish(rec, status);
	ck_assert_int_eq(1, t.failed);
	ck_assert_ptr_nonnull(strstr(said, "File too large"));
	ck_assert_msg(recording_open(path, &r, &err) == 0, "%s", err.text);
	ck_assert_int_eq(0, recording_is_complete(r));
	ck_assert_msg(recording_check(r, &err) == 0, "%s", err.text);
	recording_close(r);
}
END_TEST

/* -- The newest -- */

START_TEST(a_ring_keeps_the_newest_segments_whole)
{
	uint32_t *done = shared_numbers();
	struct recorder *rec = begin(30000);
	struct recorder_totals t;
	struct recording_facts facts;
	struct recording *r;
	struct play p;
	int status;
	pid_t pid;

	join(rec, &p);
	pid = fork();
	if (pid == 0)
		play_on(&p, 20000, 500, done);
	waitpid(pid, &status, 0);
	t = finish(rec, status);
	ck_assert_uint_gt(t.dropped, 0);
	r = open_it();
	recording_facts(r, &facts);
	ck_assert_uint_le(facts.thread_bytes, 30000);
	ck_assert_int_eq(1, recording_is_complete(r));
	ck_assert_uint_gt(recording_n_segments(r), 3);
	for (unsigned i = 0; i < recording_n_segments(r); i++) {
		const struct recording_segment *g = recording_segment(r, i);
		struct play_reading got = {.next = g->count};
		struct recording_stream *s;
		struct hark_err err;
		const uint8_t *bytes;
		size_t len;

		ck_assert_int_eq(0, recording_read_segment(r, i, &s, &err));
		while (recording_stream_next(s, &bytes, &len, &err) > 0)
			play_read(&got, bytes, len);
		recording_stream_close(s);
		ck_assert_int_eq(0, got.bad);
		ck_assert_uint_eq(
		    got.next, g->is_last ? 20000 : g->count + 100 * g->thread);
	}
	recording_close(r);
}
END_TEST

Suite *outside_recorder_suite(void)
{
	Suite *s = suite_create("recorder");
	TCase *t = tcase_create("recorder");

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, what_was_said_is_in_the_file);
	tcase_add_loop_test(t, a_killed_program_has_said_all_it_said, 0, 5);
	tcase_add_loop_test(t, a_killed_writer_leaves_a_whole_beginning, 0, 2);
	tcase_add_test(t, code_is_in_the_file_before_what_ran_it);
	tcase_add_test(t, processes_of_all_channels_are_numbered_in_one_file);
	tcase_add_test(t, a_child_that_is_heard_of_first_has_its_parent);
	tcase_add_test(t, a_ring_is_used_again_and_again);
	tcase_add_test(t, rings_of_the_dead_are_used_again);
	tcase_add_loop_test(t, scribbles_end_one_stream_and_no_other, 0, 3);
	tcase_add_test(t, who_finds_no_ring_is_counted);
	tcase_add_test(t, a_file_that_may_not_grow_stops_nobody);
	tcase_add_test(t, where_files_are_limited_there_are_fewer_rings);
	tcase_add_test(t, a_ring_keeps_the_newest_segments_whole);
	suite_add_tcase(s, t);
	return s;
}
