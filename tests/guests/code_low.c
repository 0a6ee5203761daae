// build: -no-pie
/* tests/guests/code_low.c - code below 2 GiB by MAP_32BIT, reached by direct
 * calls of 32 bits from a program that is low itself, and by 32-bit pointers.
 */
#include "guest.h"

static int twice(int x)
{
	return 2 * x;
}

int main(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int (*f)(int) = (int (*)(int))p;
	int64_t d;
	int32_t rel;
	uint32_t small;

	MUST(p != MAP_FAILED && (uint64_t)p < 1ull << 31);
	/* sub 8, rsp; call twice; add 8, rsp; inc eax; ret */
	d = (int64_t)twice - (int64_t)(p + 9);
	MUST(d == (int32_t)d);
	rel = (int32_t)d;
	memcpy(p, "\x48\x83\xec\x08\xe8", 5);
	memcpy(p + 5, &rel, 4);
	memcpy(p + 9, "\x48\x83\xc4\x08\xff\xc0\xc3", 7);
	/* the same as a tail jump */
	rel = (int32_t)((int64_t)twice - (int64_t)(p + 4096 + 5));
	p[4096] = 0xe9;
	memcpy(p + 4097, &rel, 4);
	small = (uint32_t)(uint64_t)p;
	for (int i = 0; i < 1000; i++) {
		int v;

		SAME(f(i), 2 * i + 1);
		SAME(((int (*)(int))(p + 4096))(i), 2 * i);
		asm volatile(
		    "mov %1, %%eax\n\tsub $136, %%rsp\n\tcall *%%rax\n\t"
		    "add $136, %%rsp"
		    : "=a"(v)
		    : "r"(small), "D"(i)
		    : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory",
		      "cc");
		SAME(v, 2 * i + 1);
	}
	return guest_end();
}
