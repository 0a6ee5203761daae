/* tests/guests/code_remap.c - code is unmapped and other code mapped in its
 * place, by munmap and mmap, by MAP_FIXED over it, by mremap onto it, and by
 * madvise, which makes it zeros. */
#include "faults.h"

static uint8_t *make(void *at, int flags, uint32_t v)
{
	uint8_t *p = mmap(at, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	MUST(p != MAP_FAILED);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	memcpy(p + 1, &v, 4);
	MUST(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
	return p;
}

int main(void)
{
	uint8_t *p = make(NULL, 0, 0), *q;
	uint32_t (*f)(void) = (uint32_t(*)(void))p;

	fault_catch(SIGSEGV);
	for (uint32_t i = 1; i < 200; i++) {
		f();
		MUST(munmap(p, 4096) == 0);
		make(p, MAP_FIXED, i);
		SAME(f(), i);
		make(p, MAP_FIXED, i + 1000); /* right over it */
		SAME(f(), i + 1000);
		q = make(NULL, 0, i + 2000);
		SAME(((uint32_t(*)(void))q)(), i + 2000);
		MUST(mremap(q, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, p) ==
		     p);
		SAME(f(), i + 2000);
	}
	/* gone: add al, [rax] at a bad address is what zeros mean */
	MUST(madvise(p, 4096, MADV_DONTNEED) == 0);
	FAULT("call *%%rcx", "c"(f), "a"(16));
	asm volatile("add $8, %%rsp" ::: "cc");
	SAME(fault.sig, SIGSEGV);
	SAME(fault.addr, 16);
	SAME(fault.r[REG_RIP], p);
	return guest_end();
}
