/* tests/guests/insn_lahf_popf.c - lahf, sahf, pushf, popf, stc, clc, cmc: which
 * bits they carry, ID included; what user mode may not change stays. */
#include "guest.h"

static uint64_t popf(uint64_t f)
{
	uint64_t out;

	asm volatile("lea -128(%%rsp), %%rsp\n\tpush %1\n\tpopfq\n\tpushfq\n\t"
		     "pop %0\n\tpushq $0x202\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
		     : "=r"(out)
		     : "r"(f)
		     : "cc", "memory");
	return out;
}

int main(void)
{
	struct regs r;

	for (unsigned v = 0; v < 256; v++) {
		r = (struct regs){.a = v << 8, .f = OF};
		RUN("sahf\nmov $0, %%eax\nlahf", r);
		SAME(r.a, ((v & 0xd5) | 2) << 8);
		SAME(r.f, OF | (v & 0xd5));
	}
	r = (struct regs){.f = 0};
	RUN("stc\nsetc %%al\ncmc\nsetc %%cl\ncmc\nsetc %%dl\nclc\nsetc %%bl",
	    r);
	SAME(r.a, 1);
	SAME(r.c, 0);
	SAME(r.d, 1);
	SAME(r.b, 0);
	SAME(popf(0x202), 0x202);
	SAME(popf(0xffd7 & ~0x4100ul), 0xed7 & ~0x0ul); /* not TF, NT */
	SAME(popf(0x200000 | 0x202), 0x200202);		/* ID */
	SAME(popf(0), 0x202);				/* IF stays on */
	SAME(popf(0x3000 | 0x202), 0x202);		/* IOPL stays 0 */
	SAME(popf(0x20000 | 0x202), 0x202);		/* VM is ignored */
	/* 16 bits: the upper ones are not touched */
	uint64_t out;
	asm volatile("lea -128(%%rsp), %%rsp\n\tpushq $0x200202\n\tpopfq\n\t"
		     "pushw $0x8d5\n\tpopfw\n\tpushfq\n\tpop %0\n\t"
		     "pushq $0x202\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
		     : "=r"(out)::"cc", "memory");
	SAME(out, 0x200ad7);
	return guest_end();
}
