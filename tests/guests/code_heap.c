/* tests/guests/code_heap.c - code on the heap below the program break, which
 * shrinks under it and grows again as zeros. */
#include "faults.h"
#include <sys/syscall.h>

int main(void)
{
	uint8_t *top =
	    (uint8_t *)(((uint64_t)syscall(SYS_brk, 0) + 4095) & ~4095ull);

	fault_catch(SIGSEGV);
	for (uint32_t i = 0; i < 50; i++) {
		MUST((uint8_t *)syscall(SYS_brk, top + 8192) == top + 8192);
		SAME(top[4096], 0);
		MUST(mprotect(top, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) ==
		     0);
		memcpy(top + 4096, "\xb8\0\0\0\0\xc3", 6);
		memcpy(top + 4097, &i, 4);
		SAME(((uint32_t(*)(void))(top + 4096))(), i);
		MUST((uint8_t *)syscall(SYS_brk, top) == top);
		FAULT("call *%%rcx", "c"(top + 4096));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);
		SAME(fault.r[REG_RIP], top + 4096);
	}
	return guest_end();
}
