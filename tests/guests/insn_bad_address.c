/* tests/guests/insn_bad_address.c - loads, stores, pushes and calls through
 * addresses that are not canonical, not mapped or not allowed: SIGSEGV or
 * SIGBUS with code, address, error bits and rip as the kernel tells them. */
#include "faults.h"

static void touch(const char *hole, const char *text, uint64_t odd)
{
	FAULT("mov (%%rdi), %%rax", "D"(hole));
	FAULTED(SIGSEGV, SEGV_MAPERR, 14);
	SAME(fault.addr, hole);
	SAME(fault.r[REG_CR2], hole);
	SAME(fault.r[REG_ERR], 4);
	SAME(fault.r[REG_RIP], fault.at);
	FAULT("addl $1, 8(%%rdi, %%rcx, 4)", "D"(hole), "c"(3));
	FAULTED(SIGSEGV, SEGV_MAPERR, 14);
	SAME(fault.addr, hole + 20);
	SAME(fault.r[REG_ERR], 6);
	FAULT("mov (%%rdi), %%r10d", "D"(text)); /* it is there, to read */
	SAME(fault.n, 0);
	FAULT("movb $1, (%%rdi)", "D"(text));
	FAULTED(SIGSEGV, SEGV_ACCERR, 14);
	SAME(fault.addr, text);
	SAME(fault.r[REG_ERR], 7);
	FAULT("mov (%%rdi), %%rax", "D"(odd));
	FAULTED(SIGSEGV, SI_KERNEL, 13);
	SAME(fault.addr, 0);
	SAME(fault.r[REG_RIP], fault.at);
	FAULT("movups %%xmm0, (%%rdi)", "D"(odd));
	FAULTED(SIGSEGV, SI_KERNEL, 13);
	/* through rbp or rsp it is a stack fault, SIGBUS */
	asm volatile("push %rbp");
	FAULT("mov %%rdi, %%rbp\n\tnop\n\t"
	      "771: mov 8(%%rbp), %%rax",
	      "D"(odd));
	asm volatile("pop %rbp");
	SAME(fault.sig, SIGBUS);
	SAME(fault.code, SI_KERNEL);
	SAME(fault.r[REG_TRAPNO], 12);
}

int main(void)
{
	char *hole =
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(hole != MAP_FAILED && munmap(hole, 4096) == 0);
	fault_catch(SIGSEGV);
	fault_catch(SIGBUS);
	for (int i = 0; i < 5; i++)
		touch(hole, "read-only text", 0x8000000000000000 + 64);
	FAULT("mov (%%rdi), %%rax", "D"(-8ul)); /* the kernel's half */
	FAULTED(SIGSEGV, SEGV_MAPERR, 14);
	SAME(fault.addr, -8ul);
	SAME(fault.r[REG_ERR] & ~1ull, 4);
	return guest_end();
}
