/* tests/guests/insn_fxsave.c - fxsave64 and fxrstor64: x87 registers, control
 * words, MXCSR and xmm0 to xmm15 where the manual puts them. */
#include "guest.h"

struct image {
	uint16_t cw, sw;
	uint8_t tag, r1;
	uint16_t op;
	uint64_t ip, dp;
	uint32_t mxcsr, mask;
	uint8_t st[8][16], xmm[16][16], rest[96];
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct image) == 512, "as the processor writes it");

int main(void)
{
	struct image m, m2;
	uint32_t mx = 0x3f80;
	uint64_t x;

	for (uint64_t i = 0; i < 50; i++) {
		memset(&m, 0xcc, sizeof m);
		asm volatile(
		    "fninit\n\tfldpi\n\tfld1\n\tmovq %2, %%xmm11\n\t"
		    "movq %2, %%xmm0\n\tldmxcsr %3\n\tfxsave64 %0\n\t"
		    "fninit\n\tpxor %%xmm11, %%xmm11\n\tldmxcsr %4\n\t"
		    "fxrstor64 %0\n\tfxsave64 %1\n\tfninit\n\tldmxcsr %4"
		    : "=m"(m), "=m"(m2)
		    : "r"(i * 0x1234567), "m"(mx), "m"((uint32_t){0x1f80})
		    : "xmm0", "xmm11", "st", "st(1)");
		SAME(m.cw, 0x37f);
		SAME(m.sw >> 11 & 7, 6);
		SAME(m.tag, 0xc0);
		SAME(m.mxcsr, 0x3f80);
		memcpy(&x, m.xmm[11], 8);
		SAME(x, i * 0x1234567);
		SAME(m.xmm[11][8], 0);
		memcpy(&x, m.st[1], 8);
		SAME(x, 0xc90fdaa22168c235);
		SAME(m.st[0][9], 0x3f);
		SAME(m2.tag, m.tag);
		SAME(m2.mxcsr, m.mxcsr);
		CHECK(memcmp(m.st, m2.st, sizeof m.st) == 0);
		CHECK(memcmp(m.xmm, m2.xmm, sizeof m.xmm) == 0);
	}
	return guest_end();
}
