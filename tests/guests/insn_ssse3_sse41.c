// build: -msse4.1
/* tests/guests/insn_ssse3_sse41.c - byte shuffles, alignment, horizontal sums,
 * blends by the implicit xmm0, inserts and extracts from memory, rounding, dot
 * products, mpsadbw, phminposuw. */
#include "guest.h"
#include <immintrin.h>

static uint64_t hash = 1;

static void add(__m128i v)
{
	hash = guest_hash(hash, &v, 16);
}

static void operations(__m128i a, __m128i b, __m128i m)
{
	__m128 fa = _mm_cvtepi32_ps(a), fb = _mm_cvtepi32_ps(b);

	add(_mm_shuffle_epi8(a, b));
	add(_mm_alignr_epi8(a, b, 7));
	add(_mm_hadd_epi16(a, b));
	add(_mm_hsubs_epi16(a, b));
	add(_mm_maddubs_epi16(a, b));
	add(_mm_mulhrs_epi16(a, b));
	add(_mm_sign_epi8(a, b));
	add(_mm_abs_epi32(a));
	add(_mm_blendv_epi8(a, b, m));
	add(_mm_castps_si128(_mm_blendv_ps(fa, fb, _mm_castsi128_ps(m))));
	add(_mm_blend_epi16(a, b, 0x5a));
	add(_mm_mullo_epi32(a, b));
	add(_mm_mul_epi32(a, b));
	add(_mm_packus_epi32(a, b));
	add(_mm_minpos_epu16(a));
	add(_mm_mpsadbw_epu8(a, b, 5));
	add(_mm_cvtepi8_epi64(a));
	add(_mm_cvtepu16_epi32(b));
	add(_mm_castps_si128(_mm_dp_ps(fa, fb, 0x7b)));
	add(_mm_castps_si128(_mm_round_ps(_mm_mul_ps(fa, _mm_set1_ps(1e-9f)),
					  _MM_FROUND_TO_NEG_INF)));
	add(_mm_castps_si128(_mm_insert_ps(fa, fb, 0x6c)));
	add(_mm_castps_si128(_mm_hadd_ps(fa, fb)));
	add(_mm_castps_si128(_mm_addsub_ps(fa, fb)));
	add(_mm_cmpeq_epi64(a, _mm_blend_epi16(a, b, 0xf)));
}

int main(void)
{
	uint64_t seed = 29, q[6];
	uint8_t cell[16] = {0};
	__m128i v =
	    _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 6; k++)
			q[k] = guest_random(&seed);
		operations(_mm_loadu_si128((void *)q),
			   _mm_loadu_si128((void *)(q + 2)),
			   _mm_loadu_si128((void *)(q + 4)));
	}
	asm("pextrb $9, %1, %0" : "=m"(cell[0]) : "x"(v));
	asm("pextrd $2, %1, %0" : "=m"(cell[4]) : "x"(v) : "memory");
	asm("pextrq $1, %1, %0" : "=m"(cell[8]) : "x"(v) : "memory");
	SAME(cell[0], 9);
	SAME(cell[4], 8);
	SAME(cell[15], 15);
	asm("pinsrq $0, %1, %0" : "+x"(v) : "m"(q[0]));
	SAME(_mm_extract_epi64(v, 0), q[0]);
	/* reversal by pshufb */
	v = _mm_shuffle_epi8(_mm_setr_epi8(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
					   12, 13, 14, 15, 16),
			     _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6,
					   5, 4, 3, 2, 1, -1));
	SAME(_mm_extract_epi64(v, 0), 0x090a0b0c0d0e0f10);
	SAME(_mm_extract_epi64(v, 1), 0x0002030405060708);
	printf("%016lx\n", hash);
	return guest_end();
}
