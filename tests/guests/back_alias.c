/* tests/guests/back_alias.c - two variables whose addresses have the same low
 * 32 bits, as happens by chance.
 *
 * Says: the addresses of both, and of here(); then, for each time that here()
 * was called, what they were. */
#include "guest.h"

#include <stdint.h>
#include <sys/mman.h>

enum { ROUNDS = 30, PAGE = 4096 };

static _Alignas(PAGE) uint64_t page[PAGE / 8];

__attribute__((noinline)) void here(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	uint64_t wanted = ((uint64_t)page & 0xffffffff) | 0x10000000000;
	volatile uint64_t *one = page, *two = mmap((void *)wanted, PAGE,
						   PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS |
						       MAP_FIXED_NOREPLACE,
						   -1, 0);
	uint64_t told[ROUNDS][2];

	if ((uint64_t)two != wanted)
		return 1;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		if (i % 3 != 1)
			*one = i * 0x123456789ab + 1;
		if (i % 5 != 2)
			*two = i * 0xba987654321 + 2;
		if (i % 7 == 3)
			*(volatile uint8_t *)one = 0x77;
		here();
		told[i][0] = *one;
		told[i][1] = *two;
	}
	printf("%p %p %p\n", (void *)one, (void *)two, (void *)here);
	for (unsigned i = 0; i < ROUNDS; i++)
		printf("%llx %llx\n", (unsigned long long)told[i][0],
		       (unsigned long long)told[i][1]);
	return 0;
}
