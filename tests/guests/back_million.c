/* tests/guests/back_million.c - puts a million values into a variable, in eight
 * ways, and tells every one of them afterwards, one a line. */
#include "guest.h"

#include <stdlib.h>

enum { ROUNDS = 125000, WAYS = 8 };

struct {
	uint64_t left;
	uint64_t value;
	uint64_t right;
} million __attribute__((aligned(64)));

static uint64_t *told;

#define TELL()                                                  \
	do {                                                    \
		asm volatile("" ::: "memory");                  \
		*told++ = *(volatile uint64_t *)&million.value; \
	} while (0)

static void put(uint64_t x)
{
	uint64_t *p = &million.value, a = x, b = ~x, old;
	uint64_t pair[2] = {x, x * 5};

	asm volatile("movq %1, %0" : "=m"(*p) : "r"(x));
	TELL();
	asm volatile("addq %1, %0" : "+m"(*p) : "r"(x >> 7) : "cc");
	TELL();
	asm volatile("lock xaddq %0, %1" : "+r"(a), "+m"(*p)::"cc");
	TELL();
	asm volatile("xchgq %0, %1" : "+r"(b), "+m"(*p));
	TELL();
	asm volatile("movdqu %1, %%xmm0; movdqu %%xmm0, -8(%0)" ::"r"(p),
		     "m"(pair)
		     : "xmm0", "memory");
	TELL();
	old = *p;
	asm volatile("lock cmpxchgq %2, %1"
		     : "+a"(old), "+m"(*p)
		     : "r"(x * 3)
		     : "cc");
	TELL();
	asm volatile("movnti %1, %0" : "=m"(*p) : "r"(x + 9));
	TELL();
	asm volatile("movq %%rsp, %%rax; leaq 8(%0), %%rsp; pushq %1;"
		     "movq %%rax, %%rsp" ::"r"(p),
		     "r"(x ^ 0x55)
		     : "rax", "memory");
	TELL();
}

int main(void)
{
	uint64_t *all = malloc(sizeof *all * ROUNDS * WAYS);
	uint64_t x = 88172645463325252ull;

	told = all;
	for (int i = 0; i < ROUNDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		put(x);
	}
	for (uint64_t *p = all; p < told; p++)
		printf("%lu\n", (unsigned long)*p);
	free(all);
	return 0;
}
