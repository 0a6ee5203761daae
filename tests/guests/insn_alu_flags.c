/* tests/guests/insn_alu_flags.c - add, adc, sub, sbb, cmp, and, or, xor, test,
 * inc, dec, neg, not in 8 and 32 bits, on registers and memory: all six flags
 * against a model in C. */
#include "guest.h"

uint32_t cell;

static unsigned common(uint64_t v, int bits)
{
	uint64_t m = bits == 8 ? 0xff : 0xffffffff;

	return ((v & m) == 0 ? ZF : 0) | (v >> (bits - 1) & 1 ? SF : 0) |
	       (__builtin_parity((unsigned)(v & 0xff)) ? 0 : PF);
}

static unsigned flags_add(uint64_t a, uint64_t b, uint64_t c, int bits)
{
	uint64_t s = a + b + c;

	return common(s, bits) | (s >> bits & 1 ? CF : 0) |
	       ((a ^ b ^ s) & 16 ? AF : 0) |
	       ((~(a ^ b) & (a ^ s)) >> (bits - 1) & 1 ? OF : 0);
}

static unsigned flags_sub(uint64_t a, uint64_t b, uint64_t c, int bits)
{
	uint64_t s = a - b - c;

	return common(s, bits) | (s >> bits & 1 ? CF : 0) |
	       ((a ^ b ^ s) & 16 ? AF : 0) |
	       (((a ^ b) & (a ^ s)) >> (bits - 1) & 1 ? OF : 0);
}

#define OP(text, want_value, want_flags, ignored)                        \
	do {                                                             \
		r = (struct regs){.a = a, .c = b, .f = carry | AF | OF}; \
		RUN(text " %%cl, %%al", r);                              \
		SAME(r.a, (want_value)&0xff);                            \
		SAME(r.f & ~(ignored), (want_flags) & ~(ignored));       \
	} while (0)

#define OP32(text, want_value, want_flags)                  \
	do {                                                \
		r = (struct regs){.c = B, .f = carry | ZF}; \
		cell = (uint32_t)A;                         \
		RUN(text " %%ecx, cell(%%rip)", r);         \
		SAME(cell, (uint32_t)(want_value));         \
		SAME(r.f, (want_flags));                    \
	} while (0)

static void all(uint64_t a, uint64_t b, uint64_t carry)
{
	uint64_t A = a * 0x01010101, B = b * 0x01010101;
	struct regs r;

	OP("add", a + b, flags_add(a, b, 0, 8), 0);
	OP("adc", a + b + carry, flags_add(a, b, carry, 8), 0);
	OP("sub", a - b, flags_sub(a, b, 0, 8), 0);
	OP("sbb", a - b - carry, flags_sub(a, b, carry, 8), 0);
	OP("cmp", a, flags_sub(a, b, 0, 8), 0);
	OP("and", a & b, common(a & b, 8), AF);
	OP("or", a | b, common(a | b, 8), AF);
	OP("xor", a ^ b, common(a ^ b, 8), AF);
	OP("test", a, common(a & b, 8), AF);
	OP("mov $0, %%ah\nnot %%al\nnot %%al\ninc %%al\ndec %%al\nxchg %%al, "
	   "%%cl\nxchg",
	   a, (flags_sub((a + 1) & 0xff, 1, 0, 8) & ~CF) | carry, 0);
	OP32("add", A + B, flags_add(A, B, 0, 32));
	OP32("adc", A + B + carry, flags_add(A, B, carry, 32));
	OP32("sub", A - B, flags_sub(A, B, 0, 32));
	OP32("sbb", A - B - carry, flags_sub(A, B, carry, 32));
	r = (struct regs){.a = a, .f = carry};
	RUN("negb %%al", r);
	SAME(r.a, -a & 0xff);
	SAME(r.f, flags_sub(0, a, 0, 8));
}

int main(void)
{
	static const uint8_t edges[] = {0,    1,    2,	  0x0f, 0x10,
					0x55, 0x7e, 0x7f, 0x80, 0x81,
					0xaa, 0xef, 0xfe, 0xff};

	for (unsigned i = 0; i < sizeof edges; i++)
		for (unsigned k = 0; k < sizeof edges; k++)
			for (uint64_t carry = 0; carry < 2; carry++)
				all(edges[i], edges[k], carry);
	return guest_end();
}
