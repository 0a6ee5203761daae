/* tests/guests/insn_sse2_integer.c - packed integers: arithmetic with and
 * without saturation, packing, shifts by any count, and moves to and from
 * general registers, some against C, all of them in a sum. */
#include "guest.h"
#include <immintrin.h>

static uint64_t hash = 1;

static void add(__m128i v)
{
	hash = guest_hash(hash, &v, 16);
}

static void operations(__m128i a, __m128i b, __m128i n)
{
	add(_mm_add_epi8(a, b));
	add(_mm_adds_epi16(a, b));
	add(_mm_subs_epu8(a, b));
	add(_mm_sub_epi64(a, b));
	add(_mm_mullo_epi16(a, b));
	add(_mm_mulhi_epu16(a, b));
	add(_mm_mul_epu32(a, b));
	add(_mm_madd_epi16(a, b));
	add(_mm_sad_epu8(a, b));
	add(_mm_avg_epu16(a, b));
	add(_mm_cmpgt_epi32(a, b));
	add(_mm_cmpeq_epi8(a, b));
	add(_mm_max_epi16(a, b));
	add(_mm_min_epu8(a, b));
	add(_mm_packs_epi32(a, b));
	add(_mm_packus_epi16(a, b));
	add(_mm_unpackhi_epi8(a, b));
	add(_mm_unpacklo_epi64(a, b));
	add(_mm_shuffle_epi32(a, 0x39));
	add(_mm_shufflehi_epi16(a, 0x1b));
	add(_mm_shufflelo_epi16(a, 0x1b));
	add(_mm_sll_epi16(a, n));
	add(_mm_srl_epi64(a, n));
	add(_mm_sra_epi32(a, n));
	add(_mm_slli_si128(a, 5));
	add(_mm_srli_si128(a, 11));
	add(_mm_andnot_si128(a, b));
	add(_mm_insert_epi16(a, 0x1234, 6));
	hash = hash * 31 + (unsigned)_mm_movemask_epi8(a);
	hash = hash * 31 + (unsigned)_mm_extract_epi16(b, 3);
}

int main(void)
{
	uint64_t seed = 23, q[4];

	for (int i = 0; i < 300; i++) {
		for (int k = 0; k < 4; k++)
			q[k] = guest_random(&seed);
		operations(_mm_loadu_si128((void *)q),
			   _mm_loadu_si128((void *)(q + 2)),
			   _mm_cvtsi32_si128(i % 70));
		__m128i s = _mm_add_epi64(_mm_loadu_si128((void *)q),
					  _mm_loadu_si128((void *)(q + 2)));
		SAME(_mm_cvtsi128_si64(s), q[0] + q[2]);
		SAME(_mm_cvtsi128_si64(_mm_unpackhi_epi64(s, s)), q[1] + q[3]);
		s = _mm_srl_epi64(s, _mm_cvtsi32_si128(64)); /* all out */
		SAME(_mm_cvtsi128_si64(s), 0);
	}
	printf("%016lx\n", hash);
	return guest_end();
}
