/* tests/guests/insn_avx_masked.c - masked loads and stores do not touch what
 * the mask leaves out, not even a page that is not there; one element too
 * many faults, at its address. */
#include "faults.h"
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2"), noinline))

AVX2 static void masked(int32_t *edge)
{
	for (int n = 0; n <= 8; n++) {
		int32_t m[8], out[8];
		__m256i mask, v;

		for (int i = 0; i < 8; i++)
			m[i] = i < n ? -1 : 0x7fffffff;
		mask = _mm256_loadu_si256((void *)m);
		v = _mm256_maskload_epi32(edge - n, mask);
		_mm256_storeu_si256((void *)out, v);
		for (int i = 0; i < 8; i++)
			SAME(out[i], i < n ? 1000 - n + i : 0);
		_mm256_maskstore_epi32(edge - n, mask, _mm256_add_epi32(v, v));
		SAME(n ? edge[-1] : 0, n ? 2 * 999 : 0);
		_mm256_maskstore_epi32(edge - n, mask, v);
	}
	__m128d d =
	    _mm_maskload_pd((double *)(edge - 2), _mm_set_epi64x(0, -1));
	SAME(d[1] == 0, 1);
}

int main(void)
{
	int32_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t mask[8] = {-1, -1, -1, -1, -1, 0, 0, 0};

	if (!__builtin_cpu_supports("avx2"))
		guest_absent("processor");
	MUST(p != MAP_FAILED && mprotect(p + 1024, 4096, PROT_NONE) == 0);
	for (int i = 0; i < 24; i++)
		p[1000 + i] = 976 + i;
	for (int i = 0; i < 10; i++)
		masked(p + 1024);
	fault_catch(SIGSEGV);
	asm volatile("vmovdqu %0, %%ymm1" ::"m"(mask) : "xmm1");
	FAULT("vpmaskmovd (%%rdi), %%ymm1, %%ymm2", "D"(p + 1020));
	FAULTED(SIGSEGV, SEGV_ACCERR, 14);
	SAME(fault.r[REG_RIP], fault.at);
	FAULT("vpmaskmovd %%ymm2, %%ymm1, (%%rdi)", "D"(p + 1020));
	FAULTED(SIGSEGV, SEGV_ACCERR, 14);
	SAME(fault.r[REG_ERR] & 2, 2);
	SAME(p[1023], 999); /* all or nothing */
	asm volatile("vzeroupper");
	return guest_end();
}
