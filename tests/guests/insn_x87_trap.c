/* tests/guests/insn_x87_trap.c - an unmasked x87 exception is raised by the
 * next waiting instruction, not by the one that caused it: SIGFPE there, with
 * the right code and address. */
#include "faults.h"

static void unmasked(uint16_t cw, double a, double b, int code)
{
	asm volatile("fnclex\n\tfldcw %0\n\tfldl %1\n\tfdivl %2\n\tnop"
		     :
		     : "m"(cw), "m"(a), "m"(b)
		     : "st");
	FAULT("fwait", "m"(cw));
	FAULTED(SIGFPE, code, 16);
	SAME(fault.r[REG_RIP], fault.at);
	asm volatile("fnclex\n\tfninit");
}

int main(void)
{
	fault_catch(SIGFPE);
	for (int i = 0; i < 5; i++) {
		unmasked(0x37b, 1, 0, FPE_FLTDIV);
		unmasked(0x37e, 0, 0, FPE_FLTINV);
		unmasked(0x35f, 1, 3, FPE_FLTRES);
		/* non-waiting instructions do not raise it */
		uint16_t cw = 0x37b, sw;
		double one = 1, zero = 0;
		fault.n = 0;
		asm volatile("fnclex\n\tfldcw %1\n\tfldl %2\n\tfdivl %3\n\t"
			     "fnstsw %0\n\tfnclex\n\tfwait\n\tfninit"
			     : "=a"(sw)
			     : "m"(cw), "m"(one), "m"(zero)
			     : "st");
		SAME(fault.n, 0);
		SAME(sw & 0x84, 0x84); /* ES and ZE */
	}
	return guest_end();
}
