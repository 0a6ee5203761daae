/* tests/unit/native_storm_test.c - as many signals as can be had, while
 * probes are hit. */
#include "native_program.h"

#include <check.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static pid_t storm_tid;
static volatile int storm_ends;

/* With rests: handlers that are interrupted before they come to anything, for
 * ever, would fill the stack of any program. */
static void *storm(void *arg)
{
	uint64_t all_signals = ~0ull;

	(void)arg;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all_signals, 0, 8);
	for (unsigned i = 0; !storm_ends; i++) {
		syscall(SYS_tgkill, getpid(), storm_tid,
			i % 3	? SIGUSR1
			: i % 2 ? SIGUSR2
				: SIGTRAP);
		for (volatile unsigned k = 0; k < i % 2000; k++)
			;
		if (i % 256 == 255)
			usleep(1000);
	}
	return NULL;
}

static pthread_t storm_begins(void)
{
	pthread_t t;
	struct itimerval every = {{0, 1000}, {0, 1000}};

	storm_tid = (pid_t)syscall(SYS_gettid);
	storm_ends = 0;
	ck_assert_int_eq(0, pthread_create(&t, NULL, storm, NULL));
	setitimer(ITIMER_REAL, &every, NULL);
	return t;
}

/* In program_text, as everything is that signals come to. */
PROGRAM static void storm_rests(pthread_t t)
{
	struct itimerval never = {0};

	storm_ends = 1;
	pthread_join(t, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	usleep(2000);
}

PROGRAM static uint64_t in_storm(uint64_t n, uint32_t *a, uint32_t *b,
				 pthread_t (*begins)(void))
{
	pthread_t t;
	uint64_t sum;

	program_mask(SIG_BLOCK, BIT(SIGALRM) | BIT(SIGUSR1) | BIT(SIGUSR2));
	t = begins();
	program_mask(SIG_SETMASK, 0);
	sum = program_trap(n, a) + program_jump(n, b);
	for (int i = 0; i < 2000; i++) {
		program_mask(SIG_BLOCK, BIT(SIGTRAP) | BIT(SIGUSR2));
		program_mask(SIG_UNBLOCK, BIT(SIGTRAP) | BIT(SIGUSR2));
	}
	storm_rests(t);
	return sum;
}

START_TEST(a_storm_of_signals_changes_nothing)
{
	struct run *a = run_new(100000, &program_probe[0]);
	struct run *b = run_new(100000, &program_probe[1]);
	static const int sigs[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGTRAP};

	program_begin();
	program_put_all();
	program_probe[1].pause = 4;
	for (int i = 0; i < 4; i++)
		program_set_action(sigs[i], program_see, SA_RESTART);
	ck_assert_uint_eq(a->n * (a->n - 1),
			  in_storm(a->n, a->done, b->done, storm_begins));
	expect_each(a->done, a->fired, a->n);
	expect_each(b->done, b->fired, b->n);
	ck_assert_uint_eq(0, seen.ours);
	ck_assert_uint_gt(seen.n, 100);
	run_free(a);
	run_free(b);
}
END_TEST

static sigjmp_buf away;
static volatile int jumps, may_jump;

PROGRAM static void jump_away(int sig, siginfo_t *info, void *context)
{
	program_see(sig, info, context);
	if (may_jump && seen.n % 3 == 0) {
		jumps++;
		siglongjmp(away, 1);
	}
}

PROGRAM static void jump_in_storm(struct run *r)
{
	static volatile uint64_t i;
	pthread_t t;

	program_set_action(SIGUSR1, jump_away, SA_NODEFER);
	t = storm_begins();
	for (i = 0; jumps < 60; i++)
		if (sigsetjmp(away, 1) == 0) {
			may_jump = 1;
			program_jump(8, r->done);
		}
	program_set_action(SIGUSR1, program_see, 0);
	storm_rests(t);
}

START_TEST(a_jump_out_of_a_handler_leaves_nothing_behind)
{
	struct run *r = run_new(8, &program_probe[1]);
	uint64_t n = 0;

	program_begin();
	program_put_all();
	program_probe[1].pause = 10;
	program_set_action(SIGUSR2, program_see, 0);
	program_set_action(SIGALRM, program_see, 0);
	program_set_action(SIGTRAP, program_see, 0);
	jump_in_storm(r);
	for (int i = 0; i < 8; i++)
		n += r->done[i];
	ck_assert_int_ge(jumps, 60);
	ck_assert_uint_eq(0, seen.ours);
	/* A probe may have fired for an instruction that was left then. */
	ck_assert_uint_ge(program_probe[1].hits, n);
	ck_assert_uint_le(program_probe[1].hits, n + (uint64_t)jumps);
	ck_assert_uint_eq(0, program_mask(SIG_BLOCK, 0));
	memset(r->done, 0, 8 * sizeof *r->done);
	program_probe[1].hits = 0;
	expect_sum(8, program_jump(8, r->done));
	ck_assert_uint_eq(8, program_probe[1].hits);
	run_free(r);
}
END_TEST

Suite *native_storm_suite(void)
{
	Suite *s = suite_create("native_storm");
	TCase *t = tcase_create("storm");

	tcase_add_test(t, a_storm_of_signals_changes_nothing);
	tcase_add_test(t, a_jump_out_of_a_handler_leaves_nothing_behind);
	suite_add_tcase(s, t);
	return s;
}
