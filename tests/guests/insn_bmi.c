/* tests/guests/insn_bmi.c - the BMI, ADX, popcnt, lzcnt, tzcnt and movbe
 * instructions against C, and which flags each of them leaves alone. */
#include "guest.h"

static uint64_t deposit(uint64_t v, uint64_t mask)
{
	uint64_t out = 0;

	for (int i = 0; i < 64; i++)
		if (mask >> i & 1) {
			out |= (v & 1) << i;
			v >>= 1;
		}
	return out;
}

static void bmi(uint64_t a, uint64_t b)
{
	struct regs r = {.c = a, .d = b, .f = STATUS};
	unsigned n = b & 63;

	RUN("pdep %%rdx, %%rcx, %%rax", r);
	SAME(r.a, deposit(a, b));
	RUN("pext %%rdx, %%rax, %%rbx", r);
	SAME(r.b, a & ((2ull << (__builtin_popcountll(b) - 1)) - 1));
	RUN("shlx %%rdx, %%rcx, %%rax\nshrx %%rdx, %%rcx, %%rbx\n"
	    "sarx %%rdx, %%rcx, %%rsi\nrorx $11, %%rcx, %%rdi",
	    r);
	SAME(r.a, a << n);
	SAME(r.b, a >> n);
	SAME(r.si, (int64_t)a >> n);
	SAME(r.di, a >> 11 | a << 53);
	RUN("mulx %%rcx, %%rax, %%rbx", r); /* rdx * rcx */
	SAME(r.b, (unsigned __int128)a * b >> 64);
	SAME(r.a, a * b);
	SAME(r.f, STATUS); /* none of these writes flags */
	RUN("andn %%rdx, %%rcx, %%rax", r);
	SAME(r.a, ~a & b);
	RUN("blsr %%rcx, %%rax\nblsi %%rcx, %%rbx\nblsmsk %%rcx, %%rsi", r);
	SAME(r.a, a & (a - 1));
	SAME(r.b, a & -a);
	SAME(r.si, a ^ (a - 1));
	r.b = 0x1008;
	RUN("bextr %%rbx, %%rcx, %%rax\nmov $20, %%ebx\n"
	    "bzhi %%rbx, %%rcx, %%rsi",
	    r);
	SAME(r.a, a >> 8 & 0xffff);
	SAME(r.si, a & 0xfffff);
}

static void counts(uint64_t a)
{
	struct regs r = {.c = a};

	RUN("popcnt %%rcx, %%rax\nlzcnt %%rcx, %%rbx\ntzcnt %%ecx, %%edx", r);
	SAME(r.a, __builtin_popcountll(a));
	SAME(r.b, a ? __builtin_clzll(a) : 64);
	SAME(r.d, (uint32_t)a ? __builtin_ctz((uint32_t)a) : 32);
	SAME(r.f & CF, (uint32_t)a ? 0 : CF);
	r = (struct regs){.c = a, .a = -1ull, .b = -1ull};
	RUN("bsf %%rcx, %%rax\nbsr %%rcx, %%rbx", r);
	SAME(r.a, a ? __builtin_ctzll(a) : -1ull);
	SAME(r.b, a ? 63 - __builtin_clzll(a) : -1ull);
	SAME(r.f & ZF, a ? 0 : ZF);
}

int main(void)
{
	uint64_t seed = 99, cell = 0x1122334455667788;
	struct regs r;

	if (!__builtin_cpu_supports("bmi2"))
		guest_absent("processor");
	for (int i = 0; i < 300; i++) {
		uint64_t a = guest_random(&seed), b = guest_random(&seed) | 1;

		bmi(a, b);
		counts(a >> (i & 63));
	}
	counts(0);
	/* two carry chains at once */
	r = (struct regs){.a = -1ull, .b = 5, .c = 1, .d = 7, .f = ZF | SF};
	RUN("adcx %%rcx, %%rax\nadox %%rcx, %%rbx\nadcx %%rdx, %%rax", r);
	SAME(r.a, 8);
	SAME(r.b, 6);
	SAME(r.f, ZF | SF);
	r = (struct regs){.si = (uint64_t)&cell, .f = CF | OF};
	RUN("movbe (%%rsi), %%rax\nmovbe (%%rsi), %%ebx\nmovbe %%ax, (%%rsi)",
	    r);
	SAME(r.a, 0x8877665544332211);
	SAME(r.b, 0x88776655);
	SAME(cell, 0x1122334455661122);
	SAME(r.f, CF | OF);
	return guest_end();
}
