/* tests/guests/sig_child.c - SIGCHLD tells who ended and how: exited, killed,
 * stopped, continued; SA_NOCLDSTOP and SA_NOCLDWAIT are kept. */
#include "guest.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static volatile int n, code, status, pid;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	code = info->si_code;
	status = info->si_status;
	pid = info->si_pid;
	n++;
}

static void expect(pid_t child, int want_code, int want_status)
{
	sigset_t none;

	sigemptyset(&none);
	while (n == 0)
		sigsuspend(&none);
	n = 0;
	SAME(pid, child);
	SAME(code, want_code);
	SAME(status, want_status);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler,
			       .sa_flags = SA_SIGINFO | SA_RESTART};
	struct rlimit none = {0, 0};
	sigset_t set;
	pid_t child;
	int st;

	setrlimit(RLIMIT_CORE, &none);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	MUST(sigaction(SIGCHLD, &sa, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		child = fork();
		if (child == 0)
			_exit(40 + i);
		expect(child, CLD_EXITED, 40 + i);
		MUST(waitpid(child, &st, 0) == child);
		SAME(WEXITSTATUS(st), 40 + i);
	}
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	kill(child, SIGSTOP);
	expect(child, CLD_STOPPED, SIGSTOP);
	kill(child, SIGCONT);
	expect(child, CLD_CONTINUED, SIGCONT);
	kill(child, SIGKILL);
	expect(child, CLD_KILLED, SIGKILL);
	MUST(waitpid(child, &st, 0) == child);
	sa.sa_flags |= SA_NOCLDWAIT;
	MUST(sigaction(SIGCHLD, &sa, NULL) == 0);
	child = fork();
	if (child == 0)
		_exit(0);
	SAME(waitpid(child, &st, 0), -1); /* it leaves nothing behind */
	SAME(errno, ECHILD);
	return guest_end();
}
