/* tests/unit/record_workers_test.c - work in processes that may crash. */
#include "record/workers.h"

#include "record/sandbox.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 500 };

/* What the workers did, in memory that they share with the test. */
struct log {
	_Atomic uint32_t times[PIECES], by[PIECES];
	_Atomic uint32_t n_done, done[PIECES]; /* in which order */
	_Atomic uint32_t begun;
	unsigned crash_at, fail_at, sleep_us;
	int cannot_begin;
	unsigned seen; /* by progress */
};

static struct log *new_log(void)
{
	struct log *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(l, MAP_FAILED);
	l->crash_at = l->fail_at = UINT32_MAX;
	return l;
}

static int begin(void *ctx, struct hark_err *err)
{
	struct log *l = ctx;

	atomic_fetch_add(&l->begun, 1);
	if (l->cannot_begin)
		return err_set(err, HARK_ENOMEM, 0, "no luck");
	sandbox_enter(SANDBOX_GIGABYTES);
	return 0;
}

static int run(void *ctx, unsigned piece, uint64_t *sum, struct hark_err *err)
{
	struct log *l = ctx;

	atomic_fetch_add(&l->times[piece], 1);
	atomic_store(&l->done[atomic_fetch_add(&l->n_done, 1) % PIECES], piece);
	atomic_store(&l->by[piece], (uint32_t)getpid());
	if (piece % 100 == l->crash_at)
		raise(SIGKILL);
	if (piece == l->fail_at)
		return err_set(err, HARK_EBUG, 0, "piece %u is bad", piece);
	for (unsigned i = 0; i < l->sleep_us; i++) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
	}
	*sum = piece;
	return 0;
}

static int progress(void *ctx, unsigned done)
{
	struct log *l = ctx;

	ck_assert_uint_ge(done, l->seen);
	ck_assert_uint_le(done, PIECES);
	l->seen = done;
	return 0;
}

