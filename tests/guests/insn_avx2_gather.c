/* tests/guests/insn_avx2_gather.c - all eight gathers: the mask chooses, is
 * cleared as elements arrive, and holds what is missing if one faults. */
#include "faults.h"
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2"), noinline))

static int32_t t[256];
static int64_t q[256];

AVX2 static void forms(void)
{
	__m256i i8 = _mm256_setr_epi32(7, -3, 100, 0, 42, 42, -99, 1);
	__m128i i4 = _mm_setr_epi32(5, -5, 90, 3);
	__m256i l4 = _mm256_setr_epi64x(11, -12, 13, -14);
	int32_t *mid = t + 128, o8[8];
	int64_t *qmid = q + 128, o4[4];

	_mm256_storeu_si256((void *)o8, _mm256_i32gather_epi32(mid, i8, 4));
	SAME(o8[0], mid[7]);
	SAME(o8[1], mid[-3]);
	SAME(o8[6], mid[-99]);
	_mm256_storeu_si256((void *)o4,
			    _mm256_i32gather_epi64((void *)qmid, i4, 8));
	SAME(o4[1], qmid[-5]);
	SAME(o4[2], qmid[90]);
	_mm256_storeu_si256((void *)o4,
			    _mm256_i64gather_epi64((void *)qmid, l4, 8));
	SAME(o4[3], qmid[-14]);
	_mm_storeu_si128((void *)o8, _mm256_i64gather_epi32(mid, l4, 4));
	SAME(o8[1], mid[-12]);
	_mm256_storeu_si256(
	    (void *)o8,
	    _mm256_mask_i32gather_epi32(
		_mm256_set1_epi32(-7), mid, i8,
		_mm256_setr_epi32(-1, 0, -1, 0, 0, 0, 0, 1 << 31), 4));
	SAME(o8[0], mid[7]);
	SAME(o8[1], -7);
	SAME(o8[7], mid[1]);
	__m256d d = _mm256_i32gather_pd((double *)qmid, i4, 8);
	int64_t bits;
	memcpy(&bits, &d, 8);
	SAME(bits, qmid[5]);
}

int main(void)
{
	int32_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t ones[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, out[8], mask[8];
	int32_t index[8] = {0, 1, 2, 1024, 3, 4, 5, 6};

	if (!__builtin_cpu_supports("avx2"))
		guest_absent("processor");
	for (int i = 0; i < 256; i++)
		t[i] = i * 3 - 5, q[i] = i * 5l - (1l << 40);
	for (int i = 0; i < 20; i++)
		forms();
	MUST(p != MAP_FAILED && mprotect(p + 1024, 4096, PROT_NONE) == 0);
	for (int i = 0; i < 1024; i++)
		p[i] = 100 + i;
	fault_catch(SIGSEGV);
	asm volatile("vmovdqu %0, %%ymm1\n\tvmovdqu %1, %%ymm2\n\t"
		     "vpxor %%ymm3, %%ymm3, %%ymm3" ::"m"(ones),
		     "m"(index)
		     : "xmm1", "xmm2", "xmm3");
	FAULT("vpgatherdd %%ymm1, (%%rdi,%%ymm2,4), %%ymm3", "D"(p));
	asm volatile("vmovdqu %%ymm3, %0\n\tvmovdqu %%ymm1, %1\n\tvzeroupper"
		     : "=m"(out), "=m"(mask));
	FAULTED(SIGSEGV, SEGV_ACCERR, 14);
	SAME(fault.r[REG_RIP], fault.at);
	SAME(fault.addr, p + 1024);
	for (int i = 0; i < 3; i++) { /* those before it have arrived */
		SAME(mask[i], 0);
		SAME(out[i], 100 + i);
	}
	SAME(mask[3], -1);
	return guest_end();
}
