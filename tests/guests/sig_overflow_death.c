/* tests/guests/sig_overflow_death.c - a stack that overflows without an
 * alternate one kills, although there is a handler: it cannot be called. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static void handler(int sig)
{
	(void)sig;
	puts("must not run");
	_exit(3);
}

static int deeper(int depth)
{
	volatile char room[1024];

	room[0] = (char)depth;
	return depth < 0 ? 0 : deeper(depth + 1) + room[0];
}

int main(void)
{
	struct rlimit small = {256 << 10, 256 << 10}, none = {0, 0};

	signal(SIGSEGV, handler);
	setrlimit(RLIMIT_CORE, &none);
	MUST(setrlimit(RLIMIT_STACK, &small) == 0);
	puts("ok");
	fflush(stdout);
	return deeper(0);
}