static void run_ordered(struct log *l, unsigned jobs, unsigned group,
			const uint32_t *order, struct workers_result *out)
{
	uint32_t group_of[PIECES];
	struct workers_plan plan = {.jobs = jobs,
				    .n = PIECES,
				    .group_of = group_of,
				    .order = order,
				    .ctx = l,
				    .begin = begin,
				    .run = run,
				    .progress = progress};
	struct hark_err err = {0};

	for (unsigned i = 0; i < PIECES; i++)
		group_of[i] = i / group;
	ck_assert_int_eq(workers_run(&plan, out, &err), 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

static void run_all(struct log *l, unsigned jobs, unsigned group,
		    struct workers_result *out)
{
	run_ordered(l, jobs, group, NULL, out);
}

START_TEST(every_piece_is_done_once)
{
	static const unsigned jobs[] = {1, 2, 7, 1000};
	static const unsigned groups[] = {1, 3, 100, PIECES};

	for (unsigned k = 0; k < 4; k++) {
		struct log *l = new_log();
		struct workers_result r;

		run_all(l, jobs[k], groups[k], &r);
		for (unsigned i = 0; i < PIECES; i++)
			ck_assert_uint_eq(l->times[i], 1);
		ck_assert_uint_eq(r.good, PIECES);
		ck_assert_uint_eq(r.bad + r.not_done + r.n_texts, 0);
		ck_assert_uint_eq(r.sum, PIECES * (PIECES - 1) / 2);
		ck_assert_uint_eq(l->seen, PIECES);
		munmap(l, sizeof *l);
	}
}
END_TEST

/* 10 groups, two workers: few groups have pieces of both. */
START_TEST(pieces_are_done_in_the_order_that_is_asked_for)
{
	enum { GROUP = 50 };
	struct log *l = new_log();
	struct workers_result r;
	uint32_t order[PIECES];

	for (unsigned i = 0; i < PIECES; i++)
		order[i] = i / GROUP * GROUP + (GROUP - 1 - i % GROUP);
	l->fail_at = 77;
	run_ordered(l, 1, GROUP, order, &r);
	for (unsigned i = 0; i < PIECES; i++)
		ck_assert_uint_eq(l->done[i], order[i]);
	ck_assert_uint_eq(r.good, PIECES - 1);
	ck_assert_uint_eq(r.n_texts, 1);
	ck_assert_uint_eq(r.texts[0].piece, 77);
	munmap(l, sizeof *l);
}
END_TEST

START_TEST(a_worker_stays_with_its_group)
{
	struct log *l = new_log();
	struct workers_result r;
	unsigned changes = 0;

	l->sleep_us = 200;
	run_all(l, 2, PIECES / 10, &r);
	for (unsigned i = 1; i < PIECES; i++)
		changes += l->by[i] != l->by[i - 1] && i % (PIECES / 10) != 0;
	ck_assert_uint_lt(changes, PIECES / 5);
	munmap(l, sizeof *l);
}
END_TEST

START_TEST(a_crash_costs_one_piece)
{
	struct log *l = new_log();
	struct workers_result r;

	l->crash_at = 42;
	l->fail_at = 7;
	run_all(l, 2, 50, &r);
	ck_assert_uint_eq(r.good, PIECES - 6);
	ck_assert_uint_eq(r.bad, 6);
	ck_assert_uint_eq(r.not_done, 0);
	ck_assert_uint_eq(r.n_texts, 6);
	ck_assert_uint_eq(r.texts[0].piece, 7);
	ck_assert_int_eq(r.texts[0].code, HARK_EBUG);
	ck_assert_str_eq(r.texts[0].text, "piece 7 is bad");
	for (unsigned i = 1; i < 6; i++) {
		ck_assert_uint_eq(r.texts[i].piece, 100 * i - 58);
		ck_assert_int_eq(r.texts[i].code, HARK_EGONE);
		ck_assert_msg(strstr(r.texts[i].text, "signal 9") != NULL, "%s",
			      r.texts[i].text);
	}
	munmap(l, sizeof *l);
}
END_TEST

static int enough(void *ctx, unsigned done)
{
	(void)ctx;
	(void)done;
	return 1;
}

START_TEST(the_rest_can_be_given_up)
{
	struct log *l = new_log();
	uint32_t group_of[PIECES] = {0};
	struct workers_plan plan = {.jobs = 2,
				    .n = PIECES,
				    .group_of = group_of,
				    .ctx = l,
				    .begin = begin,
				    .run = run,
				    .progress = enough};
	struct workers_result r;
	struct hark_err err = {0};

	l->sleep_us = 1000000; /* all of it would take minutes */
	ck_assert_int_eq(workers_run(&plan, &r, &err), -1);
	ck_assert_int_eq(err.code, HARK_ETIME);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	munmap(l, sizeof *l);
}
END_TEST

START_TEST(without_a_beginning_nothing_is_done)
{
	struct log *l = new_log();
	struct workers_result r;

	l->cannot_begin = 1;
	run_all(l, 2, 50, &r);
	ck_assert_uint_eq(l->begun, 2);
	ck_assert_uint_eq(r.good + r.bad, 0);
	ck_assert_uint_eq(r.not_done, PIECES);
	ck_assert_uint_eq(r.n_texts, 2);
	ck_assert_str_eq(r.texts[0].text, "no luck");
	munmap(l, sizeof *l);
}
END_TEST

START_TEST(no_pieces_are_done_at_once)
{
	struct workers_plan plan = {.jobs = 2, .begin = begin, .run = run};
	struct workers_result r;
	struct hark_err err;

	ck_assert_int_eq(workers_run(&plan, &r, &err), 0);
	ck_assert_uint_eq(r.good + r.bad + r.not_done, 0);
}
END_TEST

/* -- The sandbox -- */

/* What a child is killed by that does this in the sandbox; 0: nothing. */
static int signal_of(int (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		sandbox_enter(SANDBOX_GIGABYTES);
		_exit(what());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static int opens_nothing(void)
{
	return open("/dev/null", O_RDONLY) >= 0;
}

static int forks(void)
{
	return fork() < 0;
}

static int kills_its_parent(void)
{
	return kill(getppid(), SIGKILL) < 0;
}

static int computes(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *text = malloc(1 << 20);

	if (at == MAP_FAILED || text == NULL)
		return 1;
	memset(text, 1, 1 << 20);
	free(text);
	return munmap(at, 4096) != 0;
}

START_TEST(in_the_sandbox_one_can_only_compute)
{
	ck_assert_int_eq(signal_of(computes), 0);
	ck_assert_int_eq(signal_of(opens_nothing), 0);
	ck_assert_int_eq(signal_of(forks), SIGSYS);
	ck_assert_int_eq(signal_of(kills_its_parent), SIGSYS);
}
END_TEST

Suite *record_workers_suite(void)
{
	Suite *suite = suite_create("record_workers");
	TCase *tc = tcase_create("record_workers");

	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, every_piece_is_done_once);
	tcase_add_test(tc, pieces_are_done_in_the_order_that_is_asked_for);
	tcase_add_test(tc, a_worker_stays_with_its_group);
	tcase_add_test(tc, a_crash_costs_one_piece);
	tcase_add_test(tc, the_rest_can_be_given_up);
	tcase_add_test(tc, without_a_beginning_nothing_is_done);
	tcase_add_test(tc, no_pieces_are_done_at_once);
	tcase_add_test(tc, in_the_sandbox_one_can_only_compute);
	suite_add_tcase(suite, tc);
	return suite;
}
