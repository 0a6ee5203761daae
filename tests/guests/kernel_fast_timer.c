/* tests/guests/kernel_fast_timer.c - a timer that comes every 20 us leaves the
 * program enough time to get on. */
#include "guest.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

int main(void)
{
	struct itimerval often = {{0, 20}, {0, 20}}, never = {{0, 0}, {0, 0}};
	uint64_t x = 1;

	signal(SIGALRM, on_alarm);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 1000 || ticks < 1000; i++)
		for (int j = 0; j < 100; j++)
			guest_random(&x);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(ticks >= 1000);
	return guest_end();
}
