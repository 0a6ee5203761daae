/* tests/guests/code_mixed_page.c - code and the data it writes share a page,
 * even a line: every call stores beside itself, fifty thousand times. */
#include "guest.h"

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t (*count)(void) = (uint64_t(*)(void))p;

	MUST(p != MAP_FAILED);
	/* incq 48(here); mov 48(here), rax; ret */
	memcpy(p, "\x48\xff\x05\x29\0\0\0\x48\x8b\x05\x22\0\0\0\xc3", 15);
	for (uint64_t i = 1; i <= 50000; i++)
		if (count() != i)
			SAME(count(), i);
	SAME(*(uint64_t *)(p + 48), 50000);
	/* patched in the middle of it all */
	memcpy(p + 14, "\x48\xf7\xd8\xc3", 4); /* neg rax */
	SAME(count(), -50001l);
	return guest_end();
}
