/* tests/guests/insn_clzero.c - clzero clears the line at rax, without naming
 * it; over code that has run, too; clflushopt and clwb leave lines as they are.
 */
#include "faults.h"

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned a, b = 0, c, d;

	__cpuid(0x80000008, a, b, c, d);
	if (!(b & 1))
		guest_absent("processor");
	MUST(p != MAP_FAILED);
	fault_catch(SIGSEGV);
	for (int i = 0; i < 20; i++) {
		memset(p, 7, 4096);
		asm volatile("clzero" ::"a"(p + 70) : "memory");
		SAME(p[63], 7);
		SAME(p[64], 0);
		SAME(p[127], 0);
		SAME(p[128], 7);
		memcpy(p + 192, "\xb8\x05\0\0\0\xc3", 6);
		SAME(((int (*)(void))(p + 192))(), 5);
		asm volatile("clzero" ::"a"(p + 192) : "memory");
		FAULT("call *%%rcx", "c"(p + 192), "a"(24));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_MAPERR, 14); /* add al, (rax) */
		SAME(fault.addr, 24);
	}
	__cpuid_count(7, 0, a, b, c, d);
	p[0] = 9;
	if (b >> 23 & 1)
		asm volatile("clflushopt (%0)" ::"r"(p) : "memory");
	if (b >> 24 & 1)
		asm volatile("clwb (%0)" ::"r"(p) : "memory");
	SAME(p[0], 9);
	return guest_end();
}
