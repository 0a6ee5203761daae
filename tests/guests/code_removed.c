/* tests/guests/code_removed.c - MADV_REMOVE and a hole punched into the file
 * turn shared code into zeros; writing it again through the file brings other
 * code. */
#include "faults.h"
#include <fcntl.h>

int main(void)
{
	int fd = memfd_create("holes", 0);
	uint8_t *p;

	MUST(fd >= 0 && ftruncate(fd, 8192) == 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd,
		 0);
	MUST(p != MAP_FAILED);
	fault_catch(SIGSEGV);
	for (uint32_t i = 0; i < 50; i++) {
		MUST(pwrite(fd, "\xb8\0\0\0\0\xc3", 6, 4096) == 6);
		MUST(pwrite(fd, &i, 4, 4097) == 4);
		SAME(((uint32_t(*)(void))(p + 4096))(), i);
		if (i & 1)
			MUST(madvise(p + 4096, 4096, MADV_REMOVE) == 0);
		else
			MUST(fallocate(
				 fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				 4096, 4096) == 0);
		FAULT("call *%%rcx", "c"(p + 4096),
		      "a"(40)); /* add al, (rax) */
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);
		SAME(fault.addr, 40);
	}
	return guest_end();
}
