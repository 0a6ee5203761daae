/* tests/guests/attach_signals.c - signals of all kinds, for as long as it
 * lives.
 *
 *   attach_signals UNTIL       (lives.h says how long)
 *
 * A timer interrupts the first thread on its alternate stack; queued signals
 * go to a thread that waits for them with a time limit; faults and traps are
 * handled. Each must come exactly once, in order, with the stack and the mask
 * that the program has set, whoever comes into the process meanwhile. */
#define _GNU_SOURCE
#include "lives.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { LAST = -1 };

static char stack[1 << 16];
static volatile sig_atomic_t n_ticks, n_traps, n_faults;
static volatile int failed;
static volatile int *volatile nowhere = (int *)64;
static sigjmp_buf behind;

static void fail(const char *what)
{
	failed = 1;
	fprintf(stderr, "attach_signals: %s: %s\n", what, strerror(errno));
}

static void tick(int sig)
{
	char here;
	stack_t is;

	(void)sig;
	n_ticks++;
	for (volatile int i = 0; i < 10000; i++)
		continue;
	if (&here < stack || &here >= stack + sizeof stack ||
	    sigaltstack(NULL, &is) != 0 || !(is.ss_flags & SS_ONSTACK))
		failed = 1;
}

static void trapped(int sig)
{
	(void)sig;
	n_traps++;
}

static void faulted(int sig)
{
	(void)sig;
	n_faults++;
	siglongjmp(behind, 1);
}

static void *waiter(void *arg)
{
	const struct timespec limit = {.tv_sec = 100};
	int n = 0;
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	for (;;) {
		if (sigtimedwait(&set, &info, &limit) != SIGRTMIN) {
			fail("sigtimedwait");
			break;
		}
		if (info.si_value.sival_int == LAST)
			break;
		if (info.si_value.sival_int != n)
			fail("the wrong one");
		n++;
	}
	*(int *)arg = n;
	return NULL;
}

static void set_up(void)
{
	stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction timer = {.sa_handler = tick,
				  .sa_flags = SA_ONSTACK | SA_RESTART};

	sigaltstack(&own, NULL);
	sigaction(SIGALRM, &timer, NULL);
	signal(SIGTRAP, trapped);
	signal(SIGSEGV, faulted);
	signal(SIGUSR1, SIG_IGN);
}

static int queue(int value)
{
	return sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = value});
}

int main(int argc, char **argv)
{
	const struct itimerval each = {{0, 1000}, {0, 1000}};
	const char *until = argc > 1 ? argv[1] : "1";
	int n_queued = 0, n_taken = 0, rounds = 0;
	pthread_t t;
	sigset_t set;

	set_up();
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, waiter, &n_taken);
	sigdelset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
	puts("ready");
	fflush(stdout);
	for (; lives(until); rounds++) {
		n_queued += queue(n_queued) == 0;
		raise(SIGTRAP);
		raise(SIGUSR1);
		if (sigsetjmp(behind, 1) == 0)
			*nowhere = 1;
		usleep(300);
	}
	while (queue(LAST) != 0)
		usleep(1000);
	pthread_join(t, NULL);
	if (n_taken != n_queued || n_traps != rounds || n_faults != rounds ||
	    n_ticks == 0)
		fail("not all came");
	puts(failed ? "failed" : "all as it should be");
	return failed;
}
