/* tests/lossless/random.c - the same numbers on every machine. */
#include "lossless/gen.h"

static __thread uint64_t seed_now = 1;

void random_seed(uint64_t seed)
{
	seed_now = seed * 0x9e3779b97f4a7c15U + 1;
}

/* xorshift64* */
uint64_t random_next(void)
{
	seed_now ^= seed_now >> 12;
	seed_now ^= seed_now << 25;
	seed_now ^= seed_now >> 27;
	return seed_now * 0x2545f4914f6cdd1dU;
}

unsigned random_below(unsigned n)
{
	return (unsigned)((random_next() >> 32) % n);
}
