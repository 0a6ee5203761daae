/* tests/guests/code_same_place.c - a fault's handler replaces the code it came
 * from, by other memory at the same address, and returns there: the new code
 * runs from that very instruction on. */
#include "guest.h"
#include <signal.h>

static uint8_t *p;
static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
	MUST(munmap(p, 4096) == 0);
	MUST(mmap(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	memset(p, 0x90, 64);
	memcpy(p + 40, "\xb8\x37\x13\0\0\xc3", 6);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};

	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED && sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		/* nops, then a load from nowhere, then more */
		memset(p, 0x90, 64);
		memcpy(p + 8, "\x31\xc0\x8b\x00", 4); /* mov (rax), eax */
		memcpy(p + 12, "\xb8\x01\0\0\0\xc3", 6);
		SAME(((int (*)(void))p)(), 0x1337);
		SAME(n, i + 1);
	}
	return guest_end();
}
