/* tests/guests/sig_ppoll.c - ppoll, pselect and epoll_pwait swap the mask only
 * for their own time: a pending signal ends them at once, with EINTR. */
#include "guest.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

int main(void)
{
	struct timespec ten = {10, 0}, zero = {0, 0};
	sigset_t set, open, now;
	struct epoll_event ev;
	int ep = epoll_create1(0);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(ep >= 0 && sigprocmask(SIG_BLOCK, &set, &open) == 0);
	signal(SIGUSR1, handler);
	for (int i = 0; i < 50; i++) {
		n = 0;
		kill(getpid(), SIGUSR1);
		SAME(n, 0);
		SAME(ppoll(NULL, 0, &zero, &set), 0);
		SAME(n, 0);
		SAME(ppoll(NULL, 0, &ten, &open), -1);
		SAME(errno, EINTR);
		SAME(n, 1);
		kill(getpid(), SIGUSR1);
		SAME(pselect(0, NULL, NULL, NULL, &ten, &open), -1);
		SAME(errno, EINTR);
		SAME(n, 2);
		kill(getpid(), SIGUSR1);
		SAME(epoll_pwait(ep, &ev, 1, 10000, &open), -1);
		SAME(errno, EINTR);
		SAME(n, 3);
		sigprocmask(SIG_BLOCK, NULL, &now);
		SAME(sigismember(&now, SIGUSR1), 1);
	}
	return guest_end();
}
