/* tests/guests/sig_eintr.c - calls that no flag restarts: nanosleep tells what
 * is left, poll, select, epoll_wait, pause, sigsuspend, semop and a futex
 * fail with EINTR although SA_RESTART is set. */
#include "guest.h"
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static volatile int n;
static const struct itimerval never;

static void handler(int sig)
{
	(void)sig;
	n++;
}

static void soon(void)
{
	struct itimerval t = {{0, 4000}, {0, 4000}};

	n = 0;
	errno = 0;
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

#define INTERRUPTED(call)                             \
	do {                                          \
		soon();                               \
		int rc_ = call, errno_ = errno;       \
		setitimer(ITIMER_REAL, &never, NULL); \
		SAME(rc_, -1);                        \
		SAME(errno_, EINTR);                  \
		CHECK(n > 0);                         \
	} while (0)

int main(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct timespec ages = {1000, 0}, left = {0};
	struct sembuf op = {0, -1, 0};
	struct epoll_event ev;
	int p[2], ep = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600);
	struct pollfd pf;
	uint32_t word = 1;
	sigset_t none;

	MUST(pipe(p) == 0 && ep >= 0 && sem >= 0);
	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	sigemptyset(&none);
	pf = (struct pollfd){.fd = p[0], .events = POLLIN};
	INTERRUPTED(nanosleep(&ages, &left));
	CHECK(left.tv_sec > 0 && left.tv_sec < 1000);
	INTERRUPTED(poll(&pf, 1, 1000000));
	INTERRUPTED(ppoll(&pf, 1, &ages, NULL));
	INTERRUPTED(select(0, NULL, NULL, NULL, &(struct timeval){1000, 0}));
	INTERRUPTED(epoll_wait(ep, &ev, 1, 1000000));
	INTERRUPTED(pause());
	INTERRUPTED(sigsuspend(&none));
	INTERRUPTED(semop(sem, &op, 1));
	INTERRUPTED((int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &ages,
				 NULL, 0));
	semctl(sem, 0, IPC_RMID);
	return guest_end();
}
