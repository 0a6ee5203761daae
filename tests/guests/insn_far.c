// build: -no-pie
/* tests/guests/insn_far.c - far returns, jumps and calls to the same code
 * segment, and iretq in user mode, which also loads rsp and flags. Targets in
 * memory have 32 bits here: not every processor reads longer ones. */
#include "guest.h"

/* clang-format off */
asm(".globl far_ret\n"
    "far_ret:	mov %cs, %eax\n	push %rax\n	lea 1f(%rip), %rcx\n	push %rcx\n"
    "	mov $0, %eax\n	lretq\n	ud2\n"
    "1:	mov $21, %eax\n	ret\n"
    ".globl far_ret_n\n"
    "far_ret_n:	mov %rsp, %rdx\n	sub $32, %rsp\n	mov %cs, %eax\n	push %rax\n"
    "	lea 1f(%rip), %rcx\n	push %rcx\n	lretq $32\n	ud2\n"
    "1:	mov %rdx, %rax\n	sub %rsp, %rax\n	mov %rdx, %rsp\n	ret\n"
    ".globl far_jump\n"
    "far_jump:	lea 1f(%rip), %rax\n	mov %eax, -16(%rsp)\n	mov %cs, -12(%rsp)\n"
    "	ljmp *-16(%rsp)\n	ud2\n"
    "1:	mov $22, %eax\n	ret\n"
    ".globl far_call\n"
    "far_call:	lea 1f(%rip), %rax\n	mov %eax, -48(%rsp)\n	mov %cs, -44(%rsp)\n"
    "	mov $0, %eax\n	lcall *-48(%rsp)\n	ret\n"
    "1:	mov $23, %eax\n	lretl\n"
    ".globl iret\n"
    "iret:\n" /* rdi: where to store flags */
    "	mov %rsp, %rdx\n	mov %ss, %eax\n	push %rax\n	push %rdx\n"
    "	push $0x2d7\n	mov %cs, %eax\n	push %rax\n	lea 1f(%rip), %rax\n	push %rax\n"
    "	mov $24, %eax\n	iretq\n	ud2\n"
    "1:	pushfq\n	popq (%rdi)\n	sub %rsp, %rdx\n	add %rdx, %rax\n	ret\n");
/* clang-format on */
long far_ret(void), far_ret_n(void), far_jump(void), far_call(void);
long iret(uint64_t *flags);

int main(void)
{
	for (int i = 0; i < 100; i++) {
		uint64_t f;

		SAME(far_ret(), 21);
		SAME(far_ret_n(), 0);
		SAME(far_jump(), 22);
		SAME(far_call(), 23);
		SAME(iret(&f), 24);
		SAME(f, 0x2d7);
	}
	return guest_end();
}
