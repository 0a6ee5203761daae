/* tests/guests/insn_x87_functions.c - fsin, fcos, fsincos, fptan, fpatan,
 * f2xm1, fyl2x, fyl2xp1: all 80 bits of the processor's own answers, and C2 for
 * an argument out of range. */
#include "guest.h"

static uint64_t hash = 1;

static void add(long double v)
{
	hash = guest_hash(hash, &v, 10);
}

int main(void)
{
	long double y, z, big = 0x1p70L;
	uint16_t sw;

	for (int i = -40; i <= 40; i++) {
		long double x = i * 0.37L, u = i / 41.0L, p = i * i + 0.5L;

		asm("fsin" : "=t"(y) : "0"(x));
		add(y);
		asm("fcos" : "=t"(y) : "0"(x));
		add(y);
		asm("fsincos" : "=t"(y), "=u"(z) : "0"(x));
		add(y);
		add(z);
		CHECK(y * y + z * z > 0.999999999999L);
		asm("fptan\n\tfstp %%st(0)" : "=t"(y) : "0"(x));
		add(y);
		asm("fpatan" : "=t"(y) : "0"(x), "u"(p) : "st(1)");
		add(y);
		asm("f2xm1" : "=t"(y) : "0"(u));
		add(y);
		asm("fyl2x" : "=t"(y) : "0"(p), "u"(x) : "st(1)");
		add(y);
		asm("fyl2xp1" : "=t"(y) : "0"(u * 0.29L), "u"(x) : "st(1)");
		add(y);
	}
	asm volatile("fsin\n\tfnstsw %1" : "=t"(y), "=a"(sw) : "0"(big));
	CHECK(sw & 0x400);
	CHECK(y == big);
	printf("%016lx\n", hash);
	return guest_end();
}
