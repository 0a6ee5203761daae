/* tests/guests/back_masked.c - stores that leave bytes alone, and one that
 * nobody sees.
 *
 * A buffer is filled by the kernel, with what the program never looks at; then
 * some of its elements are stored to, by a mask. What was not stored to must
 * not be taken for known. Flags are pushed to a place of which something else
 * was known. Says: address and 8 bytes there at `here`, for each place. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Alignas(64) uint64_t buffer[8];
static uint64_t stack[64];

__attribute__((noinline)) void here(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Elements 0, 1 and 6 of 8 ints. */
__attribute__((target("avx2"))) static void store_some(void)
{
	const __m256i mask = _mm256_setr_epi32(-1, -1, 0, 0, 0, 0, -1, 0);

	_mm256_maskstore_epi32((int *)buffer, mask,
			       _mm256_set1_epi32(0x11223344));
}

__attribute__((target("avx512vl,avx512bw"))) static void store_bytes(void)
{
	_mm256_mask_storeu_epi8(buffer + 4, 0x000000ff, _mm256_set1_epi8(0x55));
}

/* Where the flags of the first were, then those of the second. */
static void push_flags(void)
{
	stack[40] = 0x1234567;
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %0, %%rsp\n\t"
			 "cmp %%rax, %%rax\n\t"
			 "pushfq\n\t"
			 "mov %%rbx, %%rsp"
			 :
			 : "r"(stack + 41)
			 : "rbx", "memory", "cc");
}

static void say(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	printf("%p %llx\n", at, (unsigned long long)value);
}

int main(void)
{
	uint8_t bytes[64];
	int fds[2];

	memset(bytes, 0xa7, sizeof bytes);
	if (!__builtin_cpu_supports("avx2") || pipe(fds) < 0)
		return 77;
	for (int i = 0; i < 2; i++)
		if (write(fds[1], bytes, 32) != 32 ||
		    read(fds[0], buffer + 4 * i, 32) != 32)
			return 1;
	store_some();
	if (__builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw"))
		store_bytes();
	push_flags();
	here();
	printf("%p\n", (void *)here);
	for (int i = 0; i < 8; i++)
		say(&buffer[i]);
	say(&stack[40]);
	return 0;
}
