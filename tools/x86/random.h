/* tools/x86/random.h - a small generator of random numbers (xorshift64*).
 *
 * Programs that test print or fix their seed, so that a failure can be had
 * again. */
#ifndef X86_RANDOM_H
#define X86_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state; /* never 0 */
};

static inline uint64_t rng_next(struct rng *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1du;
}

/* 0 .. n-1, n below 2^32 */
static inline unsigned rng_below(struct rng *r, unsigned n)
{
	return (unsigned)((rng_next(r) >> 32) * n >> 32);
}

static inline void rng_fill(struct rng *r, void *out, size_t len)
{
	uint8_t *p = out;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t x = rng_next(r);

		__builtin_memcpy(p, &x, 8);
	}
	for (; len > 0; len--)
		*p++ = (uint8_t)(rng_next(r) >> 40);
}

#endif
