/* tests/guests/sig_action.c - sigaction gives back what was set, for all 64
 * signals, with flags and mask; the unchangeable two refuse. */
#include "guest.h"
#include <signal.h>

static void handler(int sig)
{
	(void)sig;
}

static void info(int sig, siginfo_t *i, void *c)
{
	(void)sig;
	(void)i;
	(void)c;
}

int main(void)
{
	int used = 0;

	for (int sig = 1; sig <= 64; sig++) {
		struct sigaction sa = {.sa_flags = SA_RESTART | SA_ONSTACK},
				 old;

		if (sig >= 32 && sig < SIGRTMIN)
			continue; /* the C library's own */
		sigemptyset(&sa.sa_mask);
		sigaddset(&sa.sa_mask, sig % 31 + 1);
		sa.sa_handler = handler;
		if (sig == SIGKILL || sig == SIGSTOP) {
			SAME(sigaction(sig, &sa, NULL), -1);
			SAME(errno, EINVAL);
			SAME(sigaction(sig, NULL, &old), 0);
			SAME(old.sa_handler, SIG_DFL);
			continue;
		}
		MUST(sigaction(sig, &sa, NULL) == 0);
		sa.sa_sigaction = info;
		sa.sa_flags = SA_SIGINFO | SA_NODEFER;
		MUST(sigaction(sig, &sa, &old) == 0);
		SAME(old.sa_handler, handler);
		SAME(old.sa_flags & ~0x04000000, SA_RESTART | SA_ONSTACK);
		for (int k = 1; k <= 64; k++)
			SAME(sigismember(&old.sa_mask, k) == 1,
			     k == sig % 31 + 1 && k != SIGKILL && k != SIGSTOP);
		MUST(sigaction(sig, NULL, &old) == 0);
		SAME(old.sa_sigaction, info);
		SAME(old.sa_flags & ~0x04000000, SA_SIGINFO | SA_NODEFER);
		signal(sig, SIG_IGN);
		MUST(sigaction(sig, NULL, &old) == 0);
		SAME(old.sa_handler, SIG_IGN);
		used++;
	}
	SAME(used, 60);
	return guest_end();
}
