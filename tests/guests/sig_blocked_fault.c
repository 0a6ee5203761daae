/* tests/guests/sig_blocked_fault.c - a fault whose signal is blocked kills at
 * once, handler or not. Children die of each; then the guest does. */
#include "guest.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static volatile int *volatile bad = (int *)16;

static void handler(int sig)
{
	(void)sig;
	_exit(3);
}

static void die(int sig, int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	if (how == 0) {
		signal(sig, handler);
		sigprocmask(SIG_BLOCK, &set, NULL);
	} else {
		signal(sig, SIG_IGN); /* no use either */
	}
	if (sig == SIGSEGV)
		*bad = 1;
	else if (sig == SIGILL)
		asm volatile("ud2");
	else if (sig == SIGTRAP)
		asm volatile("int3");
	else
		asm volatile("divl %0" ::"r"(0), "a"(1), "d"(0));
	_exit(4);
}

int main(void)
{
	static const int sigs[] = {SIGSEGV, SIGILL, SIGFPE, SIGTRAP};
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 8; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			die(sigs[i / 2], i & 1);
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSIGNALED(status));
		SAME(WTERMSIG(status), sigs[i / 2]);
	}
	if (guest_end() != 0)
		return 1;
	fflush(stdout);
	die(SIGSEGV, 0);
	return 2;
}
