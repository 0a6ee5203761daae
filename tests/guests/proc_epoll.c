/* tests/guests/proc_epoll.c - epoll with eventfd, timerfd, pipes: level and
 * edge triggered, one-shot, data given back. */
#include "guest.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

static int ep;

static void watch(int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = {.events = events, .data.u64 = data};

	MUST(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0);
}

int main(void)
{
	struct epoll_event e[8];
	struct itimerspec when = {{0, 1000000}, {0, 1000000}};
	int ev = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK),
	    tm = timerfd_create(CLOCK_MONOTONIC, 0), p[2];
	uint64_t v = 3;

	ep = epoll_create1(EPOLL_CLOEXEC);
	MUST(ev >= 0 && tm >= 0 && ep >= 0 && pipe(p) == 0);
	watch(ev, EPOLLIN, 0x1122334455667788);
	watch(p[0], EPOLLIN | EPOLLET, 2);
	SAME(epoll_wait(ep, e, 8, 0), 0);
	MUST(write(ev, &v, 8) == 8);
	for (int i = 0; i < 3; i++) { /* level: as long as there is */
		SAME(epoll_wait(ep, e, 8, 100000), 1);
		SAME(e[0].data.u64, 0x1122334455667788);
		MUST(read(ev, &v, 8) == 8);
		SAME(v, 1);
	}
	SAME(read(ev, &v, 8), -1);
	SAME(errno, EAGAIN);
	MUST(write(p[1], "ab", 2) == 2);
	SAME(epoll_wait(ep, e, 8, 100000), 1);
	SAME(e[0].data.u64, 2);
	SAME(epoll_wait(ep, e, 8, 0), 0); /* edge: once */
	MUST(write(p[1], "c", 1) == 1);
	SAME(epoll_wait(ep, e, 8, 100000), 1);
	watch(tm, EPOLLIN | EPOLLONESHOT, 3);
	MUST(timerfd_settime(tm, 0, &when, NULL) == 0);
	SAME(epoll_wait(ep, e, 8, 100000), 1);
	SAME(e[0].data.u64, 3);
	MUST(read(tm, &v, 8) == 8);
	CHECK(v >= 1);
	SAME(epoll_wait(ep, e, 8, 5), 0);
	close(p[1]);
	SAME(epoll_wait(ep, e, 8, 100000), 1);
	CHECK(e[0].events & EPOLLHUP);
	SAME(epoll_ctl(ep, EPOLL_CTL_DEL, 900, e), -1);
	SAME(errno, EBADF);
	SAME(epoll_ctl(ep, EPOLL_CTL_ADD, ev, e), -1);
	SAME(errno, EEXIST);
	return guest_end();
}
