/* tests/guests/thread_sent_fault.c - fault signals that are sent to a process
 * whose threads block them: the thread that waits for them gets them, though
 * others compute, sleep or are joined; one that is sent to a thread stays with
 * it; one thread that opens its mask gets what was sent to the process. */
#include "guest.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

static const int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
enum { N_SIGS = sizeof sigs / sizeof *sigs };

static volatile int is_over, got;
static sigset_t all;
static __thread volatile int caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

static void *compute(void *arg)
{
	volatile unsigned long n = 0;

	while (!is_over)
		n++;
	return arg;
}

static void *doze(void *arg)
{
	struct timespec t = {0, 5000000};

	while (!is_over)
		SAME(nanosleep(&t, NULL), 0);
	return arg;
}

static void *by_wait(void *arg)
{
	for (int i = 0; i < N_SIGS; i++) {
		int sig = 0;

		SAME(sigwait(&all, &sig), 0);
		SAME(sig, sigs[i]);
		got++;
	}
	return arg;
}

static void *by_fd(void *arg)
{
	int fd = signalfd(-1, &all, SFD_CLOEXEC);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct signalfd_siginfo s;

	MUST(fd >= 0);
	for (int i = 0; i < N_SIGS; i++) {
		if (i % 2 == 0)
			SAME(poll(&p, 1, -1), 1);
		SAME(read(fd, &s, sizeof s), (long)sizeof s);
		SAME(s.ssi_signo, (unsigned)sigs[i]);
		got++;
	}
	close(fd);
	return arg;
}

/* f waits; signals are sent one by one, each before f waits for the next one
 * or while it does. */
static void received(void *(*f)(void *))
{
	pthread_t t;

	got = 0;
	MUST(pthread_create(&t, NULL, f, NULL) == 0);
	for (int i = 0; i < N_SIGS; i++) {
		SAME(kill(getpid(), sigs[i]), 0);
		while (got == i)
			usleep(100);
	}
	SAME(pthread_join(t, NULL), 0);
}

static void *open_mask(void *arg)
{
	SAME(pthread_sigmask(SIG_UNBLOCK, &all, NULL), 0);
	SAME(caught, N_SIGS);
	return arg;
}

/* Nothing waits: they wait for the first that opens its mask, unless they are
 * for one thread. */
static void pending(void)
{
	struct timespec now = {0, 0};
	sigset_t set;
	pthread_t t;

	for (int i = 0; i < N_SIGS; i++)
		SAME(pthread_kill(pthread_self(), sigs[i]), 0);
	MUST(pthread_create(&t, NULL, by_wait, NULL) == 0);
	for (int i = 0; i < N_SIGS; i++) {
		got = i;
		SAME(kill(getpid(), sigs[i]), 0);
		while (got == i)
			usleep(100);
	}
	SAME(pthread_join(t, NULL), 0);
	for (int i = 0; i < N_SIGS; i++) {
		MUST(sigpending(&set) == 0);
		SAME(sigismember(&set, sigs[i]), 1);
		sigemptyset(&set);
		sigaddset(&set, sigs[i]);
		SAME(sigtimedwait(&set, NULL, &now), sigs[i]);
		SAME(sigtimedwait(&set, NULL, &now), -1);
	}
}

static void opened(void)
{
	pthread_t t;

	for (int i = 0; i < N_SIGS; i++)
		SAME(kill(getpid(), sigs[i]), 0);
	MUST(pthread_create(&t, NULL, open_mask, NULL) == 0);
	SAME(pthread_join(t, NULL), 0);
	SAME(caught, 0);
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	pthread_t t[2];

	alarm(100);
	sigemptyset(&all);
	for (int i = 0; i < N_SIGS; i++) {
		sigaddset(&all, sigs[i]);
		MUST(sigaction(sigs[i], &act, NULL) == 0);
	}
	MUST(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
	MUST(pthread_create(&t[0], NULL, compute, NULL) == 0);
	MUST(pthread_create(&t[1], NULL, doze, NULL) == 0);
	received(by_wait);
	received(by_fd);
	pending();
	opened();
	is_over = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return guest_end();
}
