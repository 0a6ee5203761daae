/* tests/guests/insn_unaligned.c - aligned vector moves fault on an odd address,
 * their VEX arithmetic cousins do not; an access over the end of a page names
 * the first byte that is missing. */
#include "faults.h"

static uint8_t cells[128] __attribute__((aligned(64)));

int main(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED && munmap(p + 4096, 4096) == 0);
	fault_catch(SIGSEGV);
	for (int i = 0; i < 10; i++) {
		FAULT("movaps (%%rdi), %%xmm1", "D"(cells + 1));
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		SAME(fault.r[REG_RIP], fault.at);
		FAULT("movdqa %%xmm1, (%%rdi)", "D"(cells + 8));
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		FAULT("addps (%%rdi), %%xmm1", "D"(cells + 4));
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		FAULT("fxsave (%%rdi)", "D"(cells + 4));
		FAULTED(SIGSEGV, SI_KERNEL, 13);
		FAULT("movups (%%rdi), %%xmm1", "D"(cells + 1));
		SAME(fault.n, 0);
		if (__builtin_cpu_supports("avx")) {
			FAULT("vaddps (%%rdi), %%xmm1, %%xmm1", "D"(cells + 1));
			SAME(fault.n, 0);
			FAULT("vmovaps (%%rdi), %%ymm1", "D"(cells + 16));
			FAULTED(SIGSEGV, SI_KERNEL, 13);
			asm volatile("vzeroupper");
		}
		FAULT("movups (%%rdi), %%xmm1", "D"(p + 4090));
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);
		SAME(fault.addr, p + 4096);
		FAULT("mov %%rax, (%%rdi)", "D"(p + 4093), "a"(-1l));
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);
		SAME(fault.addr, p + 4096);
		SAME(p[4093], 0); /* nothing of it was stored */
	}
	return guest_end();
}
