/* tests/guests/insn_avx512.c - AVX-512 where the processor has it: 32
 * registers, opmasks that merge or clear, broadcast from memory, compress and
 * expand, two-source permutations, ternary logic, embedded rounding. */
#include "guest.h"
#include <immintrin.h>

#define Z \
	__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"), noinline))

static uint64_t hash = 1;

Z static void operations(const void *pa, const void *pb, uint64_t k)
{
	__m512i a = _mm512_loadu_si512(pa), b = _mm512_loadu_si512(pb), r[14];
	uint64_t out[8] = {0};

	r[0] = _mm512_mask_add_epi32(a, (__mmask16)k, a, b);
	r[1] = _mm512_maskz_sub_epi8(k, a, b);
	r[2] = _mm512_permutex2var_epi32(a, _mm512_srli_epi32(a, 27), b);
	r[3] = _mm512_ternarylogic_epi64(a, b, r[0], 0x96);
	r[4] = _mm512_maskz_compress_epi32((__mmask16)k, a);
	r[5] = _mm512_maskz_expand_epi64((__mmask8)k, b);
	r[6] = _mm512_rolv_epi64(a, b);
	r[7] = _mm512_mullo_epi64(a, b);
	r[8] = _mm512_movm_epi8(_mm512_cmpgt_epi8_mask(a, b));
	r[9] = _mm512_alignr_epi32(a, b, 5);
	r[10] = _mm512_castpd_si512(
	    _mm512_add_round_pd(_mm512_cvtepi64_pd(a), _mm512_cvtepi64_pd(b),
				_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
	r[11] = _mm512_shuffle_i64x2(a, b, 0x4e);
	r[12] = _mm512_sra_epi64(a, _mm_cvtsi32_si128(9));
	r[13] = _mm512_abs_epi16(b);
	hash = guest_hash(hash, r, sizeof r);
	_mm512_mask_compressstoreu_epi64(out, (__mmask8)k, a);
	hash = guest_hash(hash, out, sizeof out);
	_mm512_i32scatter_epi64(out, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0),
				a, 8);
	SAME(out[7], ((const uint64_t *)pa)[0]);
	SAME(out[0], ((const uint64_t *)pa)[7]);
}

uint32_t word = 7;

static void registers(void)
{
	uint64_t out[8], k = 0;

	asm volatile("vpbroadcastd word(%%rip), %%zmm31\n\t"
		     "kmovq %2, %%k5\n\tknotq %%k5, %%k6\n\tkmovq %%k6, %1\n\t"
		     "vpaddd word(%%rip)%{1to16%}, %%zmm31, %%zmm31%{%%k5%}\n\t"
		     "vmovdqu64 %%zmm31, %0"
		     : "=m"(out), "=r"(k)
		     : "r"(0x5555ul));
	SAME(out[0], 0x70000000e);
	SAME(out[7], 0x70000000e);
	SAME(k, ~0x5555ul);
}

int main(void)
{
	uint64_t seed = 37, q[16];

	if (!__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512vl"))
		guest_absent("processor");
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 16; k++)
			q[k] = guest_random(&seed);
		operations(q, q + 8, guest_random(&seed));
		registers();
	}
	asm volatile("vzeroupper");
	printf("%016lx\n", hash);
	return guest_end();
}
