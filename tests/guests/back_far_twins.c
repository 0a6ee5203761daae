/* tests/guests/back_far_twins.c - memory some 2 GiB from other memory, both
 * read and written: where loads of the one would be marked in one map, there
 * are the marks of stores of the other. Now and then it is unmapped, and mapped
 * again. */
#include "guest.h"
#include <stdint.h>
#include <sys/mman.h>

enum { LEN = 1 << 16, ROUNDS = 400, STEP = 512 };
/* What replay marks apart: OBSERVE_STORED. */
static const uint64_t distance = 0x80002a00;

static volatile unsigned char *map_at(uint64_t address)
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
	const uint64_t far = (near + distance) & ~0xfffull;
	volatile unsigned char *low = map_at(near), *high = map_at(far);
	unsigned sum = 0, want = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned char byte = (unsigned char)(3 * i + 1);

		for (unsigned k = i % STEP; k < LEN; k += STEP) {
			low[k] = byte;
			high[k] = (unsigned char)(low[k] + high[k]);
		}
		sum += low[i % STEP];
		want += byte;
		if (i % 64 == 63) {
			munmap((void *)high, LEN);
			high = map_at(far);
		}
	}
	SAME(sum, want);
	return guest_end();
}
