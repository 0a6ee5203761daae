/* tests/guests/insn_call_forms.c - calls whose target is read through the stack
 * pointer, with bnd and notrack prefixes, or from where the return address is
 * about to be pushed: the target is read first, the push comes after. */
#include "guest.h"

/* clang-format off */
asm("seven:	mov $7, %eax\n	ret\n"
    "eight:	mov $8, %eax\n	ret\n"
    ".globl call_forms\n"
    "call_forms:\n" /* rdi: where to store five results */
    "	push %rbx\n	mov %rdi, %rbx\n"
    "	lea seven(%rip), %rcx\n	lea eight(%rip), %rdx\n"
    "	push %rcx\n	push %rdx\n"
    "	call *(%rsp)\n		mov %rax, (%rbx)\n"
    "	call *8(%rsp)\n		mov %rax, 8(%rbx)\n"
    /* the target stands where the return address will */
    "	add $8, %rsp\n"
    "	mov %rdx, -8(%rsp)\n"
    "	call *-8(%rsp)\n	mov %rax, 16(%rbx)\n"
    "	bnd call seven\n	mov %rax, 24(%rbx)\n"
    "	notrack call *%rdx\n	mov %rax, 32(%rbx)\n"
    "	mov $0, %eax\n"
    "	rex.w call *(%rsp)\n	mov %rax, 40(%rbx)\n"
    "	pop %rcx\n"
    "	lea 1f(%rip), %rax\n"
    "	call *%rax\n"
    "1:	pop %rcx\n	sub %rcx, %rax\n	mov %rax, 48(%rbx)\n"
    "	pop %rbx\n	ret\n");
/* clang-format on */
void call_forms(uint64_t *out);

int main(void)
{
	for (int i = 0; i < 100; i++) {
		uint64_t out[7] = {0};

		call_forms(out);
		SAME(out[0], 8);
		SAME(out[1], 7);
		SAME(out[2], 8);
		SAME(out[3], 7);
		SAME(out[4], 8);
		SAME(out[5], 7);
		SAME(out[6], 0); /* the return address is the target */
	}
	return guest_end();
}
