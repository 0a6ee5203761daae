/* tests/guests/code_long_line.c - twenty thousand instructions without a
 * branch, then a loop of a thousand around them. */
#include "guest.h"

enum { N = 20000 };

int main(void)
{
	size_t size = N * 8 + 64;
	uint8_t *code = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*p = code;
	uint64_t want = 5, (*f)(uint64_t) = (uint64_t(*)(uint64_t))code;

	MUST(code != MAP_FAILED);
	memcpy(p, "\x48\x89\xf8", 3); /* mov rdi, rax */
	p += 3;
	for (uint32_t i = 0; i < N; i++) {
		if (i % 3 == 0) { /* rol imm8, rax */
			memcpy(p, "\x48\xc1\xc0", 3);
			p[3] = (uint8_t)(i % 63 + 1);
			p += 4;
		} else { /* xor or add imm32, rax */
			memcpy(p, i % 3 == 1 ? "\x48\x35" : "\x48\x05", 2);
			memcpy(p + 2, &i, 4);
			p += 6;
		}
	}
	*p = 0xc3;
	MUST(mprotect(code, size, PROT_READ | PROT_EXEC) == 0);
	for (int round = 0; round < 20; round++) {
		uint64_t v = want;

		for (uint32_t i = 0; i < N; i++) {
			uint32_t n = i % 63 + 1;

			if (i % 3 == 0)
				v = v << n | v >> (64 - n);
			else
				v = i % 3 == 1 ? v ^ i : v + i;
		}
		SAME(f(want), v);
		want = v;
	}
	return guest_end();
}
