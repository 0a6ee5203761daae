/* tests/guests/insn_pop_readonly.c - a table is read with pop, the stack
 * pointer in read-only memory, right up to its end: nothing may be written
 * below or above the stack pointer on the side. */
#include "guest.h"

enum { N = 512 };

/* clang-format off */
asm(".globl pop_sum\n"
    "pop_sum:\n" /* rdi: table, rsi: pops */
    "	mov %rsp, %rdx\n	mov %rdi, %rsp\n	xor %eax, %eax\n"
    "1:	pop %rcx\n	add %rcx, %rax\n	rol %rax\n"
    "	sub $1, %rsi\n	jnz 1b\n"
    "	lea 2f(%rip), %r8\n	jmp *%r8\n"
    "2:	mov %rdx, %rsp\n	ret\n");
/* clang-format on */
uint64_t pop_sum(const uint64_t *table, long n);

int main(void)
{
	uint64_t *t = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		 want = 0;

	MUST(t != MAP_FAILED && mprotect(t, 4096, PROT_NONE) == 0 &&
	     mprotect(t + 2 * N, 4096, PROT_NONE) == 0);
	t += N;
	for (uint64_t i = 0; i < N; i++)
		t[i] = i * i * 0x12345678901;
	MUST(mprotect(t, 4096, PROT_READ) == 0);
	for (int i = 0; i < N; i++) {
		want += t[i];
		want = want << 1 | want >> 63;
	}
	for (int i = 0; i < 20; i++)
		SAME(pop_sum(t, N), want);
	return guest_end();
}
