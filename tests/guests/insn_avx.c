/* tests/guests/insn_avx.c - VEX instructions clear what lies above their width,
 * legacy SSE ones keep it; broadcasts, permutations, 256-bit loads across a
 * cache line, vzeroupper and vzeroall. */
#include "guest.h"
#include <immintrin.h>

#define AVX __attribute__((target("avx"), noinline))

AVX static void widths(void)
{
	uint64_t v[4] = {1, 2, 3, 4}, out[4];

	asm volatile("vmovdqu %1, %%ymm9\n\tpaddq %%xmm9, %%xmm9\n\t"
		     "vmovdqu %%ymm9, %0"
		     : "=m"(out)
		     : "m"(v)
		     : "xmm9");
	SAME(out[1], 4);
	SAME(out[3], 4); /* kept by the legacy form */
	asm volatile("vmovdqu %1, %%ymm9\n\tvpaddq %%xmm9, %%xmm9, %%xmm9\n\t"
		     "vmovdqu %%ymm9, %0\n\tvzeroupper"
		     : "=m"(out)
		     : "m"(v)
		     : "xmm9");
	SAME(out[1], 4);
	SAME(out[2] | out[3], 0); /* cleared by VEX */
	asm volatile(
	    "vmovdqu %1, %%ymm3\n\tvmovdqu %1, %%ymm14\n\tvzeroupper\n\t"
	    "vmovdqu %%ymm14, %0"
	    : "=m"(out)
	    : "m"(v)
	    : "xmm3", "xmm14");
	SAME(out[0], 1);
	SAME(out[2], 0);
	asm volatile("vmovdqu %1, %%ymm14\n\tvzeroall\n\tvmovdqu %%ymm14, %0"
		     : "=m"(out)
		     : "m"(v)
		     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
		       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
		       "xmm13", "xmm14", "xmm15");
	SAME(out[0] | out[1] | out[2] | out[3], 0);
}

AVX static void forms(void)
{
	static float f[24] __attribute__((aligned(64)));
	float out[8];
	uint64_t hash = 1;

	for (int i = 0; i < 24; i++)
		f[i] = (float)(i * i) - 100;
	for (int at = 0; at < 16; at++) {
		__m256 a = _mm256_loadu_ps(f + at), b = _mm256_set1_ps(f[at]),
		       r;

		r = _mm256_permute2f128_ps(a, b, 0x21);
		r = _mm256_add_ps(r, _mm256_permute_ps(a, 0x1b));
		r = _mm256_sub_ps(
		    r, _mm256_permutevar_ps(a, _mm256_set1_epi32(at)));
		r = _mm256_blendv_ps(r, a, _mm256_cmp_ps(a, b, _CMP_NGE_UQ));
		r = _mm256_hadd_ps(r, _mm256_broadcast_ss(f + 3));
		r = _mm256_addsub_ps(
		    r, _mm256_insertf128_ps(a, _mm_loadu_ps(f), 1));
		r = _mm256_div_ps(r, _mm256_round_ps(_mm256_set1_ps(2.7f), 1));
		_mm256_storeu_ps(out, r);
		hash = guest_hash(hash, out, 32);
		CHECK(_mm256_movemask_ps(b) == (f[at] < 0 ? 255 : 0));
		__m128 hi = _mm256_extractf128_ps(a, 1);
		CHECK(hi[0] == f[at + 4]);
	}
	printf("%016lx\n", hash);
}

int main(void)
{
	if (!__builtin_cpu_supports("avx"))
		guest_absent("processor");
	for (int i = 0; i < 20; i++)
		widths();
	forms();
	return guest_end();
}
