/* tests/guests/sig_fork.c - a fork keeps handlers, mask and alternate stack,
 * but not what is pending, nor timers. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

static int child(void)
{
	sigset_t pending, now, none;
	struct itimerval t;

	sigpending(&pending);
	SAME(sigismember(&pending, SIGUSR1), 0);
	sigprocmask(SIG_BLOCK, NULL, &now);
	SAME(sigismember(&now, SIGUSR1), 1);
	getitimer(ITIMER_REAL, &t);
	SAME(t.it_value.tv_sec, 0);
	raise(SIGUSR1);
	SAME(n, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	SAME(n, 1);
	return guest_wrong;
}

int main(void)
{
	struct itimerval t = {{0, 0}, {100, 0}};
	sigset_t set;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	signal(SIGUSR1, handler);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	setitimer(ITIMER_REAL, &t, NULL);
	pid = fork();
	if (pid == 0)
		_exit(child());
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	SAME(n, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	SAME(n, 1);
	return guest_end();
}
