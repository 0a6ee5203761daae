/* tests/guests/code_recv_once.c - numbered datagrams, messages and counters are
 * received into a page whose code has just run: each arrives once, none is
 * lost on the way. */
#include "guest.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p, *at = (void *)(p + 2048);
	struct iovec v = {at, 4};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	int s[2], ev = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK), sf;
	sigset_t set;

	MUST(p != MAP_FAILED &&
	     socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, s) == 0);
	memcpy(p, "\xb8\x09\0\0\0\xc3", 6);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sf = signalfd(-1, &set, SFD_NONBLOCK);
	for (uint32_t i = 0; i < 60; i += 3) {
		for (uint32_t k = i; k < i + 3; k++)
			MUST(write(s[1], &k, 4) == 4);
		SAME(f(), 9);
		SAME(recv(s[0], at, 4, 0), 4);
		SAME(*at, i);
		SAME(f(), 9);
		SAME(recvmsg(s[0], &m, 0), 4);
		SAME(*at, i + 1);
		SAME(f(), 9);
		SAME(read(s[0], at, 4), 4);
		SAME(*at, i + 2);
		SAME(recv(s[0], at, 4, MSG_DONTWAIT), -1);
		/* a counter and a queue of signals */
		MUST(write(ev, &(uint64_t){2}, 8) == 8);
		SAME(f(), 9);
		SAME(read(ev, at, 8), 8);
		SAME(f(), 9);
		SAME(read(ev, at, 8), 8);
		for (int k = 0; k < 2; k++)
			sigqueue(getpid(), SIGRTMIN,
				 (union sigval){.sival_int = k + 5});
		for (int k = 0; k < 2; k++) {
			struct signalfd_siginfo *si = (void *)at;

			SAME(f(), 9);
			SAME(read(sf, si, sizeof *si), sizeof *si);
			SAME(si->ssi_int, k + 5);
		}
	}
	return guest_end();
}
