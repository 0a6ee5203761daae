/* tests/guests/insn_page_crossing.c - instructions that straddle a page: each
 * byte of a mov of ten bytes in turn is the first of the next page; then the
 * next page is taken away, and the fetch faults there. */
#include "faults.h"

int main(void)
{
	static const uint8_t code[11] = {0x48, 0xb8, 1, 2, 3,	4,
					 5,    6,    7, 8, 0xc3};
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t (*f)(void);

	MUST(p != MAP_FAILED);
	for (int k = 1; k <= 10; k++) {
		memcpy(p + 4096 - k, code, sizeof code);
		f = (uint64_t(*)(void))(p + 4096 - k);
		for (int i = 0; i < 3; i++)
			SAME(f(), 0x0807060504030201);
	}
	fault_catch(SIGSEGV);
	for (int k = 1; k <= 10; k++) {
		MUST(mprotect(p, 8192, PROT_READ | PROT_WRITE) == 0);
		memcpy(p + 4096 - k, code, sizeof code);
		MUST(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
		f = (uint64_t(*)(void))(p + 4096 - k);
		FAULT("call *%%rcx", "c"(f), "a"(0x77));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_ACCERR, 14);
		/* with all ten bytes there it is the ret that is missing */
		SAME(fault.r[REG_RIP], p + 4096 - (k == 10 ? 0 : k));
		SAME(fault.addr, p + 4096);
		SAME(fault.r[REG_ERR] & 0x16, 0x14);
		SAME(fault.r[REG_RAX], k == 10 ? 0x0807060504030201 : 0x77);
	}
	return guest_end();
}
