/* tests/guests/code_truncated.c - code mapped from a file that is cut short, or
 * written through its descriptor: the fetch fails with SIGBUS, or the new code
 * runs. (Of a shared mapping; what a private one shows is nobody's promise.) */
#include "faults.h"

int main(void)
{
	int fd = memfd_create("code", 0);
	uint8_t *p;
	uint32_t v = 11;

	MUST(fd >= 0 && ftruncate(fd, 8192) == 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	fault_catch(SIGBUS);
	for (int i = 0; i < 20; i++) {
		v += 7;
		MUST(ftruncate(fd, 8192) == 0);
		MUST(pwrite(fd, "\xb8\0\0\0\0\xc3", 6, 4096) == 6);
		MUST(pwrite(fd, &v, 4, 4097) == 4);
		SAME(((uint32_t(*)(void))(p + 4096))(), v);
		MUST(ftruncate(fd, 100) == 0);
		FAULT("call *%%rcx", "c"(p + 4096));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGBUS, BUS_ADRERR, 14);
		SAME(fault.r[REG_RIP], p + 4096);
	}
	return guest_end();
}
