/* tests/guests/insn_shift.c - shifts and rotates by every count from 0 to 63 in
 * each size against a model in C; a count of zero leaves every flag alone,
 * whether it is an immediate or in cl. */
#include "guest.h"

static uint64_t mask_of(int bits)
{
	return bits == 64 ? -1ull : (1ull << bits) - 1;
}

enum op { SHL, SHR, SAR, ROL, ROR, RCL, RCR };

/* One bit at a time, as the manual writes it. */
static uint64_t model(enum op op, int bits, uint64_t v, int n, int *cf)
{
	uint64_t m = mask_of(bits), top = 1ull << (bits - 1), out;

	v &= m;
	n &= bits == 64 ? 63 : 31;
	for (; n > 0; n--) {
		out = op == SHL || op == ROL || op == RCL ? !!(v & top) : v & 1;
		switch (op) {
		case SHL:
			v = v << 1;
			break;
		case SHR:
			v = v >> 1;
			break;
		case SAR:
			v = v >> 1 | (v & top);
			break;
		case ROL:
			v = v << 1 | out;
			break;
		case ROR:
			v = v >> 1 | out * top;
			break;
		case RCL:
			v = v << 1 | (unsigned)*cf;
			break;
		case RCR:
			v = v >> 1 | (unsigned)*cf * top;
			break;
		}
		v &= m;
		*cf = (int)out;
	}
	return v;
}

/* clang-format off */
#define SIZES(op, OP) \
	X(op, OP, "b", "%%al", 8) X(op, OP, "w", "%%ax", 16) \
	X(op, OP, "l", "%%eax", 32) X(op, OP, "q", "%%rax", 64)
/* clang-format on */

static void one(uint64_t v, int n, int cf)
{
	struct regs r;
	int c;
	uint64_t want;

#define X(op, OP, suffix, reg, bits)                                \
	r = (struct regs){                                          \
	    .a = v, .c = (uint64_t)n, .f = (uint64_t)cf | ZF | AF}; \
	c = cf;                                                     \
	want = model(OP, bits, v, n, &c);                           \
	RUN(#op suffix " %%cl, " reg, r);                           \
	SAME(r.a &mask_of(bits), want);                             \
	if ((n & (bits == 64 ? 63 : 31)) == 0)                      \
		SAME(r.f, cf | ZF | AF);                            \
	else if ((n & 31) <= bits || OP >= ROL)                     \
		SAME(r.f &CF, c);                                   \
	if (bits < 32)                                              \
		SAME(r.a >> (bits & 31), v >> (bits & 31));         \
	if (bits == 32)                                             \
		SAME(r.a >> 32, 0);
	SIZES(shl, SHL)
	SIZES(shr, SHR)
	SIZES(sar, SAR)
	SIZES(rol, ROL)
	SIZES(ror, ROR)
	SIZES(rcl, RCL)
	SIZES(rcr, RCR)
}

int main(void)
{
	struct regs r;
	uint64_t seed = 42;

	for (int n = 0; n < 64; n++)
		for (int i = 0; i < 6; i++)
			one(guest_random(&seed), n, i & 1);
	/* encoded counts of nothing */
	r = (struct regs){.a = -1ull, .f = CF | OF | SF | ZF | AF | PF};
	RUN(".byte 0xc1, 0xe0, 0x00\n.byte 0xc1, 0xe0, 0x20", r);
	SAME(r.a, 0xffffffff);
	SAME(r.f, STATUS);
	/* and the flags of a shift by one are all defined but AF */
	r = (struct regs){.a = 0x40000000};
	RUN("shll %%eax", r);
	SAME(r.f & ~AF, OF | SF | PF);
	return guest_end();
}
