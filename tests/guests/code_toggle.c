/* tests/guests/code_toggle.c - write, then execute, never both: mprotect goes
 * to and fro, and each time the new code runs. */
#include "guest.h"

int main(void)
{
	uint8_t *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	for (uint32_t i = 0; i < 500; i++) {
		uint8_t *at = p + i % 3 * 4096 + i % 7 * 100;
		uint32_t (*f)(void) = (uint32_t(*)(void))at;

		MUST(mprotect(p, 3 * 4096, PROT_READ | PROT_WRITE) == 0);
		memset(p, 0xcc, 3 * 4096); /* nothing of the old is left */
		memcpy(at, "\xb8\0\0\0\0\xc3", 6);
		memcpy(at + 1, &i, 4);
		MUST(mprotect(p, 3 * 4096, PROT_READ | PROT_EXEC) == 0);
		for (int k = 0; k < 3; k++)
			if (f() != i)
				SAME(f(), i);
	}
	return guest_end();
}
