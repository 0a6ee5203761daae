/* tests/guests/sig_virtual_timers.c - ITIMER_VIRTUAL and ITIMER_PROF fire while
 * the program computes; alarm and getitimer tell what is left. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>

static volatile int virtual, prof;

static void on_virtual(int sig)
{
	(void)sig;
	virtual ++;
}

static void on_prof(int sig)
{
	(void)sig;
	prof++;
}

int main(void)
{
	struct itimerval t = {{0, 2000}, {0, 2000}}, never = {{0}}, left;
	volatile uint64_t work = 0;

	signal(SIGVTALRM, on_virtual);
	signal(SIGPROF, on_prof);
	MUST(setitimer(ITIMER_VIRTUAL, &t, NULL) == 0);
	MUST(setitimer(ITIMER_PROF, &t, NULL) == 0);
	for (uint64_t i = 0; (virtual < 3 || prof < 3) && i < 20000000000; i++)
		work += i;
	CHECK(virtual >= 3);
	CHECK(prof >= 3);
	MUST(setitimer(ITIMER_VIRTUAL, &never, NULL) == 0);
	MUST(setitimer(ITIMER_PROF, &never, &left) == 0);
	SAME(left.it_interval.tv_usec, 2000);
	SAME(alarm(100), 0);
	getitimer(ITIMER_REAL, &left);
	CHECK(left.it_value.tv_sec >= 90);
	CHECK(alarm(0) >= 90);
	return guest_end();
}
