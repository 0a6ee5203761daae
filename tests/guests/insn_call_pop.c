/* tests/guests/insn_call_pop.c - a call that only fetches its own address; a
 * function that reads bytes behind its call and returns past them: return
 * addresses on the stack are those of the program. */
#include "guest.h"

/* clang-format off */
asm(".globl where\n"
    "where:	call 1f\n"
    "1:	pop %rax\n"
    "	lea 1b(%rip), %rcx\n"
    "	sub %rcx, %rax\n"
    "	ret\n"
    "skip:	pop %rdx\n"
    "	movsbq (%rdx), %rax\n"
    "	inc %rdx\n"
    "	jmp *%rdx\n"
    "skip2:	mov (%rsp), %rdx\n"
    "	movsbq (%rdx), %rcx\n"
    "	incq (%rsp)\n"
    "	ret\n"
    ".globl inline_data\n"
    "inline_data:\n"
    "	call skip\n	.byte -42\n"
    "	call skip2\n	.byte 3\n"
    "	add %rcx, %rax\n"
    "	ret\n");
/* clang-format on */
long where(void), inline_data(void);

int main(void)
{
	for (int i = 0; i < 100; i++) {
		SAME(where(), 0);
		SAME(inline_data(), -39);
	}
	return guest_end();
}
