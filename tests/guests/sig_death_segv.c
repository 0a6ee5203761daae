/* tests/guests/sig_death_segv.c - an ordinary crash, after a thousand rounds of
 * work, ends in SIGSEGV, with all that was written to stderr before. */
#include "guest.h"
#include <sys/resource.h>

static int *volatile nowhere = (int *)0x10;

int main(void)
{
	struct rlimit none = {0, 0};
	uint64_t seed = 1;

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 1000; i++)
		guest_random(&seed);
	fprintf(stderr, "last words %016lx\n", seed);
	puts("ok");
	fflush(stdout);
	return *nowhere;
}
