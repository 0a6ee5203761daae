/* tests/guests/insn_all_registers.c - sixteen general registers and the flags,
 * all live at once, through loops, calls, returns and indirect jumps: nothing
 * that the program did not write may change. */
#include "guest.h"

/* clang-format off */
asm(".data\n	.balign 8\n"
    "keep: .quad 0\nflags: .quad 0\nto: .quad 0\n.text\n"
    "leaf:	ret\n"
    ".globl run_all\n"
    "run_all:\n" /* rdi: 16 values in and out */
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	push %rdi\n	mov %rsp, keep(%rip)\n"
    "	lea 2f(%rip), %rax\n	mov %rax, to(%rip)\n"
    "	pushq $0xad7\n	popfq\n" /* CF PF AF ZF SF OF and IF */
    "	mov 8(%rdi), %rcx\n	mov 16(%rdi), %rdx\n	mov 24(%rdi), %rbx\n"
    "	mov (%rdi), %rax\n	mov 40(%rdi), %rbp\n	mov 48(%rdi), %rsi\n"
    "	mov 64(%rdi), %r8\n	mov 72(%rdi), %r9\n	mov 80(%rdi), %r10\n"
    "	mov 88(%rdi), %r11\n	mov 96(%rdi), %r12\n	mov 104(%rdi), %r13\n"
    "	mov 112(%rdi), %r14\n	mov 120(%rdi), %r15\n	mov 56(%rdi), %rdi\n"
    "	jmp 1f\n	ud2\n"
    "1:	call leaf\n	jmp *to(%rip)\n	ud2\n"
    "2:	jc 3f\n	ud2\n3:	jz 4f\n	ud2\n4:	jo 5f\n	ud2\n5:	js 6f\n	ud2\n"
    "6:	jp 7f\n	ud2\n7:	jrcxz 8f\n	loop 8f\n8:\n"
    "	pushfq\n	popq flags(%rip)\n"
    "	mov keep(%rip), %rsp\n"
    "	xchg %rdi, (%rsp)\n"
    "	mov %rax, (%rdi)\n	mov %rcx, 8(%rdi)\n	mov %rdx, 16(%rdi)\n"
    "	mov %rbx, 24(%rdi)\n	mov %rbp, 40(%rdi)\n	mov %rsi, 48(%rdi)\n"
    "	mov %r8, 64(%rdi)\n	mov %r9, 72(%rdi)\n	mov %r10, 80(%rdi)\n"
    "	mov %r11, 88(%rdi)\n	mov %r12, 96(%rdi)\n	mov %r13, 104(%rdi)\n"
    "	mov %r14, 112(%rdi)\n	mov %r15, 120(%rdi)\n	popq 56(%rdi)\n"
    "	mov flags(%rip), %rax\n	mov %rax, 32(%rdi)\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
    "	ret\n");
/* clang-format on */
void run_all(uint64_t v[16]);

int main(void)
{
	for (uint64_t round = 0; round < 500; round++) {
		uint64_t v[16], want[16];

		for (uint64_t i = 0; i < 16; i++)
			v[i] = want[i] =
			    (round * 16 + i + 1) * 0x9e3779b97f4a7c15;
		want[1]--; /* loop */
		want[4] = 0xad7;
		run_all(v);
		for (int i = 0; i < 16; i++)
			SAME(v[i], want[i]);
	}
	return guest_end();
}
