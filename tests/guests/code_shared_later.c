/* tests/guests/code_shared_later.c - memory that is mapped twice; one mapping
 * becomes executable only later, by mprotect, and the code in it is changed
 * through the other. */
#include "guest.h"
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	int fd = memfd_create("code", 0);
	uint8_t *w, *x;

	MUST(fd >= 0 && ftruncate(fd, 4096) == 0);
	w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	MUST(w != MAP_FAILED && x != MAP_FAILED);
	memcpy(w, "\xb8\0\0\0\0\xc3", 6); /* mov $0, %eax; ret */
	MUST(mprotect(x, 4096, PROT_READ | PROT_EXEC) == 0);
	for (uint32_t i = 0; i < 1000; i++) {
		memcpy(w + 1, &i, 4);
		SAME(((uint32_t(*)(void))x)(), i);
	}
	return guest_end();
}
