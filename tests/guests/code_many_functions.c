/* tests/guests/code_many_functions.c - five thousand generated functions, each
 * called through a table in a scrambled order, three times over. */
#include "guest.h"

enum { N = 5000, STEP = 32 };

int main(void)
{
	uint8_t *code = mmap(NULL, N * STEP, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint32_t (*table[N])(uint32_t);
	uint64_t sum = 0, want = 0;

	MUST(code != MAP_FAILED);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t *p = code + i * STEP;

		/* test $1, edi; jz +7; lea imm(rdi), eax; ret; mov imm, eax */
		memcpy(p, "\x40\xf6\xc7\x01\x74\x07\x8d\x87", 8);
		memcpy(p + 8, &i, 4);
		p[12] = 0xc3;
		p[13] = 0xb8;
		memcpy(p + 14, &i, 4);
		p[18] = 0xc3;
		table[i] = (uint32_t(*)(uint32_t))p;
	}
	MUST(mprotect(code, N * STEP, PROT_READ | PROT_EXEC) == 0);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < N; i++) {
			uint32_t k = i * 2741 % N;

			sum += table[k](i);
			want += i & 1 ? i + k : k;
		}
	SAME(sum, want);
	printf("%lu\n", sum);
	return guest_end();
}
