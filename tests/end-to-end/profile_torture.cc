// tests/end-to-end/profile_torture.cc SECONDS - unwind_work.cc in two threads,
// for so much CPU time.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <thread>

extern "C" long work_until(const volatile int *done, unsigned seed);

static volatile int done;

static double used()
{
	timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) +
	       static_cast<double>(t.tv_nsec) * 1e-9;
}

int main(int argc, char **argv)
{
	const double end = argc > 1 ? atof(argv[1]) : 1;
	const timespec pause = {0, 5000000};
	std::thread one(work_until, &done, 7919u), two(work_until, &done, 104729u);

	while (used() < end)
		nanosleep(&pause, nullptr);
	done = 1;
	one.join();
	two.join();
	puts("ok");
}
