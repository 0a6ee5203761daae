/* tests/guests/back_far_unmap.c - memory that is never touched is unmapped,
 * some 2 GiB from memory that was just written: where loads of the one would be
 * marked, there are the marks of stores of the other. */
#include "guest.h"
#include <stdint.h>
#include <sys/mman.h>

enum { LEN = 1 << 16, ROUNDS = 400 };
/* What replay marks apart: OBSERVE_STORED. */
static const uint64_t distance = 0x80002a00;

static volatile char *map_at(uint64_t address)
{
	void *at =
	    mmap((void *)address, LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	MUST(at == (void *)address);
	return at;
}

int main(void)
{
	const uint64_t near = 0x10000000;
	volatile char *written = map_at(near);
	unsigned sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		map_at((near + distance) & ~0xfffull);
		for (int k = 0; k < LEN; k += 512)
			written[k + i] = (char)(i + k);
		munmap((void *)((near + distance) & ~0xfffull), LEN);
	}
	for (int k = 0; k < LEN; k += 512)
		sum += (unsigned char)written[k];
	SAME(sum, 0);
	return guest_end();
}
