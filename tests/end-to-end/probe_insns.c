/* tests/end-to-end/probe_insns.c - calls the functions of probe_insns.S, and
 * knows what each of them has to return.
 *
 *	probe_insns ROUNDS THREADS
 *
 * Says "hit FUNCTION N" of each. What it executes depends on ROUNDS and THREADS
 * alone, so that instructions can be counted, too. */
#include "guest.h"
#include <pthread.h>

/* clang-format off */
#define CASES(C) \
	C(red_zone) C(carry) C(flags) C(direction) C(misaligned) C(loops) \
	C(own_address) C(calls) C(table) C(tiny) C(loop_head) \
	C(unforeseen) C(overlap) C(strings) C(stack) C(relative) C(tail) \
	C(prefixes) C(system) C(vectors) C(vectors_256) C(vectors_512) \
	C(landing)
/* clang-format on */

typedef uint64_t function(uint64_t a, uint64_t b, unsigned char *page);

#define C(name) function case_##name;
CASES(C)
#undef C
static const struct {
	const char *name;
	function *call;
} cases[] = {
#define C(name) {#name, case_##name},
    CASES(C)
#undef C
};
enum { CASES_N = sizeof cases / sizeof *cases };

struct worker {
	pthread_t thread;
	uint64_t n;
	unsigned char *page;
};

static unsigned long rounds;
static unsigned char pages[8][4096] __attribute__((aligned(4096)));

static unsigned char first[256];

static uint64_t carry(uint64_t a, uint64_t b)
{
	uint64_t sum = 0, c = 0;

	for (int i = 0; i < 4; i++) {
		unsigned __int128 x = (unsigned __int128)a + b + c;

		c = (uint64_t)(x >> 64);
		sum += (uint64_t)x;
	}
	return sum + c;
}

static uint64_t loops(uint64_t b)
{
	return 3 * (b & 7) + 5 + 6 + 3;
}

static uint64_t prefixes(uint64_t a)
{
	uint64_t x = 0x1122334455667788, y;
	uint32_t be;
	unsigned carry_in, carry_out, flags;

	x = (x & ~0xffffull) | (uint16_t)((uint16_t)(x + 0x1234) ^ a);
	x = __builtin_bswap64(x);
	memcpy(&be, first, 4);
	x += __builtin_bswap32(be);
	y = x << 7 | a >> 57;
	carry_in = a >> 3 & 1;
	carry_out = y >> 63;
	x = y << 1 | carry_in;
	/* lahf: bt and rcl leave ZF, SF and PF of shld. */
	flags = 0x12 | carry_out | (y == 0) << 6 | (y >> 63) << 7 |
		!__builtin_parity(y & 0xff) << 2;
	x = (x & ~0xff00ull) | (uint64_t)flags << 8;
	return x ^ (carry_out ? ~0ull : 0);
}

/* What function i has to return. */
static uint64_t wanted(unsigned i, uint64_t a, uint64_t b)
{
	static const uint64_t table[] = {11, 22, 0, -1ull};
	static const unsigned unforeseen[] = {15, 14, 12, 8};

#define IS(name) (cases[i].call == case_##name)
	if (IS(red_zone))
		return 16 * a + 8 * 136;
	if (IS(carry))
		return carry(a, b);
	if (IS(flags) || IS(own_address) || IS(calls))
		return 0;
	if (IS(direction))
		return 0x0f0e0d0c0b0a0908;
	if (IS(misaligned))
		return a ^ b;
	if (IS(loops))
		return loops(b);
	if (IS(table))
		return table[a & 3];
	if (IS(tiny))
		return (uint32_t)(a + 4);
	if (IS(loop_head))
		return (uint32_t)(b + ((a & 7) ? (a & 7) : 8));
	if (IS(unforeseen))
		return unforeseen[a & 3];
	if (IS(overlap) || IS(tail))
		return IS(overlap) ? a : b + a + !(a & 1);
	if (IS(strings))
		return 40 - 34 + 8 * (32 - 21);
	if (IS(stack))
		return a - 5 + 2;
	if (IS(relative))
		return a;
	if (IS(prefixes))
		return prefixes(a);
	if (IS(system))
		return (uint64_t)gettid();
	if (IS(vectors))
		return (a ^ b) + (a + b);
	if (IS(vectors_256))
		return (a + 4) ^ a;
	if (IS(vectors_512))
		return a + 8 + 1;
	return a + b; /* landing */
#undef IS
}

static int absent(unsigned i)
{
	if (cases[i].call == case_vectors_256)
		return !__builtin_cpu_supports("avx2");
	if (cases[i].call == case_vectors_512)
		return !__builtin_cpu_supports("avx512dq") ||
		       !__builtin_cpu_supports("avx512vl");
	return 0;
}

static void *work(void *p)
{
	struct worker *w = p;
	uint64_t a = w->n, b = 0x9e3779b97f4a7c15 * (w->n + 1);

	for (unsigned long r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < CASES_N; i++) {
			uint64_t got, want;

			memcpy(w->page, first, sizeof first);
			if (absent(i))
				continue;
			got = cases[i].call(a, b, w->page);
			want = wanted(i, a, b);
			if (got != want) {
				guest_wrong = 1;
				dprintf(1, "%s(%#lx, %#lx): %#lx, not %#lx\n",
					cases[i].name, a, b, got, want);
			}
		}
		a = a * 6364136223846793005 + 1442695040888963407;
		b ^= a >> 7;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker w[8];
	int n;

	MUST(argc == 3);
	rounds = strtoul(argv[1], NULL, 10);
	n = atoi(argv[2]);
	MUST(n > 0 && n <= 8);
	__builtin_cpu_init();
	for (int i = 0; i < 256; i++)
		first[i] = (unsigned char)i;
	for (int i = 0; i < n; i++) {
		w[i].n = (uint64_t)i;
		w[i].page = pages[i];
		MUST(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
	}
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	for (unsigned i = 0; i < CASES_N; i++)
		if (!absent(i))
			printf("hit case_%s %lu\n", cases[i].name,
			       rounds * (unsigned long)n);
	return guest_end();
}
