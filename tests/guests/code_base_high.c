// build: -mcmodel=large -static -Wl,--no-relax,-Ttext-segment=0x7f0000000000
/* tests/guests/code_base_high.c - a program linked to where libraries usually
 * lie, near the stack. */
#include "guest.h"

extern const char __executable_start[];

int main(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	SAME((uint64_t)__executable_start, 0x7f0000000000);
	MUST(p != MAP_FAILED);
	p[12345] = 6;
	SAME(p[12345], 6);
	return guest_end();
}
