/* tests/guests/code_pkey.c - protections changed by pkey_mprotect without a
 * key, which is mprotect by another number. */
#include "faults.h"
#include <sys/syscall.h>

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;

	MUST(p != MAP_FAILED);
	fault_catch(SIGSEGV);
	for (uint32_t i = 0; i < 100; i++) {
		if (syscall(SYS_pkey_mprotect, p, 4096, PROT_READ | PROT_WRITE,
			    -1) != 0)
			guest_absent("kernel");
		memcpy(p, "\xb8\0\0\0\0\xc3", 6);
		memcpy(p + 1, &i, 4);
		MUST(syscall(SYS_pkey_mprotect, p, 4096, PROT_READ | PROT_EXEC,
			     -1) == 0);
		SAME(f(), i);
		MUST(syscall(SYS_pkey_mprotect, p, 4096, PROT_READ, -1) == 0);
		FAULT("call *%%rcx", "c"(f));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_ACCERR, 14);
	}
	SAME(syscall(SYS_pkey_mprotect, p, 4096, PROT_READ, 77), -1);
	SAME(errno, EINVAL);
	/* to execute only */
	MUST(mprotect(p, 4096, PROT_EXEC) == 0);
	SAME(f(), 99);
	return guest_end();
}
