/* tests/guests/insn_x87_compare.c - fcom and ftst set condition codes, fcomi
 * sets flags, fcmov reads them; unordered ones raise or do not. */
#include "guest.h"

static unsigned codes(double a, double b, int quiet)
{
	uint16_t sw;

	if (quiet)
		asm volatile("fnclex\n\tfldl %2\n\tfldl %1\n\tfucompp\n\t"
			     "fnstsw %0"
			     : "=a"(sw)
			     : "m"(a), "m"(b)
			     : "st", "st(1)");
	else
		asm volatile("fnclex\n\tfldl %1\n\tfcompl %2\n\tfnstsw %0"
			     : "=a"(sw)
			     : "m"(a), "m"(b)
			     : "st");
	return sw & 0x4501;
}

static uint64_t flags(double a, double b)
{
	struct regs r = {
	    .a = (uint64_t)&a, .c = (uint64_t)&b, .f = OF | SF | AF};

	RUN("fldl (%%rcx)\nfldl (%%rax)\nfucomip %%st(1), %%st\nfstp %%st(0)",
	    r);
	return r.f;
}

static double choose(uint64_t f, double no, double yes)
{
	struct regs r = {.a = (uint64_t)&no, .c = (uint64_t)&yes, .f = f};

	RUN("fldl (%%rcx)\nfldl (%%rax)\nfcmovbe %%st(1), %%st\nfcmovu "
	    "%%st(1), "
	    "%%st\nfstpl (%%rax)\nfstp %%st(0)",
	    r);
	return no;
}

int main(void)
{
	double nan = __builtin_nan("");

	for (int i = 0; i < 20; i++) {
		SAME(codes(1, 2, 0), 0x100);
		SAME(codes(2, 1, 0), 0);
		SAME(codes(1, 1, 0), 0x4000);
		SAME(codes(nan, 1, 0), 0x4501); /* invalid */
		SAME(codes(nan, 1, 1), 0x4500); /* quietly */
		SAME(codes(-0.0, 0, 1), 0x4000);
		SAME(flags(1, 2), CF);
		SAME(flags(2, 1), 0);
		SAME(flags(2, 2), ZF);
		SAME(flags(nan, 2), ZF | PF | CF);
		CHECK(choose(0, 1, 2) == 1);
		CHECK(choose(CF, 1, 2) == 2);
		CHECK(choose(ZF, 1, 2) == 2);
		CHECK(choose(PF, 1, 2) == 2);
		CHECK(choose(SF | OF, 1, 2) == 1);
		struct regs r = {.a = 0};
		RUN("fldz\nfld1\nfchs\nftst\nfnstsw %%ax\nsahf\nfcompp", r);
		SAME(r.f & (CF | ZF | PF), CF);
	}
	return guest_end();
}
