/* tests/guests/code_far_away.c - code at addresses spread over the whole user
 * space, low and high, terabytes apart, calling each other. */
#include "guest.h"

enum { PLACES = 8 };

int main(void)
{
	static const uint64_t wish[PLACES] = {
	    0x10000000,	    0x7f000000,	    0x200000000,    0x5000000000,
	    0x100000000000, 0x300000000000, 0x500000000000, 0x6ffffff00000};
	uint8_t *at[PLACES];
	int n = 0;

	for (int i = 0; i < PLACES; i++) {
		uint8_t *p = mmap(
		    (void *)wish[i], 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p == MAP_FAILED) {
			MUST(errno == EEXIST);
			continue;
		}
		/* lea 1(rdi), rax; ret, or call the one before with rdi + 1 */
		if (n == 0) {
			memcpy(p, "\x48\x8d\x47\x01\xc3", 5);
		} else {
			uint64_t to = (uint64_t)at[n - 1];

			memcpy(p, "\x48\xff\xc7\x48\xb8", 5);
			memcpy(p + 5, &to, 8);
			/* sub 8, rsp; call rax; add 8, rsp; add rip-data; ret
			 */
			memcpy(p + 13,
			       "\x48\x83\xec\x08\xff\xd0\x48\x83\xc4\x08", 10);
			memcpy(p + 23, "\x48\x03\x05\xe2\0\0\0\xc3", 8);
			*(uint64_t *)(p + 256) = 1000; /* 30 + 0xe2 */
		}
		at[n++] = p;
	}
	MUST(n >= 4);
	for (uint64_t i = 0; i < 2000; i++) {
		int k = (int)(i % (uint64_t)n);
		uint64_t v = ((uint64_t(*)(uint64_t))at[k])(i);

		if (v != i + 1 + 1001ul * (uint64_t)k)
			SAME(v, i + 1 + 1001ul * (uint64_t)k);
	}
	return guest_end();
}
