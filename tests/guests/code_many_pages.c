/* tests/guests/code_many_pages.c - four thousand writable and executable pages,
 * each with code that runs and is changed, in a scrambled order; the number of
 * mappings is limited, and must suffice. */
#include "guest.h"

enum { N = 4000 };

int main(void)
{
	uint8_t *p = mmap(NULL, N * 4096ul, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < N; i++) {
			uint32_t k = i * 2741 % N, v = k + round;
			uint8_t *at = p + k * 4096ul + k % 256;

			memcpy(at, "\xb8\0\0\0\0\xc3", 6);
			memcpy(at + 1, &v, 4);
			if (((uint32_t(*)(void))at)() != v)
				SAME(((uint32_t(*)(void))at)(), v);
		}
	/* every second page becomes unwritable */
	for (uint32_t i = 0; i < N; i += 2)
		MUST(mprotect(p + i * 4096ul, 4096, PROT_READ | PROT_EXEC) ==
		     0);
	for (uint32_t i = 0; i < N; i++)
		if (((uint32_t(*)(void))(p + i * 4096ul + i % 256))() != i + 2)
			SAME(((uint32_t(*)(void))(p + i * 4096ul + i % 256))(),
			     i + 2);
	return guest_end();
}
