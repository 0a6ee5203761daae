/* tests/guests/sig_partial.c - a write to a full pipe that a signal interrupts
 * tells how much it wrote; a read of more than there is gives what there is. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 5000}, {0, 5000}}, never = {{0}};
	static char big[1 << 20];
	int p[2], size;

	MUST(pipe(p) == 0 && sigaction(SIGALRM, &sa, NULL) == 0);
	size = fcntl(p[1], F_GETPIPE_SZ);
	MUST(size > 0 && size < (int)sizeof big);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	SAME(write(p[1], big, sizeof big),
	     size); /* restarts not, it did something */
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(n > 0);
	SAME(read(p[0], big, sizeof big), size);
	return guest_end();
}
