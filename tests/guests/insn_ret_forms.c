/* tests/guests/insn_ret_forms.c - ret n, repz ret, bnd ret; returns to an
 * address that no call pushed; calls that never return; returns that skip
 * frames. No prediction of returns may change where they go. */
#include "guest.h"

/* clang-format off */
asm(".globl ret_n\n"
    "ret_n:\n" /* the callee takes three arguments from the stack */
    "	mov %rsp, %rdx\n"
    "	push $30\n	push $20\n	push $10\n"
    "	call 1f\n"
    "	sub %rsp, %rdx\n	neg %rdx\n"
    "	ret\n"
    "1:	mov 8(%rsp), %rax\n	add 16(%rsp), %rax\n	add 24(%rsp), %rax\n"
    "	ret $24\n"
    ".globl ret_prefixes\n"
    "ret_prefixes:	call 2f\n	call 3f\n	call 4f\n	ret\n"
    "2:	mov $1, %eax\n	repz ret\n"
    "3:	add $2, %eax\n	bnd ret\n"
    "4:	add $4, %eax\n	rex.w ret\n"
    ".globl push_ret\n"
    "push_ret:	lea 5f(%rip), %rax\n	push %rax\n	ret\n"
    "	mov $0, %eax\n	ret\n"
    "5:	mov $55, %eax\n	ret\n"
    ".globl changed\n"
    "changed:	mov $0, %eax\n	call 6f\n	inc %eax\n	inc %eax\n	ret\n"
    "6:	addq $2, (%rsp)\n	ret\n" /* skips one two-byte inc */
    ".globl skip_frames\n"
    "skip_frames:	call 7f\n	mov $-1, %eax\n	ret\n"
    "7:	call 8f\n	mov $-2, %eax\n	ret\n"
    "8:	add $16, %rsp\n	mov $9, %eax\n	ret\n"
    ".globl no_return\n"
    "no_return:\n" /* rdi calls without a return, unwound at once */
    "	mov %rsp, %rdx\n"
    "9:	dec %rdi\n	jz 10f\n	call 9b\n"
    "10:	mov %rdx, %rax\n	sub %rsp, %rax\n	mov %rdx, %rsp\n	ret\n");
/* clang-format on */
long ret_n(void), ret_prefixes(void), push_ret(void), changed(void);
long skip_frames(void), no_return(long);

int main(void)
{
	for (int i = 0; i < 200; i++) {
		SAME(ret_n(), 60);
		SAME(ret_prefixes(), 7);
		SAME(push_ret(), 55);
		SAME(changed(), 1);
		SAME(skip_frames(), 9);
		SAME(no_return(1000), 999 * 8);
	}
	return guest_end();
}
