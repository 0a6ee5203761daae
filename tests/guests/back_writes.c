/* tests/guests/back_writes.c - tells every value that it ever puts into a
 * variable, and where that is, in many ways of putting it there.
 *
 * One line `ADDRESS LENGTH`, then one for each write: what the eight bytes are
 * behind it, as a hexadecimal number. */
#include "guest.h"

enum { ROUNDS = 400 };

static struct {
	uint8_t before[64];
	uint64_t value;
	uint8_t behind[64];
} v __attribute__((aligned(64)));

static uint64_t told[ROUNDS * 16];
static unsigned n;

#define TELL()                                              \
	do {                                                \
		asm volatile("" ::: "memory");              \
		told[n++] = *(volatile uint64_t *)&v.value; \
	} while (0)

static void put(uint64_t x)
{
	uint64_t *p = &v.value, a = x, zero = 0, old;
	uint8_t line[64];

	asm volatile("movq %1, %0" : "=m"(*p) : "r"(x));
	TELL();
	asm volatile("addl $7, %0" : "+m"(*p)::"cc");
	TELL();
	asm volatile("lock xaddq %0, %1" : "+r"(a), "+m"(*p)::"cc");
	TELL();
	asm volatile("xchgw %w0, %1" : "+r"(zero), "+m"(*p));
	TELL();
	asm volatile("movb $0x5a, 3(%0)" ::"r"(p) : "memory");
	TELL();
	asm volatile("movdqu %1, %%xmm0; movdqu %%xmm0, -8(%0)" ::"r"(p),
		     "m"(*(const uint8_t(*)[16])v.before)
		     : "xmm0", "memory");
	TELL();
	old = *p;
	asm volatile("lock cmpxchgq %2, %1"
		     : "+a"(old), "+m"(*p)
		     : "r"(x * 3)
		     : "cc");
	TELL();
	asm volatile("lock xorl $0x11, 4(%0)" ::"r"(p) : "memory", "cc");
	TELL();
	for (unsigned i = 0; i < sizeof line; i++)
		line[i] = (uint8_t)(x >> i % 8);
	{
		void *to = v.before + 40, *from = line;
		uint64_t len = 40;

		asm volatile("rep movsb"
			     : "+D"(to), "+S"(from), "+c"(len)
			     :
			     : "memory");
	}
	TELL();
	asm volatile("movq %%rsp, %%rax; leaq 8(%0), %%rsp; pushq %1;"
		     "movq %%rax, %%rsp" ::"r"(p),
		     "r"(x ^ 0x55)
		     : "rax", "memory");
	TELL();
}

int main(void)
{
	uint64_t x = 88172645463325252ull;

	printf("%lx 8\n", (unsigned long)&v.value);
	for (int i = 0; i < ROUNDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(v.before, &x, sizeof x);
		put(x);
	}
	for (unsigned i = 0; i < n; i++)
		printf("%lx\n", (unsigned long)told[i]);
	return 0;
}
