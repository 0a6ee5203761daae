/* tests/guests/code_moved.c - mremap moves code to another place: it runs there
 * and no longer here; position-independent parts find their data moved, too. */
#include "faults.h"

int main(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*to = mmap(NULL, 1 << 20, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED && to != MAP_FAILED);
	memcpy(p, "\x8b\x05\xfa\x0f\0\0\xc3", 7); /* mov 4096(here), eax */
	*(uint32_t *)(p + 4096) = 4711;
	fault_catch(SIGSEGV);
	for (int i = 0; i < 50; i++) {
		uint8_t *old = p, *want = to + (i * 12288) % (1 << 19);

		SAME(((uint32_t(*)(void))p)(), 4711 + (uint32_t)i);
		p = mremap(p, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, want);
		MUST(p == want);
		SAME(((uint32_t(*)(void))p)(), 4711 + (uint32_t)i);
		FAULT("call *%%rcx", "c"(old));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, fault.code, 14);
		SAME(fault.r[REG_RIP], old);
		SAME(fault.addr, old);
		++*(uint32_t *)(p + 4096);
	}
	return guest_end();
}
