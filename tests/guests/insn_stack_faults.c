/* tests/guests/insn_stack_faults.c - pushes, pops, calls, returns, enter and
 * leave whose stack or operand is not there: the fault is at the instruction,
 * and the stack pointer and all else are as before it. */
#include "faults.h"

static char *hole; /* one page that is not there */

/* The instruction runs with rsp = stack; rdi is the hole. */
#define ON_STACK(insn, stack, where)                                        \
	do {                                                                \
		uint64_t sp_ = (uint64_t)(stack);                           \
		fault.n = 0;                                                \
		asm volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, %[at]\n\t" \
			     "lea 2f(%%rip), %%rax\n\tmov %%rax, %[to]\n\t" \
			     "mov %%rsp, %%r12\n\tmov %%rbp, %%r13\n\t"     \
			     "mov $0x5150, %%ebp\n\tmov $77, %%eax\n\t"     \
			     "mov %[sp], %%rsp\n\tstc\n"                    \
			     "1:\t" insn "\n"                               \
			     "2:\tmov %%r12, %%rsp\n\tmov %%r13, %%rbp"     \
			     : [at] "=m"(fault.at), [to] "=m"(fault.resume) \
			     : [sp] "r"(sp_), "D"(hole)                     \
			     : "rax", "r12", "r13", "memory", "cc");        \
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);                          \
		SAME(fault.r[REG_RIP], fault.at);                           \
		SAME(fault.r[REG_RSP], sp_);                                \
		SAME(fault.r[REG_RBP], 0x5150);                             \
		SAME(fault.r[REG_RAX], 77);                                 \
		SAME(fault.r[REG_EFL] & CF, CF);                            \
		SAME(fault.addr, (uint64_t)(where));                        \
	} while (0)

int main(void)
{
	static char alt[65536], good[4096] __attribute__((aligned(16)));
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
	char *top = good + 2048;

	hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(hole != MAP_FAILED && sigaltstack(&ss, NULL) == 0);
	hole += 4096;
	MUST(munmap(hole, 4096) == 0);
	fault_catch(SIGSEGV);
	for (int i = 0; i < 10; i++) {
		ON_STACK("push %%rax", hole + 64, hole + 56);
		ON_STACK("push $5", hole + 4096, hole + 4088);
		ON_STACK("pushfq", hole + 64, hole + 56);
		ON_STACK("push (%%rdi)", top, hole);
		ON_STACK("pop %%rax", hole + 64, hole + 64);
		ON_STACK("popfq", hole + 64, hole + 64);
		ON_STACK("popq 8(%%rdi)", top, hole + 8);
		ON_STACK("popq 8(%%rdi)", hole + 64, hole + 64);
		ON_STACK("popq (%%rsp)", hole - 8, hole);
		ON_STACK("popq 64(%%rsp)", hole - 16, hole + 56);
		ON_STACK("pop %%rsp", hole, hole);
		ON_STACK("call 2f", hole + 64, hole + 56);
		ON_STACK("call *%%rdi", hole + 64, hole + 56);
		ON_STACK("call *(%%rdi)", top, hole);
		ON_STACK("call *8(%%rsp)", hole + 64, hole + 72);
		ON_STACK("jmp *16(%%rdi)", top, hole + 16);
		ON_STACK("ret", hole + 8, hole + 8);
		ON_STACK("ret $16", hole + 16, hole + 16);
		ON_STACK("enter $32, $0", hole + 64, hole + 56);
		ON_STACK("leave", top, 0x5150);
		ON_STACK("xchg %%rax, (%%rdi)", top, hole);
		ON_STACK("lock xadd %%eax, (%%rdi)", top, hole);
		ON_STACK("cmovnc (%%rdi), %%rax", top, hole); /* not taken */
		ON_STACK("adc %%rax, 24(%%rdi)", top, hole + 24);
		ON_STACK("rcll $3, (%%rdi)", top, hole);
	}
	return guest_end();
}
