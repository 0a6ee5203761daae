/* tests/unit/outside_tracee_test.c - a number that is another program's.
 *
 * A child of two threads: the first stands still, the second executes another
 * program when it is told to. hark holds the first and has seized both. */
#include "outside/tracee.h"

#include "outside/attach.h"
#include "outside/proc.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 100000, TIMEOUT_S = 60, BOTH = 2 };

static void *execute(void *arg)
{
	const int *pipe_end = arg;
	char c;

	if (read(*pipe_end, &c, 1) == 1)
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
	_exit(1);
}

static void run_child(int pipe_end)
{
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&t, NULL, execute, &pipe_end) != 0)
		_exit(1);
	for (;;)
		pause();
}

static int64_t soon(void)
{
	return tracee_now_ns() + TIMEOUT_S * 1000000000LL;
}

struct pair {
	pid_t first, second;
	int pipe[2];
};

/* Both are there, and nobody holds them. */
static struct pair start(void)
{
	struct pair p;
	pid_t tids[BOTH] = {0};

	ck_assert_int_eq(0, pipe(p.pipe));
	p.first = fork();
	if (p.first == 0)
		run_child(p.pipe[0]);
	for (int i = 0; i < TRIES && tids[1] == 0; i++) {
		proc_threads(p.first, tids, BOTH);
		tracee_pause(i);
	}
	ck_assert_int_ne(0, tids[1]);
	p.second = tids[1];
	return p;
}

static void hold(pid_t tid)
{
	struct hark_err err;
	int rc;

	ck_assert_int_eq(0, tracee_seize(tid, PTRACE_O_TRACEEXEC));
	for (int i = 0; (rc = tracee_stopped(tid, &err)) == 0; i++) {
		ck_assert_int_lt(i, TRIES);
		tracee_pause(i);
	}
	ck_assert_int_eq(1, rc);
	ck_assert_int_eq(1, tracee_is_held(tid));
}

/* The second has executed: what waits to be reported is another program's. */
static void let_execute(const struct pair *p)
{
	const int all = WEXITED | WSTOPPED | WNOWAIT | __WALL;
	siginfo_t news;

	ck_assert_int_eq(0, ptrace(PTRACE_CONT, p->second, 0, 0));
	ck_assert_int_eq(1, write(p->pipe[1], "x", 1));
	ck_assert_int_eq(0, waitid(P_PID, (id_t)p->first, &news, all));
	ck_assert_int_eq(SIGTRAP | PTRACE_EVENT_EXEC << 8, news.si_status);
}

/* The program that was executed does what it should. */
static void ends_well(const struct pair *p)
{
	int status = 0;

	ck_assert_int_eq(p->first, waitpid(p->first, &status, __WALL));
	ck_assert_int_eq(7 << 8, status);
	close(p->pipe[0]);
	close(p->pipe[1]);
}

START_TEST(a_held_thread_is_not_held_when_another_has_executed)
{
	struct pair p = start();

	hold(p.first);
	hold(p.second);
	let_execute(&p);
	ck_assert_int_eq(0, tracee_is_held(p.first));
	ck_assert_int_eq(0, tracee_is_held(p.second));
	attach_release(p.second);
	attach_release(p.first);
	ends_well(&p);
}
END_TEST

START_TEST(settling_does_not_pass_over_another_program)
{
	struct pair p = start();
	struct hark_err err = {0};

	hold(p.first);
	hold(p.second);
	let_execute(&p);
	ck_assert_int_eq(-1, tracee_settle(p.first, soon(), &err));
	ck_assert_int_eq(HARK_EGONE, err.code);
	attach_release(p.first);
	ends_well(&p);
}
END_TEST

START_TEST(stopping_does_not_pass_over_another_program)
{
	struct pair p = start();
	struct hark_err err = {0};

	hold(p.first);
	hold(p.second);
	let_execute(&p);
	ck_assert_int_eq(-1, tracee_stop(p.first, soon(), &err));
	ck_assert_int_eq(HARK_EGONE, err.code);
	attach_release(p.first);
	ends_well(&p);
}
END_TEST

START_TEST(a_register_of_the_old_program_does_no_harm)
{
	struct pair p = start();
	struct hark_err err;
	int status;

	hold(p.first);
	hold(p.second);
	let_execute(&p);
	ck_assert_int_eq(0, tracee_wait(p.first, soon(), &status, &err));
	ck_assert_int_eq(0, tracee_set_rax(p.first, (uint64_t)-514, &err));
	attach_release(p.first);
	ends_well(&p);
}
END_TEST

START_TEST(one_that_is_seized_already_can_be_asked_again)
{
	struct pair p = start();

	hold(p.second);
	ck_assert_int_eq(0, ptrace(PTRACE_CONT, p.second, 0, 0));
	hold(p.second);
	attach_release(p.second);
	ck_assert_int_eq(
	    ESRCH, ptrace(PTRACE_INTERRUPT, p.second, 0, 0) < 0 ? errno : 0);
	ck_assert_int_eq(1, write(p.pipe[1], "x", 1));
	ends_well(&p);
}
END_TEST

Suite *outside_tracee_suite(void);
Suite *outside_tracee_suite(void)
{
	Suite *s = suite_create("outside_tracee");
	TCase *t = tcase_create("executing");

	tcase_set_timeout(t, TIMEOUT_S);
	tcase_add_test(t, a_held_thread_is_not_held_when_another_has_executed);
	tcase_add_test(t, settling_does_not_pass_over_another_program);
	tcase_add_test(t, stopping_does_not_pass_over_another_program);
	tcase_add_test(t, a_register_of_the_old_program_does_no_harm);
	tcase_add_test(t, one_that_is_seized_already_can_be_asked_again);
	suite_add_tcase(s, t);
	return s;
}
