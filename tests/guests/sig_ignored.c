/* tests/guests/sig_ignored.c - an ignored signal interrupts nothing: not a
 * read, not a sleep, and is never pending unless blocked. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

int main(void)
{
	struct itimerval t = {{0, 300}, {0, 300}}, never = {{0}};
	struct timespec nap = {0, 5000000};
	sigset_t set, pending;
	int p[2];
	char c = 0;
	pid_t pid;

	signal(SIGALRM, SIG_IGN);
	MUST(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		usleep(10000);
		_exit(write(p[1], "x", 1) != 1);
	}
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	SAME(read(p[0], &c, 1), 1);
	SAME(c, 'x');
	SAME(nanosleep(&nap, NULL), 0);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	raise(SIGALRM);
	sigpending(&pending);
	SAME(sigismember(&pending, SIGALRM), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGALRM);
	sigpending(&pending);
	SAME(sigismember(&pending, SIGALRM), 1);
	waitpid(pid, NULL, 0);
	return guest_end();
}
