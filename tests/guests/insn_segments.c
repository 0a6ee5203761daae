/* tests/guests/insn_segments.c - moves from and to segment registers, lar, lsl,
 * verr and verw; a selector that does not exist faults. */
#include "faults.h"

int main(void)
{
	uint64_t v;
	uint16_t w;

	fault_catch(SIGSEGV);
	for (int i = 0; i < 10; i++) {
		asm volatile("mov %%cs, %k0" : "=r"(v));
		SAME(v, 0x33);
		asm volatile("mov %%ss, %k0" : "=r"(v));
		SAME(v, 0x2b);
		asm volatile("mov %%ss, %0" : "=m"(w)); /* 16 bits to memory */
		SAME(w, 0x2b);
		/* ds and es hold what is put there */
		asm volatile("mov %1, %%ds\n\tmov %%ds, %k0\n\tmov %2, %%ds"
			     : "=&r"(v)
			     : "r"(0x2b), "r"(0));
		SAME(v, 0x2b);
		asm volatile("push $0x2b\n\tpop %%rax\n\tmov %%eax, %%es\n\t"
			     "mov %%es, %k0\n\tmov %1, %%es"
			     : "=&r"(v)
			     : "r"(0)
			     : "rax");
		SAME(v, 0x2b);
		struct regs r = {.c = 0x33, .d = 0x7777};
		RUN("lar %%ecx, %%eax\nlsl %%ecx, %%ebx\nsetz %%dl", r);
		SAME(r.d, 0x7701);
		SAME(r.b, 0xffffffff);
		SAME(r.a >> 8 & 0xff, 0xfb);
		r = (struct regs){.c = 0xffff, .a = 5, .f = ZF};
		RUN("lar %%ecx, %%eax", r);
		SAME(r.a, 5);
		SAME(r.f & ZF, 0);
		r.c = 0x2b;
		RUN("verr %%cx\nsetz %%al\nverw %%cx\nsetz %%bl", r);
		SAME(r.a & 0xff, 1);
		SAME(r.b & 0xff, 1);
		FAULT("mov %%ecx, %%es", "c"(0x5557));
		SAME(fault.n, 1);
		SAME(fault.sig, SIGSEGV);
		SAME(fault.r[REG_ERR], 0x5554);
		SAME(fault.r[REG_RIP], fault.at);
	}
	return guest_end();
}
