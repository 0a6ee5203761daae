// build: -mcmodel=large -static -Wl,--no-relax,-Ttext-segment=0x600000000000
/* tests/guests/code_base_middle.c - a program linked to the middle of the
 * address space, with 64-bit addresses in its instructions. */
#include "guest.h"
#include <signal.h>

extern const char __executable_start[];
static volatile int n;

static void handler(int sig)
{
	n += sig;
}

int main(void)
{
	SAME((uint64_t)__executable_start, 0x600000000000);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	SAME(n, SIGUSR1);
	return guest_end();
}
