/* tests/guests/insn_sse_float.c - packed and scalar SSE arithmetic, comparisons
 * by all eight predicates, shuffles, and what the scalar forms leave. */
#include "guest.h"
#include <immintrin.h>

static uint64_t hash = 1;

static void add(__m128 v)
{
	hash = guest_hash(hash, &v, 16);
}

static void operations(__m128 a, __m128 b)
{
	add(_mm_add_ps(a, b));
	add(_mm_sub_ss(a, b));
	add(_mm_mul_ps(a, b));
	add(_mm_div_ss(a, b));
	add(_mm_sqrt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), a)));
	add(_mm_min_ps(a, b));
	add(_mm_max_ss(b, a));
	add(_mm_rcp_ps(a));
	add(_mm_rsqrt_ss(_mm_max_ps(a, _mm_set1_ps(1))));
	add(_mm_cmpeq_ps(a, b));
	add(_mm_cmplt_ps(a, b));
	add(_mm_cmple_ss(a, b));
	add(_mm_cmpunord_ps(a, b));
	add(_mm_cmpneq_ps(a, b));
	add(_mm_cmpnlt_ps(a, b));
	add(_mm_cmpnle_ss(a, b));
	add(_mm_cmpord_ps(a, b));
	add(_mm_shuffle_ps(a, b, 0x1b));
	add(_mm_unpackhi_ps(a, b));
	add(_mm_unpacklo_ps(a, b));
	add(_mm_movehl_ps(a, b));
	add(_mm_movelh_ps(a, b));
	add(_mm_castpd_ps(_mm_add_pd(_mm_castps_pd(a), _mm_castps_pd(b))));
	add(_mm_castpd_ps(_mm_sqrt_sd(_mm_castps_pd(a), _mm_castps_pd(b))));
	add(_mm_castpd_ps(
	    _mm_shuffle_pd(_mm_castps_pd(a), _mm_castps_pd(b), 1)));
	SAME(_mm_movemask_ps(a),
	     (a[0] < 0) | (a[1] < 0) << 1 | (a[2] < 0) << 2 | (a[3] < 0) << 3);
}

int main(void)
{
	uint64_t seed = 17;
	float nan = __builtin_nanf(""), inf = __builtin_inff();
	float m[4] __attribute__((aligned(16))) = {1, 2, 3, 4};
	__m128 r;

	for (int i = 0; i < 200; i++) {
		float f[8];

		for (int k = 0; k < 8; k++)
			f[k] = (float)(int)guest_random(&seed) / 1024;
		operations(_mm_loadu_ps(f), _mm_loadu_ps(f + 4));
	}
	operations(_mm_set_ps(nan, inf, -inf, 1),
		   _mm_set_ps(1, -inf, inf, nan));
	/* loads of parts: ss clears the rest, low and high keep it */
	asm("movss %1, %0" : "=x"(r) : "m"(m[2]));
	CHECK(r[0] == 3 && r[1] == 0 && r[3] == 0);
	r = _mm_set1_ps(9);
	asm("movlps %1, %0" : "+x"(r) : "m"(m[0]));
	CHECK(r[0] == 1 && r[1] == 2 && r[2] == 9);
	asm("movhps %1, %0" : "+x"(r) : "m"(m[2]));
	CHECK(r[2] == 3 && r[3] == 4 && r[1] == 2);
	asm("movss %0, %%xmm7\n\tmovups %0, %%xmm7\n\tmovss %%xmm7, %%xmm7\n\t"
	    "movups %%xmm7, %0"
	    : "+m"(m)::"xmm7");
	CHECK(m[3] == 4);
	printf("%016lx\n", hash);
	return guest_end();
}
