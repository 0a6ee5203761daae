/* tests/guests/insn_maskmov.c - maskmovdqu stores through rdi, or through its
 * segment, only the chosen bytes; non-temporal moves, movq2dq, lddqu. */
#include "guest.h"
#include <asm/prctl.h>
#include <immintrin.h>
#include <sys/syscall.h>

int main(void)
{
	static uint8_t to[64] __attribute__((aligned(64)));
	__m128i data = _mm_set1_epi8(0x55),
		mask = _mm_setr_epi8(-1, 0, -1, 0, 0, 0, 0, 0, 127, -128, 0, 0,
				     0, 0, 0, -1);
	uint64_t q;

	MUST(syscall(SYS_arch_prctl, ARCH_SET_GS, to + 32) == 0);
	for (int i = 0; i < 20; i++) {
		memset(to, 0, sizeof to);
		asm volatile("maskmovdqu %1, %0\n\tsfence"
			     :
			     : "x"(data), "x"(mask), "D"(to + 3)
			     : "memory");
		SAME(to[3], 0x55);
		SAME(to[4], 0);
		SAME(to[5], 0x55);
		SAME(to[11], 0);
		SAME(to[12], 0x55);
		SAME(to[18], 0x55);
		asm volatile("gs maskmovdqu %1, %0\n\tsfence"
			     :
			     : "x"(data), "x"(mask), "D"(1ul)
			     : "memory");
		SAME(to[33], 0x55);
		SAME(to[34], 0);
		SAME(to[48], 0x55);
		asm volatile("movntdq %1, %0"
			     : "=m"(to[16])
			     : "x"(data)
			     : "memory");
		asm volatile("movntps %1, %0"
			     : "=m"(to[48])
			     : "x"(data)
			     : "memory");
		asm volatile("movntiq %1, %0\n\tsfence"
			     : "=m"(to[40])
			     : "r"(0x1122334455667788)
			     : "memory");
		SAME(to[17], 0x55);
		SAME(to[40], 0x88);
		SAME(to[63], 0x55);
		asm("lddqu %1, %%xmm3\n\tmovdq2q %%xmm3, %%mm2\n\t"
		    "movq2dq %%mm2, %%xmm4\n\tmovq %%xmm4, %0\n\temms"
		    : "=r"(q)
		    : "m"(to[40])
		    : "xmm3", "xmm4", "mm2");
		SAME(q, 0x1122334455667788);
	}
	return guest_end();
}
