// build: -msse4.1
/* tests/guests/insn_sse_convert.c - conversions between integers and floats in
 * 32 and 64 bits: rounding against truncation, overflow, and the upper parts
 * that stay. */
#include "guest.h"
#include <immintrin.h>

static void scalars(double d)
{
	int64_t near64, cut64;
	int32_t near32, cut32;

	asm("cvtsd2si %4, %0\n\tcvttsd2si %4, %1\n\tcvtsd2si %4, %2\n\t"
	    "cvttsd2si %4, %3"
	    : "=&r"(near64), "=&r"(cut64), "=&r"(near32), "=&r"(cut32)
	    : "x"(d));
	if (d > -9e18 && d < 9e18) {
		SAME(cut64, (int64_t)d);
		SAME(near64, (int64_t)__builtin_rint(d));
	} else {
		SAME(cut64, INT64_MIN);
	}
	if (d > -2147483648.0 && d < 2147483647.0)
		SAME(cut32, (int32_t)d);
	else
		SAME(cut32, INT32_MIN);
	(void)near32;
}

int main(void)
{
	static const double in[] = {0,	 0.5,  1.5,  -1.5, -2.5, 1e9,
				    3e9, -3e9, 1e18, 1e19, -1e19};
	__m128 f = _mm_set1_ps(7);
	__m128d d = _mm_set1_pd(7);
	int64_t big = 0x123456789abcdef;
	uint64_t x;

	for (int r = 0; r < 10; r++)
		for (unsigned i = 0; i < sizeof in / sizeof in[0]; i++)
			scalars(in[i]);
	asm("cvtsi2sdq %1, %0" : "+x"(d) : "m"(big));
	CHECK(d[0] == 81985529216486896.0 && d[1] == 7);
	asm("cvtsi2ssl %1, %0" : "+x"(f) : "r"(-3));
	CHECK(f[0] == -3 && f[1] == 7 && f[3] == 7);
	asm("cvtsd2ss %1, %0" : "+x"(f) : "x"(d));
	CHECK(f[0] == 81985531201945600.0f && f[1] == 7);
	asm("cvtss2sd %1, %0" : "+x"(d) : "x"(f));
	CHECK(d[0] == (double)f[0] && d[1] == 7);
	asm("cvtdq2pd %1, %0" : "=x"(d) : "x"(_mm_set_epi32(4, 3, -2, 1)));
	CHECK(d[0] == 1 && d[1] == -2);
	asm("cvtpd2ps %1, %0" : "=x"(f) : "x"(d));
	CHECK(f[0] == 1 && f[1] == -2 && f[2] == 0 && f[3] == 0);
	asm("cvttps2dq %1, %0"
	    : "=x"(f)
	    : "x"(_mm_set_ps(1e20f, -1.7f, 2.7f, 0)));
	__m128i v = _mm_castps_si128(f);
	SAME(_mm_extract_epi32(v, 1), 2);
	SAME((uint32_t)_mm_extract_epi32(v, 2), (uint32_t)-1);
	SAME((uint32_t)_mm_extract_epi32(v, 3), 0x80000000);
	asm("movq %1, %0" : "=r"(x) : "x"(v));
	SAME(x, 0x200000000);
	asm("movd %1, %k0" : "=r"(x) : "x"(v));
	SAME(x, 0);
	/* through mmx, and back */
	asm volatile("cvtps2pi %1, %%mm0\n\tmovq %%mm0, %0\n\temms"
		     : "=r"(x)
		     : "x"(_mm_set_ps(0, 0, 3.5f, -2.5f))
		     : "mm0");
	SAME(x, 0x4fffffffe);
	return guest_end();
}
