/* tests/guests/sig_return_mask.c - a handler that edits uc_sigmask decides what
 * is blocked afterwards; what it does by sigprocmask is undone. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static volatile int block, n;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	sigset_t hup;

	(void)sig;
	(void)info;
	n++;
	if (block)
		sigaddset(&uc->uc_sigmask, SIGUSR2);
	else
		sigdelset(&uc->uc_sigmask, SIGUSR2);
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	sigprocmask(SIG_BLOCK, &hup, NULL);
}

static void other(int sig)
{
	(void)sig;
	n += 100;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t now;

	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	signal(SIGUSR2, other);
	for (int i = 0; i < 50; i++) {
		n = 0;
		block = 1;
		raise(SIGUSR1);
		sigprocmask(SIG_BLOCK, NULL, &now);
		SAME(sigismember(&now, SIGUSR2), 1);
		SAME(sigismember(&now, SIGHUP), 0);
		SAME(sigismember(&now, SIGUSR1), 0);
		raise(SIGUSR2);
		SAME(n, 1);
		block = 0;
		raise(SIGUSR1); /* opening it delivers what waits */
		SAME(n, 102);
		sigprocmask(SIG_BLOCK, NULL, &now);
		SAME(sigismember(&now, SIGUSR2), 0);
	}
	return guest_end();
}
