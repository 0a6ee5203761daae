// build: -mno-red-zone
/* tests/guests/insn_alignment_check.c - with AC set an odd load is SIGBUS with
 * BUS_ADRALN; an even one is not; the handler's flags still have AC. */
#include "faults.h"

static uint64_t cells[4];

/* A handler starts with AC as it was, and C does not expect it. */
static void careful(int sig, siginfo_t *info, void *context)
{
	asm volatile("pushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq" ::: "cc");
	fault_handler(sig, info, context);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = careful, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGBUS, &sa, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		fault.n = 0;
		asm volatile(
		    "lea 1f(%%rip), %%rax\n\tmov %%rax, %0\n\t"
		    "lea 2f(%%rip), %%rax\n\tmov %%rax, %1\n\t"
		    "sub $128, %%rsp\n\t"
		    "pushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\t"
		    "mov (%%rdi), %%rax\n"
		    "1:\tmov 1(%%rdi), %%rax\n"
		    "2:\tpushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq\n\t"
		    "add $128, %%rsp"
		    : "=m"(fault.at), "=m"(fault.resume)
		    : "D"(cells)
		    : "rax", "memory", "cc");
		FAULTED(SIGBUS, BUS_ADRALN, 17);
		SAME(fault.r[REG_RIP], fault.at);
		SAME(fault.r[REG_EFL] & 0x40000, 0x40000);
		uint64_t out; /* and without it */
		asm volatile("mov 1(%1), %0" : "=r"(out) : "r"(cells));
		SAME(out, 0);
	}
	return guest_end();
}
