/* tests/guests/code_churn.c - sixty megabytes of code in all, generated, run
 * and thrown away page by page, at ever new addresses: whatever keeps
 * translations must let go of them, too. */
#include "guest.h"

enum { CHUNK = 64 << 10, ROUNDS = 300 };

/* A chain of n little functions, each jumping to the next. */
static void fill(uint8_t *p, size_t len, uint32_t round)
{
	size_t n = len / 16;

	for (size_t i = 0; i < n; i++) {
		uint8_t *q = p + i * 16;

		q[0] = 0x05; /* add imm, eax */
		memcpy(q + 1, &round, 4);
		memcpy(q + 5, "\xeb\x09", 2);
		memset(q + 7, 0xcc, 9);
	}
	p[(n - 1) * 16 + 5] = 0xc3;
}

int main(void)
{
	uint8_t *keep[4] = {0};

	for (uint32_t r = 1; r <= ROUNDS; r++) {
		uint8_t *p =
		    mmap(NULL, CHUNK, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint32_t v;

		MUST(p != MAP_FAILED);
		fill(p, 16384, r);
		asm volatile("sub $128, %%rsp\n\tcall *%1\n\tadd $128, %%rsp"
			     : "=a"(v)
			     : "r"(p), "a"(0)
			     : "memory", "cc");
		if (v != r * 1024)
			SAME(v, r * 1024);
		if (keep[r % 4] != NULL)
			MUST(munmap(keep[r % 4], CHUNK) == 0);
		keep[r % 4] = p;
	}
	return guest_end();
}
