/* tests/guests/insn_sse_trap.c - an unmasked SSE exception is SIGFPE at the
 * very instruction, with the code that fits and the destination unwritten. */
#include "faults.h"

static void trap(uint32_t mxcsr, double a, double b, int code)
{
	uint32_t normal = 0x1f80;
	double r = a;

	fault.n = fault.sig = 0;
	asm volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, %1\n\t"
		     "lea 2f(%%rip), %%rax\n\tmov %%rax, %2\n\t"
		     "ldmxcsr %3\n"
		     "1:\tdivsd %4, %0\n"
		     "2:\tldmxcsr %5"
		     : "+x"(r), "=m"(fault.at), "=m"(fault.resume)
		     : "m"(mxcsr), "x"(b), "m"(normal)
		     : "rax", "memory");
	FAULTED(SIGFPE, code, 19);
	SAME(fault.r[REG_RIP], fault.at);
	SAME(fault.addr, fault.at);
	CHECK(r == a);
}

int main(void)
{
	fault_catch(SIGFPE);
	for (int i = 0; i < 5; i++) {
		trap(0x1f80 & ~0x200, 1, 0, FPE_FLTDIV);
		trap(0x1f80 & ~0x80, 0, 0, FPE_FLTINV);
		trap(0x1f80 & ~0x400, 1e308, 1e-308, FPE_FLTOVF);
		trap(0x1f80 & ~0x800, 1e-308, 1e10, FPE_FLTUND);
		trap(0x1f80 & ~0x1000, 1, 3, FPE_FLTRES);
	}
	return guest_end();
}
