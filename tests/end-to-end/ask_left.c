/* tests/end-to-end/ask_left.c - stores by instructions that the recorder leaves
 * to the CPU, and by long ones that it once did. The program says what each
 * left. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef unsigned __int128 pair_t;

static volatile pair_t pair __attribute__((aligned(16)));
volatile uint64_t bits[4] = {1, 2, 3, 4};
static uint8_t area[512] __attribute__((aligned(64)));
static __thread volatile uint64_t own = 9;
static __thread volatile uint64_t own_bits[2] = {5, 6};

__attribute__((noinline)) void mark(uint64_t value)
{
	__asm__ volatile("" ::"r"(value) : "memory");
	printf("%lx\n", (unsigned long)value);
}

/* Nothing is loaded from where it stores but by the instruction itself. */
static uint64_t exchange_pair(uint64_t old_low, uint64_t low)
{
	uint64_t zero = 0;

	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(pair), "+a"(old_low), "+d"(zero)
			 : "b"(low), "c"(0ull)
			 : "cc");
	return low;
}

static uint64_t set_bit(volatile uint64_t *at, uint64_t bit, uint64_t before)
{
	__asm__ volatile("lock btsq %1, %0"
			 : "+m"(*at)
			 : "r"(bit)
			 : "cc", "memory");
	return before | 1ull << bit;
}

static void save_state(void)
{
	memset(area, 1, sizeof area);
	__asm__ volatile("fxsave %0" : "=m"(area));
}

/* The low halves of its addresses are those of the distances at which variables
 * lie from the base of fs. */
static void unmap_around(uint64_t border)
{
	enum { HALF = 4096 };
	char *at =
	    mmap((char *)border - HALF, 2 * HALF, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED || munmap(at, 2 * HALF) != 0)
		puts("no memory there");
}

int main(void)
{
	mark(exchange_pair(0, 5));
	mark(exchange_pair(5, 7));
	mark(set_bit(&bits[0], 3, 1));
	/* The bit is in another word than the operand. */
	__asm__ volatile("lock btsq %1, %0"
			 : "+m"(bits[0])
			 : "r"(64ull * 2 + 5)
			 : "cc", "memory");
	mark(3 | 1ull << 5);
	own = 0x3513f070;
	mark(0x3513f070);
	own = 0x3b0f5fea;
	mark(0x3b0f5fea);
	mark(set_bit(&own_bits[1], 9, 6));
	unmap_around(0x600000000000);
	save_state();
	mark(0x37f);
	return (area[0] | area[1] << 8) != 0x37f;
}
