/* tests/guests/sig_exec.c - over exec, ignored signals stay ignored, handlers
 * become the default, the mask and what is pending stay, the alternate stack
 * is gone. */
#include "guest.h"
#include <signal.h>

static void handler(int sig)
{
	(void)sig;
}

static int after(void)
{
	struct sigaction sa;
	sigset_t now, pending;
	stack_t ss;

	sigaction(SIGUSR1, NULL, &sa);
	SAME(sa.sa_handler, SIG_IGN);
	sigaction(SIGUSR2, NULL, &sa);
	SAME(sa.sa_handler, SIG_DFL);
	sigprocmask(SIG_BLOCK, NULL, &now);
	SAME(sigismember(&now, SIGTERM), 1);
	SAME(sigismember(&now, SIGUSR2), 0);
	SAME(sigismember(&now, SIGRTMIN + 2), 1);
	sigpending(&pending);
	SAME(sigismember(&pending, SIGTERM), 1);
	SAME(sigismember(&pending, SIGHUP), 0);
	sigaltstack(NULL, &ss);
	SAME(ss.ss_flags, SS_DISABLE);
	return guest_end();
}

int main(int argc, char **argv)
{
	static char alt[65536];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
	sigset_t set;

	if (argc > 1)
		return after();
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, handler);
	sigaltstack(&ss, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGRTMIN + 2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	execl("/proc/self/exe", argv[0], "again", NULL);
	return 1;
}
