/* tests/guests/insn_privileged.c - what only the kernel may do is a general
 * protection fault: SIGSEGV from the kernel, no address, at the instruction. */
#include "faults.h"

#define PRIVILEGED(insn)                                                    \
	do {                                                                \
		FAULT(insn, "a"(0x1111), "c"(0x10), "d"(0x3f8), "D"(cell)); \
		FAULTED(SIGSEGV, SI_KERNEL, 13);                            \
		SAME(fault.r[REG_RIP], fault.at);                           \
		SAME(fault.addr, 0);                                        \
		SAME(fault.r[REG_RAX], 0x1111);                             \
		SAME(fault.r[REG_ERR], 0);                                  \
	} while (0)

static uint64_t cell[8];

int main(void)
{
	fault_catch(SIGSEGV);
	for (int i = 0; i < 5; i++) {
		PRIVILEGED("hlt");
		PRIVILEGED("cli");
		PRIVILEGED("sti");
		PRIVILEGED("in %%dx, %%al");
		PRIVILEGED("out %%eax, $0x80");
		PRIVILEGED("rdmsr");
		PRIVILEGED("wrmsr");
		PRIVILEGED("mov %%cr0, %%rax");
		PRIVILEGED("mov %%rax, %%cr3");
		PRIVILEGED("mov %%db7, %%rax");
		PRIVILEGED("lgdt (%%rdi)");
		PRIVILEGED("lidt (%%rdi)");
		PRIVILEGED("ltr %%ax");
		PRIVILEGED("clts");
		PRIVILEGED("wbinvd");
		PRIVILEGED("invlpg (%%rdi)");
		PRIVILEGED("swapgs");
		PRIVILEGED("sysretq");
		PRIVILEGED("insb");
	}
	return guest_end();
}
