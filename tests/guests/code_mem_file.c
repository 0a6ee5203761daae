/* tests/guests/code_mem_file.c - code changed through /proc/self/mem, which
 * heeds no protection, as debuggers and some patchers do. */
#include "guest.h"
#include <fcntl.h>

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;
	int mem = open("/proc/self/mem", O_RDWR);

	MUST(p != MAP_FAILED && mem >= 0);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	MUST(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
	SAME(f(), 0);
	for (uint32_t i = 1; i < 100; i++) {
		if (pwrite(mem, &i, 4, (off_t)(uint64_t)p + 1) != 4)
			guest_absent("kernel");
		SAME(f(), i);
	}
	return guest_end();
}
