/* tests/guests/code_not_executable.c - jumps to data, to nothing, to a page
 * that was executable a moment ago: SIGSEGV with the target as rip and address,
 * and the stack as the call left it. */
#include "faults.h"

static void jumps_to(void *to, int code, int present)
{
	FAULT("push $42\n\tjmp *%%rcx", "c"(to));
	asm volatile("add $8, %%rsp" ::: "cc");
	FAULTED(SIGSEGV, code, 14);
	SAME(fault.r[REG_RIP], to);
	SAME(fault.addr, to);
	SAME(fault.r[REG_ERR], 0x14 | present);
	SAME(*(uint64_t *)fault.r[REG_RSP], 42);
}

int main(void)
{
	static uint8_t data[64] = {0xc3};
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*hole = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	char here = (char)0xc3;

	MUST(p != MAP_FAILED && munmap(hole, 4096) == 0);
	fault_catch(SIGSEGV);
	p[0] = 0xc3;
	for (int i = 0; i < 10; i++) {
		jumps_to(data, SEGV_ACCERR, 1);
		jumps_to(p, SEGV_ACCERR, 1);
		jumps_to(&here, SEGV_ACCERR, 1);
		jumps_to(hole, SEGV_MAPERR, 0);
		jumps_to((void *)0x123, SEGV_MAPERR, 0);
		MUST(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
		((void (*)(void))p)();
		((void (*)(void))p)();
		MUST(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
	}
	return guest_end();
}
