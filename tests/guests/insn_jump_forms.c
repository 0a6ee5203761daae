// build: -no-pie
/* tests/guests/insn_jump_forms.c - jmp through registers, through memory in
 * every addressing form, with 3e, f2 and rex prefixes. */
#include "guest.h"

/* clang-format off */
#define HOP(n, jump) "h" #n ":	add %r8, %rax\n	rol $3, %rax\n	" jump "\n"
asm(".data\n.balign 8\nhops: .quad h1, h2, h3, h4, h5, h6, h7, h8, h9\n.text\n"
    ".globl hop\n"
    "hop:	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n"
    "	mov %rdi, %rax\n	mov $12345, %r8d\n"
    "	lea hops(%rip), %rbx\n	mov %rbx, %rbp\n	mov %rbx, %r12\n"
    "	mov %rbx, %r13\n	mov $1, %ecx\n"
    "	mov (%rbx), %rdx\n	jmp *%rdx\n"
    HOP(1, "jmp *hops+8(%rip)")
    HOP(2, "jmp *16(%rbx)")
    HOP(3, "jmp *24(%rbp)")
    HOP(4, "notrack jmp *32(%r12)")
    HOP(5, "bnd jmp *40(%r13)")
    HOP(6, "jmp *hops+40(, %rcx, 8)")
    HOP(7, "mov %rsp, %r9\n	lea 56(%rbx), %rsp\n	jmp *(%rsp)")
    HOP(8, "mov %r9, %rsp\n	rex.w jmp *64(%rbx)")
    HOP(9, "pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n	ret"));
/* clang-format on */
uint64_t hop(uint64_t);

int main(void)
{
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t want = i * 0x9e3779b97f4a7c15;

		for (int k = 0; k < 9; k++) {
			want += 12345;
			want = want << 3 | want >> 61;
		}
		SAME(hop(i * 0x9e3779b97f4a7c15), want);
	}
	return guest_end();
}
