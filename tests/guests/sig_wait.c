/* tests/guests/sig_wait.c - sigwait, sigwaitinfo and sigtimedwait take signals
 * without a handler: the lowest first, with sender and value; a time-out is
 * EAGAIN, another signal's handler is EINTR. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

int main(void)
{
	struct timespec soon = {0, 2000000}, zero = {0, 0}, ages = {100, 0};
	struct itimerval t = {{0, 4000}, {0, 4000}}, never = {{0}};
	siginfo_t info;
	sigset_t set, now;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 3);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	signal(SIGUSR1, handler);
	for (int i = 0; i < 50; i++) {
		kill(getpid(), SIGUSR2);
		kill(getpid(), SIGUSR1);
		SAME(sigwait(&set, &sig), 0);
		SAME(sig, SIGUSR1);
		SAME(sigwaitinfo(&set, &info), SIGUSR2);
		SAME(info.si_code, SI_USER);
		SAME(info.si_pid, getpid());
		SAME(info.si_uid, getuid());
		sigqueue(getpid(), SIGRTMIN + 3,
			 (union sigval){.sival_int = i});
		SAME(sigtimedwait(&set, &info, &zero), SIGRTMIN + 3);
		SAME(info.si_code, SI_QUEUE);
		SAME(info.si_value.sival_int, i);
		SAME(sigtimedwait(&set, &info, i ? &zero : &soon), -1);
		SAME(errno, EAGAIN);
	}
	SAME(n, 0); /* no handler ran */
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &t, NULL);
	SAME(sigtimedwait(&set, &info, &ages), -1);
	SAME(errno, EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(n > 0);
	sigprocmask(SIG_BLOCK, NULL, &now);
	SAME(sigismember(&now, SIGUSR1), 1);
	return guest_end();
}
