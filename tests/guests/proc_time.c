/* tests/guests/proc_time.c - clocks never go back, agree with each other,
 * sleeps last at least as long as asked, processor time is spent by work. */
#include "guest.h"
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

static int64_t ns(clockid_t c)
{
	struct timespec t;

	MUST(clock_gettime(c, &t) == 0);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	int64_t last = 0, before, cpu;
	struct timespec t = {0, 5000000};
	struct timeval tv;
	struct rusage ru;
	volatile uint64_t work = 0;
	unsigned cpu_no, node;

	for (int i = 0; i < 2000; i++) {
		int64_t now = ns(CLOCK_MONOTONIC);

		if (now < last)
			CHECK(now >= last);
		last = now;
	}
	before = ns(CLOCK_MONOTONIC);
	SAME(nanosleep(&t, NULL), 0);
	CHECK(ns(CLOCK_MONOTONIC) - before >= 5000000);
	before = ns(CLOCK_MONOTONIC);
	SAME(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), 0);
	CHECK(ns(CLOCK_MONOTONIC) - before >= 5000000);
	cpu = ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < 3000000; i++)
		work += (uint64_t)i;
	CHECK(ns(CLOCK_PROCESS_CPUTIME_ID) > cpu);
	CHECK(ns(CLOCK_THREAD_CPUTIME_ID) > 0);
	MUST(getrusage(RUSAGE_SELF, &ru) == 0);
	CHECK(ru.ru_utime.tv_sec + ru.ru_utime.tv_usec + ru.ru_stime.tv_sec +
		  ru.ru_stime.tv_usec >
	      0);
	CHECK(ru.ru_maxrss > 0);
	MUST(gettimeofday(&tv, NULL) == 0);
	CHECK(llabs(tv.tv_sec - time(NULL)) <= 2);
	CHECK(llabs(tv.tv_sec - ns(CLOCK_REALTIME) / 1000000000) <= 2);
	MUST(getcpu(&cpu_no, &node) == 0);
	CHECK(cpu_no < 4096);
	MUST(clock_getres(CLOCK_MONOTONIC, &t) == 0);
	CHECK(t.tv_sec == 0);
	SAME(clock_gettime(12345, &t), -1);
	SAME(errno, EINVAL);
	CHECK(times(NULL) != (clock_t)-1);
	return guest_end();
}
