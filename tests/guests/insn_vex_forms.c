/* tests/guests/insn_vex_forms.c - VEX of two and three bytes with every
 * extension: registers 8 to 15 as base, index, source and destination, rip,
 * an immediate behind the displacement, vex.w. */
#include "guest.h"

uint32_t v[8] __attribute__((aligned(32))) = {1, 2, 3, 4, 5, 6, 7, 8};

static uint64_t sum(void)
{
	uint32_t out[8];
	uint64_t h;

	asm volatile(
	    "lea v(%%rip), %%r8\n\tmov $1, %%r9d\n\tmov %%r8, %%r12\n\t"
	    "mov %%r8, %%r13\n\t"
	    "vmovdqa v(%%rip), %%ymm8\n\t"
	    "vpaddd v(%%rip), %%ymm8, %%ymm15\n\t"
	    "vpaddd -4(%%r8,%%r9,4), %%ymm15, %%ymm1\n\t"
	    "vpaddd (%%r12), %%ymm1, %%ymm9\n\t"
	    "vpaddd 0(%%r13), %%ymm9, %%ymm9\n\t"
	    "vpshufd $0x1b, v(%%rip), %%ymm14\n\t"
	    "vpaddd %%ymm14, %%ymm9, %%ymm0\n\t"
	    "vpblendw $0x3c, v(%%rip), %%ymm0, %%ymm0\n\t"
	    "vperm2i128 $1, v(%%rip), %%ymm0, %%ymm2\n\t"
	    "vpxor %%ymm2, %%ymm0, %%ymm0\n\t"
	    "vpinsrd $2, v+4(%%rip), %%xmm0, %%xmm3\n\t"
	    "vinserti128 $0, %%xmm3, %%ymm0, %%ymm0\n\t"
	    "vmovdqu %%ymm0, %0\n\tvzeroupper"
	    : "=m"(out)::"r8", "r9", "r12", "r13", "xmm0", "xmm1", "xmm2",
	      "xmm3", "xmm8", "xmm9", "xmm14", "xmm15");
	h = guest_hash(1, out, 32);
	SAME(out[2], 2);
	return h;
}

int main(void)
{
	uint64_t first;

	if (!__builtin_cpu_supports("avx2"))
		guest_absent("processor");
	first = sum();
	for (int i = 0; i < 50; i++)
		SAME(sum(), first);
	printf("%016lx\n", first);
	return guest_end();
}
