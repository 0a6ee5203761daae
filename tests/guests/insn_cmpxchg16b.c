// build: -mcx16
/* tests/guests/insn_cmpxchg16b.c - cmpxchg8b and cmpxchg16b, locked or not,
 * found equal or not; one that is not aligned faults. */
#include "faults.h"

static uint64_t pair[4] __attribute__((aligned(32)));

int main(void)
{
	struct regs r;

	for (int i = 0; i < 20; i++) {
		pair[0] = 1, pair[1] = 2;
		r = (struct regs){.a = 1,
				  .d = 2,
				  .b = 3,
				  .c = 4,
				  .si = (uint64_t)pair,
				  .f = CF | SF};
		RUN("lock cmpxchg16b (%%rsi)", r);
		SAME(pair[0], 3);
		SAME(pair[1], 4);
		SAME(r.f, CF | SF | ZF);
		RUN("cmpxchg16b (%%rsi)", r); /* not equal: loads */
		SAME(r.a, 3);
		SAME(r.d, 4);
		SAME(r.f, CF | SF);
		pair[0] = 0x200000001;
		r = (struct regs){.a = 0xf00000001,
				  .d = 0xe00000002,
				  .b = 5,
				  .c = 6,
				  .di = (uint64_t)pair};
		RUN("lock cmpxchg8b (%%rdi)", r);
		SAME(pair[0], 0x600000005);
		SAME(r.f, ZF);
		RUN("cmpxchg8b (%%rdi)", r);
		SAME(r.a, 5);
		SAME(r.d, 6);
		SAME(r.f, 0);
	}
	fault_catch(SIGSEGV);
	FAULT("lock cmpxchg16b (%%rsi)", "S"((char *)pair + 8), "a"(0), "b"(0),
	      "c"(0), "d"(0));
	FAULTED(SIGSEGV, SI_KERNEL, 13);
	SAME(fault.r[REG_RIP], fault.at);
	return guest_end();
}
