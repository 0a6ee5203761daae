/* tests/guests/sig_fd.c - signalfd: poll wakes, a read takes several signals at
 * once, with their senders and values; nothing is left pending. */
#include "guest.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

int main(void)
{
	struct signalfd_siginfo s[8];
	struct pollfd p;
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	p = (struct pollfd){.fd =
				signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC),
			    .events = POLLIN};
	MUST(p.fd >= 0);
	SAME(poll(&p, 1, 0), 0);
	SAME(read(p.fd, s, sizeof s), -1);
	SAME(errno, EAGAIN);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGUSR1);
		kill(getpid(), SIGUSR1); /* only one of them counts */
		for (int k = 0; k < 3; k++)
			sigqueue(getpid(), SIGRTMIN,
				 (union sigval){.sival_int = 10 * i + k});
		SAME(poll(&p, 1, 100000), 1);
		SAME(read(p.fd, s, sizeof s), 4 * sizeof s[0]);
		SAME(s[0].ssi_signo, SIGUSR1);
		SAME(s[0].ssi_code, SI_USER);
		SAME(s[0].ssi_pid, getpid());
		for (int k = 0; k < 3; k++) {
			SAME(s[1 + k].ssi_signo, SIGRTMIN);
			SAME(s[1 + k].ssi_int, 10 * i + k);
		}
		sigpending(&pending);
		SAME(sigismember(&pending, SIGUSR1), 0);
	}
	return guest_end();
}
