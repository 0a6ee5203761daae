// build: -maes -mpclmul -msha -mssse3 -msse4.1
/* tests/guests/insn_crypto.c - AES, carry-less multiplication and SHA
 * instructions against published answers. */
#include "guest.h"
#include <immintrin.h>

/* FIPS 197, appendix C.1, encrypted and decrypted again. */
static void aes(void)
{
	__m128i k[11], inv, s,
	    in = _mm_set_epi64x(0xffeeddccbbaa9988, 0x7766554433221100);

	k[0] = _mm_set_epi64x(0x0f0e0d0c0b0a0908, 0x0706050403020100);
#define KEY(i, rcon)                                                   \
	do {                                                           \
		__m128i t = _mm_aeskeygenassist_si128(k[i - 1], rcon), \
			v = k[i - 1];                                  \
		v = _mm_xor_si128(v, _mm_slli_si128(v, 4));            \
		v = _mm_xor_si128(v, _mm_slli_si128(v, 8));            \
		k[i] = _mm_xor_si128(v, _mm_shuffle_epi32(t, 0xff));   \
	} while (0)
	KEY(1, 1);
	KEY(2, 2);
	KEY(3, 4);
	KEY(4, 8);
	KEY(5, 16);
	KEY(6, 32);
	KEY(7, 64);
	KEY(8, 128);
	KEY(9, 27);
	KEY(10, 54);
	s = _mm_xor_si128(in, k[0]);
	for (int i = 1; i < 10; i++)
		s = _mm_aesenc_si128(s, k[i]);
	s = _mm_aesenclast_si128(s, k[10]);
	SAME(_mm_extract_epi64(s, 0), __builtin_bswap64(0x69c4e0d86a7b0430));
	SAME(_mm_extract_epi64(s, 1), __builtin_bswap64(0xd8cdb78070b4c55a));
	s = _mm_xor_si128(s, k[10]);
	for (int i = 9; i > 0; i--) {
		inv = _mm_aesimc_si128(k[i]);
		s = _mm_aesdec_si128(s, inv);
	}
	s = _mm_aesdeclast_si128(s, k[0]);
	SAME(_mm_extract_epi64(s, 0), 0x7766554433221100);
	SAME(_mm_extract_epi64(s, 1), 0xffeeddccbbaa9988);
}

static void clmul(void)
{
	uint64_t a = 0x123456789abcdef1, b = 0xfedcba9876543211, hi = 0, lo = 0;
	__m128i v = _mm_set_epi64x((long)b, (long)a), r;

	for (int i = 0; i < 64; i++)
		if (b >> i & 1) {
			lo ^= a << i;
			hi ^= i ? a >> (64 - i) : 0;
		}
	r = _mm_clmulepi64_si128(v, v, 0x10);
	SAME(_mm_extract_epi64(r, 0), lo);
	SAME(_mm_extract_epi64(r, 1), hi);
	r = _mm_clmulepi64_si128(v, v, 0x01);
	SAME(_mm_extract_epi64(r, 1), hi);
}

/* Not a digest, but all seven instructions, in a sum. */
static void sha(void)
{
	__m128i a = _mm_set_epi32(0x67452301, (int)0xefcdab89, (int)0x98badcfe,
				  0x10325476),
		m = _mm_set_epi32(1, 2, 3, 4), e = a;

	for (int i = 0; i < 100; i++) {
		e = _mm_sha1nexte_epu32(e, m);
		a = _mm_sha1rnds4_epu32(a, e, 2);
		m = _mm_sha1msg2_epu32(_mm_sha1msg1_epu32(m, a), e);
		a = _mm_sha256rnds2_epu32(a, e, m); /* xmm0 is m */
		m = _mm_sha256msg2_epu32(_mm_sha256msg1_epu32(m, a), e);
	}
	printf("%016lx\n", guest_hash(guest_hash(1, &a, 16), &m, 16));
}

int main(void)
{
	unsigned a, b, c, d;

	if (!__builtin_cpu_supports("aes") || !__builtin_cpu_supports("pclmul"))
		guest_absent("processor");
	for (int i = 0; i < 5; i++) {
		aes();
		clmul();
	}
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 29 & 1)
		sha();
	return guest_end();
}
