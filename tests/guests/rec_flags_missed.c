/* tests/guests/rec_flags_missed.c - flags that are wanted behind a load whose
 * memory the kernel has changed: the recorder looks at it meanwhile. A gather
 * is looked at with the flags in the processor. */
#include "guest.h"

enum { AC = 1 << 18 };

/* rdi: flags in; rsi: what is loaded; rax: flags out */
/* clang-format off */
asm(".text\n"
    "load_missed:\n"
    "	push %rdi\n	popfq\n"
    "	mov (%rsi), %rdx\n"
    "	jmp flags_out\n"
    "gather_missed:\n"
    "	mov $-1, %eax\n"
    "	kmovw %eax, %k1\n"
    "	vpxord %zmm1, %zmm1, %zmm1\n"
    "	push %rdi\n	popfq\n"
    "	vpgatherdd (%rsi, %zmm1, 4), %zmm0{%k1}\n"
    "flags_out:\n"
    "	pushfq\n	pop %rax\n"
    "	push $0x202\n	popfq\n"
    "	ret\n");
/* clang-format on */
uint64_t load_missed(uint64_t flags, const uint64_t *at);
uint64_t gather_missed(uint64_t flags, const uint64_t *at);

static uint64_t flags_of(unsigned v)
{
	return (v & 1 ? CF : 0) | (v & 2 ? PF : 0) | (v & 4 ? AF : 0) |
	       (v & 8 ? ZF : 0) | (v & 16 ? SF : 0) | (v & 32 ? OF : 0) |
	       (v & 64 ? DF : 0) | (v & 128 ? (uint64_t)AC : 0) | 0x202;
}

/* Another value than before, and nobody but the kernel knows. */
static void change(const int pipe[2], uint64_t *memory)
{
	static uint64_t value;

	value += 0x0101010101010101;
	MUST(write(pipe[1], &value, sizeof value) == sizeof value);
	MUST(read(pipe[0], memory, sizeof *memory) == sizeof *memory);
}

static void missed(uint64_t (*f)(uint64_t, const uint64_t *))
{
	static uint64_t memory;
	int ends[2];

	MUST(pipe(ends) == 0);
	for (unsigned v = 0; v < 256; v++) {
		uint64_t flags = flags_of(v);

		change(ends, &memory);
		SAME(f(flags, &memory), flags);
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	missed(load_missed);
	if (__builtin_cpu_supports("avx512f"))
		missed(gather_missed);
	return guest_end();
}
