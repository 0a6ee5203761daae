/* tests/guests/insn_syscall.c - after a system call rcx is the address behind
 * it, r11 the flags before it, rax the result; all else is as it was, flags
 * included. */
#include "guest.h"

/* clang-format off */
asm(".globl call_it\n"
    "call_it:\n" /* rdi: 16 words in and out; [0] number, [1] flags */
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	push %rdi\n"
    "	mov (%rdi), %rax\n	pushq 8(%rdi)\n	popfq\n"
    "	mov 16(%rdi), %rbx\n	mov 24(%rdi), %rbp\n	mov 32(%rdi), %r12\n"
    "	mov 40(%rdi), %r13\n	mov 48(%rdi), %r14\n	mov 56(%rdi), %r15\n"
    "	mov 64(%rdi), %rdx\n	mov 72(%rdi), %rsi\n	mov 80(%rdi), %r8\n"
    "	mov 88(%rdi), %r9\n	mov 96(%rdi), %r10\n"
    "	syscall\n"
    "1:	pushfq\n"
    "	mov 8(%rsp), %rdi\n"
    "	popq 8(%rdi)\n	mov %rax, (%rdi)\n"
    "	mov %rbx, 16(%rdi)\n	mov %rbp, 24(%rdi)\n	mov %r12, 32(%rdi)\n"
    "	mov %r13, 40(%rdi)\n	mov %r14, 48(%rdi)\n	mov %r15, 56(%rdi)\n"
    "	mov %rdx, 64(%rdi)\n	mov %rsi, 72(%rdi)\n	mov %r8, 80(%rdi)\n"
    "	mov %r9, 88(%rdi)\n	mov %r10, 96(%rdi)\n"
    "	lea 1b(%rip), %rax\n	sub %rax, %rcx\n	mov %rcx, 104(%rdi)\n"
    "	mov %r11, 112(%rdi)\n"
    "	cld\n	pop %rdi\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
    "	ret\n");
/* clang-format on */
void call_it(uint64_t w[16]);

int main(void)
{
	static const uint64_t flags[] = {0x202, 0xad7, 0x203,
					 0x602, 0x246, 0xa83};
	static const long numbers[] = {39, 102, 24, 5000, 186};

	for (unsigned i = 0; i < 300; i++) {
		uint64_t w[16], f = flags[i % 6];
		long n = numbers[i % 5];

		for (unsigned k = 0; k < 16; k++)
			w[k] = k * 0x9e3779b97f4a7c15 + i;
		w[0] = (uint64_t)n, w[1] = f;
		call_it(w);
		if (n == 39)
			SAME(w[0], getpid());
		if (n == 5000)
			SAME(w[0], -ENOSYS);
		for (unsigned k = 2; k < 13; k++)
			SAME(w[k], k * 0x9e3779b97f4a7c15 + i);
		SAME(w[1], f);
		SAME(w[13], 0);
		SAME(w[14], f);
	}
	return guest_end();
}
