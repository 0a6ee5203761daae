/* tests/guests/code_dual_map.c - one memory file mapped twice, once to write
 * and once to execute: stores through one address change code at another. */
#include "guest.h"

int main(void)
{
	int fd = memfd_create("jit", 0);
	uint8_t *w, *x;
	uint32_t (*f)(void);

	MUST(fd >= 0 && ftruncate(fd, 8192) == 0);
	w = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	MUST(w != MAP_FAILED && x != MAP_FAILED);
	f = (uint32_t(*)(void))(x + 100);
	memcpy(w + 100, "\xb8\0\0\0\0\xc3", 6);
	for (uint32_t i = 0; i < 3000; i++) {
		memcpy(w + 101, &i, 4);
		if (f() != i)
			SAME(f(), i);
	}
	/* and through the file itself */
	for (uint32_t i = 5000; i < 5100; i++) {
		MUST(pwrite(fd, &i, 4, 101) == 4);
		if (f() != i)
			SAME(f(), i);
	}
	return guest_end();
}
