/* tests/guests/code_rwx.c - a page that is writable and executable at once, its
 * function rewritten before each of ten thousand calls. */
#include "guest.h"

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;

	MUST(p != MAP_FAILED);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6); /* mov imm, eax; ret */
	for (uint32_t i = 0; i < 10000; i++) {
		memcpy(p + 1, &i, 4);
		if (f() != i)
			SAME(f(), i);
		if (f() != i) /* the second time it is warm */
			SAME(f(), i);
	}
	/* another shape in the same place */
	memcpy(p, "\x8d\x47\x05\xc3", 4); /* lea 5(rdi), eax; ret */
	SAME(((uint32_t(*)(int))p)(7), 12);
	memcpy(p, "\x90\x90\xb8\x09\0\0\0\xc3", 8);
	SAME(f(), 9);
	return guest_end();
}
