/* tests/guests/sig_wait_all.c - a thread that blocks all signals and waits for
 * them, as daemons do: it receives those that were sent, and no others. */
#include "guest.h"
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

enum { TIMES = 60000, EVERY = 11 }; /* odd: both ways of by_wait() */

static sigset_t all;

/* With and without a place for what is known of it. */
static void by_wait(int i)
{
	static const struct timespec none;
	siginfo_t info = {.si_code = 77};
	int sig = sigtimedwait(&all, i % 2 ? &info : NULL, &none);

	if (i % EVERY != 0) {
		SAME(sig, -1);
		return;
	}
	SAME(sig, SIGTRAP);
	if (i % 2)
		SAME(info.si_code, SI_USER);
}

static void by_fd(int fd, int i)
{
	struct signalfd_siginfo s[2];
	long n = read(fd, s, sizeof s);

	if (i % EVERY != 0) {
		SAME(n, -1);
		SAME(errno, EAGAIN);
		return;
	}
	SAME(n, (long)sizeof *s);
	SAME(s->ssi_signo, (unsigned)SIGTRAP);
	SAME(s->ssi_code, SI_USER);
}

int main(void)
{
	int fd;

	alarm(100);
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	MUST(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
	fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	MUST(fd >= 0);
	for (int i = 1; i <= TIMES; i++) {
		if (i % EVERY == 0)
			SAME(kill(getpid(), SIGTRAP), 0);
		by_wait(i);
		if (i % EVERY == 0)
			SAME(kill(getpid(), SIGTRAP), 0);
		by_fd(fd, i);
	}
	return guest_end();
}
