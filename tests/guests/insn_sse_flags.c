/* tests/guests/insn_sse_flags.c - comisd, ucomiss, ptest and vtestps write the
 * integer flags, all six of them. */
#include "guest.h"

static uint64_t compare(double a, double b)
{
	struct regs r = {.a = (uint64_t)&a, .c = (uint64_t)&b, .f = STATUS};

	RUN("movsd (%%rax), %%xmm5\ncomisd (%%rcx), %%xmm5", r);
	return r.f;
}

static uint64_t quiet(float a, float b)
{
	struct regs r = {.a = (uint64_t)&a, .c = (uint64_t)&b, .f = STATUS};

	RUN("movss (%%rax), %%xmm5\nmovss (%%rcx), %%xmm6\n"
	    "ucomiss %%xmm6, %%xmm5",
	    r);
	return r.f;
}

static uint64_t bits(uint64_t a, uint64_t b)
{
	struct regs r = {.a = a, .c = b, .f = STATUS};

	RUN("movq %%rax, %%xmm5\nmovq %%rcx, %%xmm6\nptest %%xmm6, %%xmm5", r);
	return r.f;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		SAME(compare(1, 2), CF);
		SAME(compare(2, 1), 0);
		SAME(compare(1, 1), ZF);
		SAME(compare(1, __builtin_nan("")), ZF | PF | CF);
		SAME(quiet(-1, 2), CF);
		SAME(quiet(__builtin_nanf(""), 2), ZF | PF | CF);
		SAME(quiet(-0.0f, 0), ZF);
		SAME(bits(0xff, 0xff00), ZF);
		SAME(bits(0xffff, 0xff00), CF);
		SAME(bits(0xf000, 0xff00), 0);
		SAME(bits(0, 0), ZF | CF);
		if (__builtin_cpu_supports("avx")) {
			struct regs r = {.a = 0x8000000000000000, .f = STATUS};

			RUN("vmovq %%rax, %%xmm5\nvtestpd %%xmm5, %%xmm5", r);
			SAME(r.f, CF);
			RUN("vtestps %%ymm5, %%ymm5\nvzeroupper", r);
			SAME(r.f, CF);
		}
	}
	return guest_end();
}
