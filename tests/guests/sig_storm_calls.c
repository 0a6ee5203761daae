/* tests/guests/sig_storm_calls.c - signals while a loop does nothing but short
 * system calls: every result is right, no call runs twice or not at all. */
#include "guest.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

int main(void)
{
	struct itimerval t = {{0, 150}, {0, 150}}, never = {{0}};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	int p[2], pid = getpid();
	long sent = 0, taken = 0;

	MUST(pipe(p) == 0 && sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	for (int i = 0; i < 20000 || n < 20; i++) {
		int v = i, w = -1;

		if (syscall(SYS_getpid) != pid)
			SAME(syscall(SYS_getpid), pid);
		/* exactly one write and one read of each number */
		if (write(p[1], &v, sizeof v) != sizeof v ||
		    read(p[0], &w, sizeof w) != sizeof w || w != i)
			SAME(w, i);
		sent++;
		taken += w == i;
		if (syscall(SYS_close, 900) != -1 || errno != EBADF)
			SAME(errno, EBADF);
	}
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	SAME(sent, taken);
	return guest_end();
}
