/* tests/guests/code_blocked_read.c - a thread waits in read, recv and
 * epoll_wait for data that will land in a page whose code is run meanwhile: the
 * calls succeed, and the code they bring runs. */
#include "guest.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static uint8_t *p;
static int fd[2], s[2], ep;

static void *waits(void *arg)
{
	long how = (long)arg;

	if (how == 0)
		SAME(read(fd[0], p + 1, 4), 4);
	else if (how == 1)
		SAME(recv(s[0], p + 1, 4, MSG_WAITALL), 4);
	else
		SAME(epoll_wait(ep, (struct epoll_event *)(p + 512), 1, 100000),
		     1);
	return NULL;
}

int main(void)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = 77};
	uint32_t (*f)(void);

	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ep = epoll_create1(0);
	MUST(p != MAP_FAILED && ep >= 0 && pipe(fd) == 0 &&
	     socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	f = (uint32_t(*)(void))p;
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	for (uint32_t i = 1; i <= 12; i++) {
		uint32_t before, v = i * 1000;
		long how = i % 3;
		pthread_t t;

		memcpy(&before, p + 1, 4);
		MUST(pthread_create(&t, NULL, waits, (void *)how) == 0);
		usleep(2000);
		for (int k = 0; k < 100; k++)
			SAME(f(), before);
		if (how == 0) {
			MUST(write(fd[1], &v, 4) == 4);
		} else if (how == 1) {
			MUST(write(s[1], &v, 2) == 2);
			SAME(f() == before ||
				 f() == ((before & ~0xffffu) | (v & 0xffff)),
			     1);
			MUST(write(s[1], (char *)&v + 2, 2) == 2);
		} else {
			MUST(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &e) == 0);
			MUST(write(fd[1], "x", 1) == 1);
		}
		pthread_join(t, NULL);
		if (how < 2) {
			SAME(f(), v);
		} else {
			char c;

			SAME(((struct epoll_event *)(p + 512))->data.u64, 77);
			SAME(f(), before);
			MUST(read(fd[0], &c, 1) == 1);
			epoll_ctl(ep, EPOLL_CTL_DEL, fd[0], &e);
		}
	}
	return guest_end();
}
