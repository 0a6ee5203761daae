/* tests/guests/insn_xsave.c - xsave, xsaveopt, xsavec and xrstor with partial
 * masks: headers, which components are written, restored or initialised. */
#include "guest.h"

static uint8_t area[4096] __attribute__((aligned(64)));
static uint64_t ymm[4];

static void load(uint64_t v)
{
	for (unsigned i = 0; i < 4; i++)
		ymm[i] = v + i;
	asm volatile("vmovdqu %0, %%ymm6" ::"m"(ymm) : "xmm6");
}

static void see(uint64_t low, uint64_t high)
{
	asm volatile("vmovdqu %%ymm6, %0" : "=m"(ymm));
	SAME(ymm[0], low);
	SAME(ymm[2], high);
}

static void save(int how, uint32_t mask)
{
	memset(area, 0, sizeof area);
	if (how == 0)
		asm volatile("xsave64 %0" : "+m"(area) : "a"(mask), "d"(0));
	else if (how == 1)
		asm volatile("xsaveopt64 %0" : "+m"(area) : "a"(mask), "d"(0));
	else
		asm volatile("xsavec64 %0" : "+m"(area) : "a"(mask), "d"(0));
}

static void restore(uint32_t mask)
{
	asm volatile("xrstor64 %0" ::"m"(area), "a"(mask), "d"(0)
		     : "memory", "xmm6");
}

int main(void)
{
	unsigned a, b, c, d, kinds = 1;
	uint64_t header[2];

	if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) ||
	    !__builtin_cpu_supports("avx"))
		guest_absent("processor");
	kinds += a & 1;
	kinds += (a & 3) == 3;
	for (int r = 0; r < 10; r++)
		for (unsigned how = 0; how < kinds; how++) {
			load(100);
			save((int)how, 7);
			memcpy(header, area + 512, 16);
			SAME(header[0] & 6, 6);
			SAME(header[1], how == 2 ? 0x8000000000000007 : 0);
			load(900);
			restore(7);
			see(100, 102);
			load(900);
			restore(2); /* SSE alone: the upper half stays */
			see(100, 902);
			load(900);
			restore(4); /* AVX alone: the lower half stays */
			see(900, 102);
			asm volatile("vzeroupper");
			save((int)how, 7); /* nothing in AVX to save */
			memcpy(header, area + 512, 8);
			if (how > 0)
				SAME(header[0] & 4, 0);
			load(900);
			restore(7);
			see(900, 0);
		}
	asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	SAME(a & 7, 7);
	asm volatile("vzeroupper");
	return guest_end();
}
