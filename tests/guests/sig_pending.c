/* tests/guests/sig_pending.c - blocked signals are pending and come when they
 * are opened, before sigprocmask returns; ignoring one throws it away. */
#include "guest.h"
#include <signal.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

int main(void)
{
	sigset_t set, pending, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	for (int i = 0; i < 100; i++) {
		n = 0;
		sigprocmask(SIG_BLOCK, &set, &old);
		SAME(sigismember(&old, SIGUSR1), 0);
		kill(getpid(), SIGUSR1);
		raise(SIGUSR2);
		SAME(n, 0);
		sigpending(&pending);
		SAME(sigismember(&pending, SIGUSR1), 1);
		SAME(sigismember(&pending, SIGUSR2), 1);
		SAME(sigismember(&pending, SIGHUP), 0);
		signal(SIGUSR2, SIG_IGN);
		sigpending(&pending);
		SAME(sigismember(&pending, SIGUSR2), 0);
		signal(SIGUSR2, handler);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		SAME(n, 1);
		sigpending(&pending);
		SAME(sigismember(&pending, SIGUSR1), 0);
	}
	/* neither can be blocked */
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigprocmask(SIG_BLOCK, NULL, &old);
	SAME(sigismember(&old, SIGKILL), 0);
	SAME(sigismember(&old, SIGSTOP), 0);
	SAME(sigismember(&old, SIGRTMAX), 1);
	return guest_end();
}
