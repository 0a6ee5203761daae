/* tests/guests/sig_sent_fault.c - SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP
 * sent by kill are signals like others: blockable, with the sender's pid and
 * nothing about an address; the program goes on behind them. */
#include "guest.h"
#include <signal.h>

static volatile int n, code, pid;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	n++;
	code = info->si_code;
	pid = info->si_pid;
}

int main(void)
{
	static const int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t set;

	for (int i = 0; i < 5; i++)
		MUST(sigaction(sigs[i], &sa, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		int sig = sigs[i % 5];

		n = 0;
		kill(getpid(), sig);
		SAME(n, 1);
		SAME(code, SI_USER);
		SAME(pid, getpid());
		raise(sig);
		SAME(n, 2);
		SAME(code, SI_TKILL);
		sigemptyset(&set);
		sigaddset(&set, sig);
		sigprocmask(SIG_BLOCK, &set, NULL);
		kill(getpid(), sig);
		SAME(n, 2);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		SAME(n, 3);
	}
	return guest_end();
}
