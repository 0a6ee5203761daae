/* tests/guests/sig_newborn.c - a signal that is sent to a child the moment it
 * is born is not lost, and not taken for one of its parent's. */
#include "guest.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { TIMES = 25, PATIENCE = 60 };

static void one(int sig)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(PATIENCE);
		for (;;)
			pause();
	}
	MUST(kill(pid, sig) == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFSIGNALED(status));
	SAME(WTERMSIG(status), sig);
}

int main(void)
{
	static const int sigs[] = {SIGILL, SIGTRAP, SIGBUS,  SIGFPE, SIGSEGV,
				   SIGSYS, SIGQUIT, SIGTERM, SIGXCPU};
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	for (unsigned i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		signal(sigs[i], SIG_DFL); /* a shell's `&` ignores SIGQUIT */
		for (int k = 0; k < TIMES && !guest_wrong; k++)
			one(sigs[i]);
	}
	return guest_end();
}
