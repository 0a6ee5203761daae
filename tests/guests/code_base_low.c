// build: -no-pie -Wl,-Ttext-segment=0x10000 -Wl,-z,max-page-size=4096
/* tests/guests/code_base_low.c - a program linked to the lowest address that
 * may be mapped. */
#include "guest.h"

extern const char __executable_start[];

int main(void)
{
	char *p = malloc(100000);

	SAME((uint64_t)__executable_start, 0x10000);
	MUST(p != NULL);
	memset(p, 3, 100000);
	SAME(p[99999], 3);
	return guest_end();
}
