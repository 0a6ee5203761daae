/* tests/guests/code_same_low_half.c - one instruction reads, or reads and
 * writes, at several addresses whose low halves are the same. */
#include "guest.h"
#include <immintrin.h>

enum { LEN = 9000, PLACES = 8 };

static const uint64_t four_gib = 1ull << 32;
static char *place[PLACES];

static void fill(char *at, uint64_t seed)
{
	for (int i = 0; i < LEN; i++)
		at[i] = (char)guest_random(&seed);
}

/* How many elements come before the one that ends a repeated cmps: the first
 * that differs (repe, from equal flags on) or the first that is the same. */
#define COMPARES(name, flags, insn, ends_equal)                          \
	static size_t name(const char *a, const char *b, size_t n)       \
	{                                                                \
		size_t left = n;                                         \
		uint8_t equal;                                           \
                                                                         \
		asm volatile(flags "; " insn "; sete %0"                 \
			     : "=q"(equal), "+S"(a), "+D"(b), "+c"(left) \
			     :                                           \
			     : "memory", "cc");                          \
		return equal == (ends_equal) ? n - left - 1 : n;         \
	}
COMPARES(same_bytes, "cmp %%rax, %%rax", "repe cmpsb", 0)
COMPARES(same_words, "cmp %%rax, %%rax", "repe cmpsq", 0)
COMPARES(other_bytes, "test %%rsp, %%rsp", "repne cmpsb", 1)

static void compare(void)
{
	static const int at[] = {0, 1, 31, 32, 4096, 8999};

	for (unsigned i = 0; i < sizeof at / sizeof at[0]; i++) {
		fill(place[0], 5);
		fill(place[1], 5);
		place[1][at[i]] ^= 1;
		SAME(same_bytes(place[0], place[1], LEN), at[i]);
		SAME(same_words(place[0], place[1], LEN / 8), at[i] / 8);
		SAME(other_bytes(place[0], place[1], LEN), at[i] == 0);
	}
	fill(place[1], 5);
	SAME(same_bytes(place[1], place[0], LEN), LEN);
	for (int i = 0; i < LEN; i++)
		place[1][i] = (char)~place[0][i];
	SAME(other_bytes(place[0], place[1], LEN), LEN);
	/* Overlapping by their low halves only */
	for (int i = 0; i < LEN - 40; i++)
		place[1][i + 40] = place[0][i];
	SAME(same_bytes(place[0], place[1] + 40, LEN - 40), LEN - 40);
	place[1][600] ^= 4;
	SAME(same_bytes(place[0], place[1] + 40, LEN - 40), 560);
}

static void copy_once(int by, int down)
{
	size_t n = LEN - 100;
	char *from = place[0] + 50, *to = place[1] + 50 + by;
	static char want[LEN];

	fill(place[0], (uint64_t)(by + 1000));
	fill(place[1], 9);
	memcpy(want, from, n);
	if (down) {
		from += n - 1;
		to += n - 1;
		asm volatile("std; rep movsb; cld"
			     : "+S"(from), "+D"(to), "+c"(n)::"memory");
	} else {
		asm volatile("rep movsb"
			     : "+S"(from), "+D"(to), "+c"(n)::"memory");
	}
	CHECK(memcmp(place[1] + 50 + by, want, LEN - 100) == 0);
	CHECK(memcmp(place[0] + 50, want, LEN - 100) == 0);
}

/* push and pop of memory, where the stack's low half is that of the operand. */
static void through_the_stack(void)
{
	uint64_t seen;

	*(volatile uint64_t *)place[0] = 77;
	*(volatile uint64_t *)place[1] = 78;
	asm volatile("mov %%rsp, %%rbx\n\t"
		     "lea 8(%2), %%rsp\n\t"
		     "pushq (%1)\n\t"
		     "incq (%1)\n\t"
		     "popq 8(%1)\n\t"
		     "mov %%rbx, %%rsp\n\t"
		     "mov 8(%1), %0"
		     : "=r"(seen)
		     : "r"(place[0]), "r"(place[1])
		     : "rbx", "memory", "cc");
	SAME(seen, 77);
	SAME(*(volatile uint64_t *)place[0], 78);
	SAME(*(volatile uint64_t *)place[1], 77);
}

__attribute__((target("avx2"))) static void gather_avx2(void)
{
	uint64_t got[4];
	__m256i step =
	    _mm256_set_epi64x((int64_t)(3 * four_gib), (int64_t)(2 * four_gib),
			      (int64_t)four_gib, 0);

	for (uint64_t i = 0; i < 4; i++)
		*(volatile uint64_t *)place[i] = i * 1000 + 1;
	step = _mm256_i64gather_epi64((const void *)place[0], step, 1);
	_mm256_storeu_si256((void *)got, step);
	for (uint64_t i = 0; i < 4; i++)
		SAME(got[i], i * 1000 + 1);
}

__attribute__((target("avx512f"))) static void gather_avx512(void)
{
	uint64_t got[8], steps[8];
	__m512i step;

	for (uint64_t i = 0; i < 8; i++) {
		steps[i] = i * four_gib;
		*(volatile uint64_t *)place[i] = i * 1000 + 2;
	}
	step = _mm512_loadu_si512(steps);
	_mm512_storeu_si512(got, _mm512_i64gather_epi64(step, place[0], 1));
	for (uint64_t i = 0; i < 8; i++)
		SAME(got[i], i * 1000 + 2);
	_mm512_i64scatter_epi64(place[0], step, _mm512_set1_epi64(5), 1);
	for (uint64_t i = 0; i < 8; i++)
		SAME(*(volatile uint64_t *)place[i], 5);
}

int main(void)
{
	for (uint64_t i = 0; i < PLACES; i++) {
		void *at = (void *)((i + 5) * four_gib + 0x10000000);

		MUST(mmap(at, 2 * LEN, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			  0) == at);
		place[i] = at;
	}
	compare();
	for (int by = -40; by <= 40; by += 8) {
		copy_once(by, 0);
		copy_once(by, 1);
	}
	through_the_stack();
	if (__builtin_cpu_supports("avx2"))
		gather_avx2();
	if (__builtin_cpu_supports("avx512f"))
		gather_avx512();
	return guest_end();
}
