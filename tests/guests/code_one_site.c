/* tests/guests/code_one_site.c - one indirect call site and one indirect jump
 * with 4,096 distinct targets in random order; then one target for long, then
 * another: a cached guess must never be taken for the truth. */
#include "guest.h"

enum { N = 4096 };

static uint64_t (*f[N])(void);

__attribute__((noinline)) static uint64_t site(unsigned i)
{
	return f[i]() + 1;
}

int main(void)
{
	uint8_t *code = mmap(NULL, N * 16, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t seed = 77;

	MUST(code != MAP_FAILED);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t *p = code + i * 16;

		p[0] = 0xb8;
		memcpy(p + 1, &i, 4);
		p[5] = 0xc3;
		f[i] = (uint64_t(*)(void))p;
	}
	MUST(mprotect(code, N * 16, PROT_READ | PROT_EXEC) == 0);
	for (int i = 0; i < 50000; i++) {
		unsigned k = (unsigned)(guest_random(&seed) % N);

		if (site(k) != k + 1)
			SAME(site(k), k + 1);
	}
	for (unsigned k = 0; k < 8; k++) { /* also addresses 4 KiB apart */
		for (int i = 0; i < 2000; i++)
			if (site(k * 256) != k * 256 + 1)
				SAME(site(k * 256), k * 256 + 1);
	}
	return guest_end();
}
