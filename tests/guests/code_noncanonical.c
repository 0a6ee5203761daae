/* tests/guests/code_noncanonical.c - jumps, calls and returns to addresses that
 * are none: a general protection fault, whose rip is the jump's own, or with
 * a return the return's. */
#include "faults.h"

int main(void)
{
	uint64_t odd = 0x8000000000000000 + 4096;

	fault_catch(SIGSEGV);
	fault_catch(SIGBUS);
	for (int i = 0; i < 10; i++) {
		FAULT("jmp *%%rcx", "c"(odd));
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		if (i == 0)
			printf("jmp at %s\n",
			       fault.r[REG_RIP] == (greg_t)odd ? "target"
			       : fault.r[REG_RIP] == (greg_t)fault.at
				   ? "itself"
				   : "elsewhere");
		FAULT("push %%rcx\n\tret", "c"(odd));
		SAME(fault.sig, SIGSEGV);
		if (fault.r[REG_RIP] != (greg_t)odd)
			asm volatile("add $8, %%rsp" ::: "cc");
		if (i == 0)
			printf("ret at %s\n",
			       fault.r[REG_RIP] == (greg_t)odd ? "target"
			       : fault.r[REG_RIP] == (greg_t)fault.at + 1
				   ? "itself"
				   : "elsewhere");
		/* the kernel's half is canonical, but not ours */
		FAULT("jmp *%%rcx", "c"(0xffffffff80000000ul));
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);
		SAME(fault.r[REG_RIP], 0xffffffff80000000);
	}
	return guest_end();
}
