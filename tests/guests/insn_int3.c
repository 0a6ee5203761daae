/* tests/guests/insn_int3.c - int3, its two-byte form and icebp are SIGTRAP with
 * the address behind them; int $n is a fault that names n. */
#include "faults.h"

int main(void)
{
	for (int i = 0; i < 5; i++) {
		fault_catch(SIGTRAP);
		fault_catch(SIGSEGV);
		FAULT("int3");
		FAULTED(SIGTRAP, SI_KERNEL, 3);
		SAME(fault.r[REG_RIP], fault.at + 1);
		FAULT(".byte 0xcd, 3");
		FAULTED(SIGTRAP, SI_KERNEL, 3);
		SAME(fault.r[REG_RIP], fault.at + 2);
		FAULT(".byte 0xf1");
		SAME(fault.n, 1);
		SAME(fault.sig, SIGTRAP);
		/* a hypervisor may report it before or behind itself */
		if (i == 0)
			printf("icebp %+ld, code %d\n",
			       (long)(fault.r[REG_RIP] - (greg_t)fault.at),
			       fault.code);
		FAULT("int $0x81");
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		SAME(fault.r[REG_RIP], fault.at);
		SAME(fault.r[REG_ERR], 0x81 * 8 + 2);
	}
	return guest_end();
}
