/* tests/guests/code_sealed.c - a writable and executable page that is sealed by
 * mseal: nobody may change its protection any more, but stores into it still
 * change its code. */
#include "guest.h"
#include <sys/syscall.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;

	MUST(p != MAP_FAILED);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	SAME(f(), 0);
	if (syscall(SYS_mseal, p, 4096, 0) != 0)
		guest_absent("kernel");
	for (uint32_t i = 1; i < 1000; i++) {
		memcpy(p + 1, &i, 4);
		if (f() != i)
			SAME(f(), i);
	}
	SAME(mprotect(p, 4096, PROT_READ), -1);
	SAME(errno, EPERM);
	SAME(munmap(p, 4096), -1);
	SAME(errno, EPERM);
	SAME(f(), 999);
	return guest_end();
}
