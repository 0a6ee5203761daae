/* tests/guests/insn_fma_f16c.c - fused multiply-add rounds once, in its three
 * operand orders, scalar and packed; half floats and back. */
#include "guest.h"
#include <immintrin.h>

#define FMA __attribute__((target("fma,f16c,avx"), noinline))

FMA static void fused(double a, double b, double c)
{
	double want = __builtin_fma(a, b, c), x;

	x = a;
	asm("vfmadd132sd %2, %1, %0" : "+x"(x) : "x"(c), "x"(b));
	CHECK(x == want);
	x = a;
	asm("vfmadd213sd %2, %1, %0" : "+x"(x) : "x"(b), "m"(c));
	CHECK(x == want);
	x = c;
	asm("vfmadd231sd %2, %1, %0" : "+x"(x) : "x"(a), "m"(b));
	CHECK(x == want);
	x = c;
	asm("vfnmsub231sd %2, %1, %0" : "+x"(x) : "x"(a), "x"(b));
	CHECK(x == -want);
	__m256d v = _mm256_fmsubadd_pd(_mm256_set1_pd(a), _mm256_set1_pd(b),
				       _mm256_set1_pd(c));
	CHECK(v[0] == want && v[1] == __builtin_fma(a, b, -c));
	CHECK(v[2] == want && v[3] == v[1]);
}

FMA static void halves(void)
{
	float in[8] = {1, -2, 65504, 1e6f, 0x1p-24f, 0.1f, 3.14159f, -0.0f},
	      out[8];
	static const uint16_t want[8] = {0x3c00, 0xc000, 0x7bff, 0x7c00,
					 0x0001, 0x2e66, 0x4248, 0x8000};
	uint16_t h[8];

	_mm_storeu_si128((void *)h, _mm256_cvtps_ph(_mm256_loadu_ps(in), 0));
	CHECK(memcmp(h, want, sizeof h) == 0);
	_mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((void *)h)));
	CHECK(out[2] == 65504 && out[4] == 0x1p-24f && out[1] == -2);
	/* rounding from the immediate: up */
	_mm_storeu_si128((void *)h, _mm256_cvtps_ph(_mm256_loadu_ps(in), 2));
	SAME(h[6], 0x4249);
}

int main(void)
{
	if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
		guest_absent("processor");
	for (int i = 0; i < 20; i++) {
		fused(1 + 0x1p-52, 1 - 0x1p-52, -1); /* -2^-104, not 0 */
		fused(0.1, 10, -1);
		fused(1e200, 1e150, -3);
		halves();
	}
	CHECK(__builtin_fma(1 + 0x1p-52, 1 - 0x1p-52, -1) == -0x1p-104);
	return guest_end();
}
