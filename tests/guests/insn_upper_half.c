/* tests/guests/insn_upper_half.c - addresses with 67h wrap at 4 GiB, and
 * negative displacements and scaled indexes wrap at 2^64. */
#include "guest.h"

int main(void)
{
	uint32_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	uint64_t at = (uint64_t)low;
	static uint32_t cell = 4321;
	uint64_t v;

	MUST(low != MAP_FAILED);
	*low = 1234;
	for (int i = 0; i < 20; i++) {
		asm volatile("movl -0x70000000(%1), %k0"
			     : "=r"(v)
			     : "r"(at + 0x70000000));
		SAME(v, 1234);
		asm volatile("movl 0x20(%k1), %k0"
			     : "=r"(v)
			     : "r"(0xabcd000000000000 | (uint32_t)(at - 0x20)));
		SAME(v, 1234);
		asm volatile("movl (%k1,%k2,8), %k0"
			     : "=r"(v)
			     : "r"((at - 0x40000000 * 8ull) & 0xffffffff),
			       "r"(0x40000000ull));
		SAME(v, 1234);
		asm volatile("movl (%1,%2,8), %k0"
			     : "=r"(v)
			     : "r"((uint64_t)&cell - 8 * 0x2000000000000001ull),
			       "r"(0x2000000000000001));
		SAME(v, 4321);
		asm volatile("movl 8(%1), %k0"
			     : "=r"(v)
			     : "r"((uint64_t)&cell - 8));
		SAME(v, 4321);
	}
	return guest_end();
}
