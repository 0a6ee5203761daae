/* tests/guests/code_remap_pages.c - remap_file_pages shows another page of the
 * file at an address whose code has run. */
#include "guest.h"
#include <sys/syscall.h>

int main(void)
{
	int fd = memfd_create("pages", 0);
	uint8_t *p;

	MUST(fd >= 0 && ftruncate(fd, 4 * 4096) == 0);
	for (uint32_t i = 0; i < 4; i++) {
		uint8_t code[6] = "\xb8\0\0\0\0";
		uint32_t v = i * 100;

		code[5] = 0xc3;
		memcpy(code + 1, &v, 4);
		MUST(pwrite(fd, code, 6, i * 4096) == 6);
	}
	p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED,
		 fd, 0);
	MUST(p != MAP_FAILED);
	for (uint32_t i = 0; i < 40; i++) {
		SAME(((uint32_t(*)(void))(p + 4096))(),
		     i == 0 ? 100 : (i - 1) % 4 * 100);
		if (syscall(SYS_remap_file_pages, p + 4096, 4096, 0, i % 4,
			    0) != 0)
			guest_absent("kernel");
		SAME(((uint32_t(*)(void))(p + 4096))(), i % 4 * 100);
		SAME(((uint32_t(*)(void))p)(), 0);
	}
	return guest_end();
}
