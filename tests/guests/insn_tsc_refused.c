/* tests/guests/insn_tsc_refused.c - a program that asked for it is refused the
 * time-stamp counter: rdtsc and rdtscp are SIGSEGV at their own address, until
 * it is allowed again. */
#include "faults.h"
#include <sys/prctl.h>
#include <sys/syscall.h>

int main(void)
{
	int mode = 0;

	MUST(prctl(PR_GET_TSC, &mode) == 0);
	SAME(mode, PR_TSC_ENABLE);
	fault_catch(SIGSEGV);
	for (int i = 0; i < 10; i++) {
		MUST(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
		FAULT("rdtsc", "a"(5), "d"(6));
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		SAME(fault.r[REG_RIP], fault.at);
		SAME(fault.r[REG_RAX], 5);
		SAME(fault.r[REG_RDX], 6);
		FAULT("rdtscp", "a"(5), "d"(6), "c"(7));
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		SAME(fault.r[REG_RCX], 7);
		MUST(prctl(PR_GET_TSC, &mode) == 0);
		SAME(mode, PR_TSC_SIGSEGV);
		/* all else goes on meanwhile */
		SAME(syscall(SYS_getpid), getpid());
		MUST(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
		FAULT("rdtsc", "a"(5), "d"(6));
		SAME(fault.n, 0);
	}
	return guest_end();
}
