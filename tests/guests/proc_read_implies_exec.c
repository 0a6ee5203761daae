/* tests/guests/proc_read_implies_exec.c - with the personality of old programs
 * all that may be read may be executed: code in malloc's memory, on the stack
 * and in static data runs. */
#include "guest.h"
#include <sys/personality.h>

static uint8_t data[64];

static void try(uint8_t *p, uint32_t v)
{
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	memcpy(p + 1, &v, 4);
	asm volatile("" ::: "memory");
	SAME(((uint32_t(*)(void))p)(), v);
}

int main(int argc, char **argv)
{
	uint8_t local[64], *p;

	if (argc == 1) {
		if (personality(READ_IMPLIES_EXEC) == -1)
			guest_absent("kernel");
		execl("/proc/self/exe", argv[0], "again", NULL);
		return 1;
	}
	if (!(personality(0xffffffff) & READ_IMPLIES_EXEC)) {
		/* an exec may clear it: ask again, for what comes now */
		MUST(personality(READ_IMPLIES_EXEC) != -1);
	}
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	for (uint32_t i = 0; i < 100; i++)
		try(p, i);
	MUST(mprotect((void *)((uint64_t)data & ~4095ull), 4096,
		      PROT_READ | PROT_WRITE) == 0);
	MUST(mprotect((void *)((uint64_t)local & ~4095ull), 4096,
		      PROT_READ | PROT_WRITE) == 0);
	for (uint32_t i = 0; i < 100; i++) {
		try(data, i);
		try(local, i);
	}
	return guest_end();
}
