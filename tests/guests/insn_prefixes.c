/* tests/guests/insn_prefixes.c - fifteen bytes of prefixes and instruction run;
 * sixteen are a general protection fault; repeated and useless prefixes, a REX
 * that is not the last one, segments that 64-bit mode ignores. */
#include "faults.h"

int main(void)
{
	struct regs r = {.a = 0x1111111111111111, .c = 1};
	static uint64_t cell = 5;

	/* 66 x 12 and a 16-bit add: 15 bytes */
	for (int i = 0; i < 3; i++) {
		r.a = 0x111111111111ffff, r.c = 1;
		RUN(".byte 0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,"
		    "0x66,0x66,0x66,0x01,0xc8",
		    r);
		SAME(r.a, 0x1111111111110000);
		CHECK(r.f & CF);
		/* a REX before another prefix counts for nothing */
		r.a = 0xffffffffffffffff, r.c = 1;
		RUN(".byte 0x48, 0x3e, 0x01, 0xc8", r);
		SAME(r.a, 0);
		r.a = -1ull;
		RUN(".byte 0x41, 0x48, 0x01, 0xc8", r); /* the last REX wins */
		SAME(r.a, 0);
		/* cs, ds, es, ss do nothing */
		r.d = (uint64_t)&cell, cell = 5;
		RUN(".byte 0x2e, 0x36, 0x3e, 0x26, 0x48, 0xff, 0x02", r);
		SAME(cell, 6);
		/* rep on what does not repeat */
		RUN(".byte 0xf3, 0x48, 0xff, 0x02, 0xf2, 0x48, 0xff, 0x02", r);
		SAME(cell, 8);
		/* the upper half: 67h cuts the address, not the data */
		r.d = (uint64_t)&cell;
		RUN("mov %%rdx, %%rcx\n.byte 0x67, 0x48, 0x8d, 0x01", r);
		SAME(r.a, (uint32_t)(uint64_t)&cell);
		/* nop with fs, and one of 15 bytes */
		RUN(".byte 0x66,0x66,0x66,0x66,0x66,0x66,0x2e,0x0f,0x1f,0x84,"
		    "0x00,0x00,0x02,0x00,0x00",
		    r);
	}
	fault_catch(SIGSEGV);
	FAULT(".byte 0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,"
	      "0x66,0x66,0x66,0x01,0xc8");
	FAULTED(SIGSEGV, SI_KERNEL, 13);
	SAME(fault.r[REG_RIP], fault.at);
	return guest_end();
}
