/* tests/guests/insn_mul_div.c - mul, imul, div and idiv of 8, 16, 32 and 64
 * bits, each with its implicit registers, against C. */
#include "guest.h"

static void wide(uint64_t a, uint64_t b)
{
	unsigned __int128 u = (unsigned __int128)a * b;
	__int128 s = (__int128)(int64_t)a * (int64_t)b;
	struct regs r = {.a = a, .c = b};

	RUN("mul %%rcx", r);
	SAME(r.a, (uint64_t)u);
	SAME(r.d, (uint64_t)(u >> 64));
	SAME(r.f & (CF | OF), u >> 64 ? CF | OF : 0);
	if (b != 0) { /* and back */
		RUN("div %%rcx", r);
		SAME(r.a, a);
		SAME(r.d, 0);
	}
	r = (struct regs){.a = a, .c = b};
	RUN("imul %%rcx", r);
	SAME(r.a, (uint64_t)s);
	SAME(r.d, (uint64_t)(s >> 64));
	SAME(r.f & (CF | OF), s != (int64_t)s ? CF | OF : 0);
	r = (struct regs){.a = a, .c = b};
	RUN("imul %%ecx, %%eax", r);
	SAME(r.a, (uint32_t)a * (uint32_t)b);
	if ((int64_t)b > 0) {
		r = (struct regs){.a = a, .c = b};
		RUN("cqto\nidiv %%rcx", r);
		SAME(r.a, (int64_t)a / (int64_t)b);
		SAME(r.d, (int64_t)a % (int64_t)b);
	}
}

static void small(uint64_t a, uint64_t b)
{
	struct regs r = {.a = a, .c = b, .d = -1ull};
	uint16_t p = (uint16_t)((uint8_t)a * (uint8_t)b);

	RUN("mul %%cl", r);
	SAME(r.a, (a & ~0xffffull) | p);
	SAME(r.d, -1ull); /* the byte form leaves rdx alone */
	r = (struct regs){.a = a, .c = b, .d = -1ull};
	RUN("imul %%cx", r);
	SAME(r.a & 0xffff, (uint16_t)((int16_t)a * (int16_t)b));
	SAME(r.d, (-1ull & ~0xffffull) |
		      (uint16_t)(((int16_t)a * (int16_t)b) >> 16));
	r = (struct regs){.a = a, .c = b, .d = -1ull};
	RUN("mul %%ecx", r);
	SAME(r.d, (uint64_t)(uint32_t)a * (uint32_t)b >> 32);
	if ((uint8_t)b > (uint8_t)(a >> 8)) {
		r = (struct regs){.a = a, .c = b};
		RUN("div %%cl", r); /* ah: remainder */
		SAME(r.a & 0xff, (uint16_t)a / (uint8_t)b);
		SAME(r.a >> 8 & 0xff, (uint16_t)a % (uint8_t)b);
	}
}

int main(void)
{
	uint64_t seed = 3;

	for (int i = 0; i < 500; i++) {
		uint64_t a = guest_random(&seed), b = guest_random(&seed);

		wide(a, b);
		wide(a >> (i & 63), b >> (i / 7 & 63));
		wide(-a, 1);
		small(a, b);
	}
	return guest_end();
}
