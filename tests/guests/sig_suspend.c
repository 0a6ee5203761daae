/* tests/guests/sig_suspend.c - sigsuspend opens the mask only while it waits: a
 * thousand signals from a child, each handled inside it, none outside. */
#include "guest.h"
#include <signal.h>
#include <sys/wait.h>

static volatile int n, inside, wrong;

static void handler(int sig)
{
	(void)sig;
	n++;
	if (!inside)
		wrong++;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	sigset_t block, open, now;
	int go[2], status;
	char c = 0;
	pid_t pid, me = getpid();

	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	MUST(pipe(go) == 0 && sigprocmask(SIG_BLOCK, &block, &open) == 0);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 1000; i++) {
			if (read(go[0], &c, 1) != 1)
				_exit(1);
			kill(me, SIGUSR1);
		}
		_exit(0);
	}
	for (int i = 0; i < 1000; i++) {
		MUST(write(go[1], &c, 1) == 1);
		inside = 1;
		SAME(sigsuspend(&open), -1);
		inside = 0;
		SAME(n, i + 1);
		sigprocmask(SIG_BLOCK, NULL, &now);
		if (!sigismember(&now, SIGUSR1))
			CHECK(sigismember(&now, SIGUSR1));
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	SAME(wrong, 0);
	return guest_end();
}
