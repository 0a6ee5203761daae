/* tests/guests/code_second_page.c - a function over two pages: the second is
 * rewritten, remapped or made unreadable while the first stays; the whole must
 * follow each time. */
#include "faults.h"

int main(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*second = p + 4096;
	uint32_t (*f)(void) = (uint32_t(*)(void))(p + 4080);

	MUST(p != MAP_FAILED);
	memcpy(p + 4080, "\xb8\x07\0\0\0", 5); /* mov 7, eax; nops */
	memset(p + 4085, 0x90, 11);
	fault_catch(SIGSEGV);
	for (uint32_t i = 1; i < 100; i++) {
		second[0] = 0x05; /* add i, eax; ret */
		memcpy(second + 1, &i, 4);
		second[5] = 0xc3;
		SAME(f(), 7 + i);
		SAME(f(), 7 + i);
		MUST(mmap(second, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			  0) == second);
		second[0] = 0xc3;
		SAME(f(), 7);
		MUST(mprotect(second, 4096, PROT_NONE) == 0);
		FAULT("call *%%rcx", "c"(f));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_ACCERR, 14);
		SAME(fault.r[REG_RIP], second);
		SAME((uint32_t)fault.r[REG_RAX], 7);
		MUST(mprotect(second, 4096,
			      PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	}
	return guest_end();
}
