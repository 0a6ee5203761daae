/* tests/guests/sig_defaults.c - the default action of every signal: a child
 * sends each to itself; it ends by it, stops, or goes on. */
#include "guest.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char fate(int sig)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(sig, SIG_DFL);
		raise(sig);
		_exit(0);
	}
	MUST(waitpid(pid, &status, WUNTRACED) == pid);
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		MUST(waitpid(pid, &status, 0) == pid);
		return 's';
	}
	if (WIFSIGNALED(status)) {
		SAME(WTERMSIG(status), sig);
		return 'k';
	}
	return status == 0 ? '-' : '?';
}

int main(void)
{
	/* terminal stops depend on the session, so those are not asked */
	static const int skip[] = {SIGTSTP, SIGTTIN, SIGTTOU, 32, 33};
	struct rlimit none = {0, 0};
	char out[80] = "";

	setrlimit(RLIMIT_CORE, &none);
	for (int sig = 1; sig <= 64; sig++) {
		char c = '.';

		for (unsigned i = 0; i < sizeof skip / sizeof skip[0]; i++)
			if (skip[i] == sig)
				c = 0;
		out[sig - 1] = c ? fate(sig) : '.';
	}
	puts(out);
	CHECK(strncmp(out, "kkkkkkkkkkkkkkkk--s...-kkkkk-kk", 22) == 0);
	return guest_end();
}
