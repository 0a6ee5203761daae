/* tests/guests/insn_avx2_integer.c - 256-bit integers: per-lane and crossing
 * permutations, variable shifts, broadcasts from memory, blends. */
#include "guest.h"
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2"), noinline))

static uint64_t hash = 1;

AVX2 static void operations(const void *pa, const void *pb)
{
	__m256i a = _mm256_loadu_si256(pa), b = _mm256_loadu_si256(pb), r[18];

	r[0] = _mm256_permutevar8x32_epi32(a, b);
	r[1] = _mm256_permute4x64_epi64(a, 0x1b);
	r[2] = _mm256_permute2x128_si256(a, b, 0x31);
	r[3] = _mm256_sllv_epi32(a, _mm256_srli_epi32(b, 26));
	r[4] = _mm256_srav_epi32(a, _mm256_srli_epi32(b, 27));
	r[5] = _mm256_srlv_epi64(a, _mm256_srli_epi64(b, 57));
	r[6] = _mm256_shuffle_epi8(a, b);
	r[7] = _mm256_alignr_epi8(a, b, 9);
	r[8] = _mm256_mpsadbw_epu8(a, b, 0x2d);
	r[9] = _mm256_packus_epi32(a, b);
	r[10] = _mm256_blend_epi32(a, b, 0xa5);
	r[11] = _mm256_broadcastw_epi16(_mm_loadu_si128(pb));
	r[12] = _mm256_broadcastsi128_si256(_mm_loadu_si128(pb));
	r[13] = _mm256_cvtepi8_epi32(_mm_loadu_si128(pa));
	r[14] = _mm256_madd_epi16(a, b);
	r[15] = _mm256_sad_epu8(a, b);
	r[16] = _mm256_unpackhi_epi16(a, b);
	r[17] = _mm256_cmpgt_epi64(a, b);
	hash = guest_hash(hash, r, sizeof r);
	hash = hash * 31 + (unsigned)_mm256_movemask_epi8(a);
}

AVX2 static void sums(void)
{
	uint64_t v[4] = {10, 20, 30, 40}, out[4];
	__m256i a = _mm256_loadu_si256((void *)v);

	a = _mm256_add_epi64(a, _mm256_set1_epi64x(-15));
	a = _mm256_sllv_epi64(a, _mm256_setr_epi64x(0, 1, 63, 64));
	_mm256_storeu_si256((void *)out, a);
	SAME(out[0], -5);
	SAME(out[1], 10);
	SAME(out[2], 1ull << 63);
	SAME(out[3], 0);
}

int main(void)
{
	uint64_t seed = 31, q[8];

	if (!__builtin_cpu_supports("avx2"))
		guest_absent("processor");
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 8; k++)
			q[k] = guest_random(&seed);
		operations(q, q + 4);
		sums();
	}
	printf("%016lx\n", hash);
	return guest_end();
}
