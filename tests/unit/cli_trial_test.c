/* tests/unit/cli_trial_test.c - a trial can go wrong in every way. */
#include "cli/trial.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 60000, SHORT_MS = 2000 };

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void limited(struct finding *out)
{
	finding_set(out, FINDING_LIMITED, "half %d", 2);
	finding_advise(out, "try %s", "more");
}

static void killed_by_filter(struct finding *out)
{
	(void)out;
	raise(SIGSYS);
}

static void killed(struct finding *out)
{
	(void)out;
	raise(SIGKILL);
}

static void ends(struct finding *out)
{
	(void)out;
	_exit(7);
}

static pid_t *lingering; /* shared with the trial */

static void hangs(struct finding *out)
{
	(void)out;
	if (fork() > 0)
		lingering[0] = getpid();
	else
		lingering[1] = getpid();
	for (;;)
		pause();
}

static void dies_before_its_child(struct finding *out)
{
	pid_t pid = fork();

	(void)out;
	while (pid == 0)
		pause();
	lingering[1] = pid;
	raise(SIGSYS);
}

static void long_winded(struct finding *out)
{
	char much[1000];

	memset(much, 'x', sizeof much - 1);
	much[sizeof much - 1] = '\0';
	finding_set(out, FINDING_OK, "%s", much);
	finding_advise(out, "%s", much);
}

START_TEST(trial_brings_its_finding_home)
{
	struct finding f;

	trial_run(limited, LIMIT_MS, &f);
	ck_assert_int_eq(FINDING_LIMITED, f.state);
	ck_assert_str_eq("half 2", f.value);
	ck_assert_str_eq("try more", f.advice);
}
END_TEST

START_TEST(trial_tells_its_death)
{
	struct finding f;

	trial_run(killed_by_filter, LIMIT_MS, &f);
	ck_assert_int_eq(FINDING_NO, f.state);
	ck_assert_str_eq("the trial was killed by a filter", f.value);
	ck_assert_str_ne("", f.advice);
	trial_run(killed, LIMIT_MS, &f);
	ck_assert_str_eq("the trial was killed by signal 9", f.value);
	trial_run(ends, LIMIT_MS, &f);
	ck_assert_str_eq("the trial ended with status 7", f.value);
}
END_TEST

static int is_gone(pid_t pid)
{
	for (int i = 0; i < 6000; i++) {
		if (kill(pid, 0) < 0)
			return 1;
		waitpid(pid, NULL, WNOHANG); /* it may be ours by now */
		usleep(10000);
	}
	return 0;
}

static void share(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	lingering = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(MAP_FAILED, lingering);
}

/* The child keeps the pipe open on which the finding is awaited. */
START_TEST(trial_tells_its_death_though_a_child_lives_on)
{
	struct finding f;

	share();
	trial_run(dies_before_its_child, LIMIT_MS, &f);
	ck_assert_str_eq("the trial was killed by a filter", f.value);
	ck_assert(lingering[1] > 0 && is_gone(lingering[1]));
}
END_TEST

START_TEST(trial_is_ended_in_time_with_all_its_children)
{
	struct finding f;
	double begin = seconds(), took;

	share();
	trial_run(hangs, SHORT_MS, &f);
	took = seconds() - begin;
	ck_assert_int_eq(FINDING_NO, f.state);
	ck_assert_str_eq("no answer within 2000 ms", f.value);
	ck_assert_double_ge(took, SHORT_MS / 1000.0 - 0.01);
	ck_assert_double_lt(took, SHORT_MS / 1000.0 + 30);
	ck_assert(lingering[0] > 0 && lingering[1] > 0);
	ck_assert(is_gone(lingering[0]));
	ck_assert(is_gone(lingering[1]));
}
END_TEST

START_TEST(trial_cuts_long_texts)
{
	struct finding f;

	trial_run(long_winded, LIMIT_MS, &f);
	ck_assert_uint_eq(sizeof f.value - 1, strlen(f.value));
	ck_assert_uint_eq(sizeof f.advice - 1, strlen(f.advice));
}
END_TEST

Suite *cli_trial_suite(void)
{
	Suite *s = suite_create("cli_trial");
	TCase *t = tcase_create("trial");

	tcase_set_timeout(t, 15);
	tcase_add_test(t, trial_brings_its_finding_home);
	tcase_add_test(t, trial_tells_its_death);
	tcase_add_test(t, trial_tells_its_death_though_a_child_lives_on);
	tcase_add_test(t, trial_is_ended_in_time_with_all_its_children);
	tcase_add_test(t, trial_cuts_long_texts);
	suite_add_tcase(s, t);
	return s;
}
