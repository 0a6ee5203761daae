/* tests/guests/insn_push_pop.c - which stack pointer push rsp, pop rsp, push
 * and pop of memory addressed by it use; 16-bit pushes; immediates are
 * extended; nothing changes the flags. */
#include "guest.h"

/* clang-format off */
asm(".globl odd_pushes\n"
    "odd_pushes:\n" /* rdi: results */
    "	push %rbp\n	mov %rsp, %rbp\n	stc\n"
    "	push %rsp\n	pop %rax\n	mov %rax, (%rdi)\n" /* the old value */
    "	pushq 8(%rsp)\n	pop %rax\n	mov %rax, 8(%rdi)\n"
    "	push $0\n	push $11\n	popq (%rsp)\n" /* EA after the pop */
    "	pop %rax\n	mov %rax, 16(%rdi)\n"
    "	push $0\n	push $0\n	push $22\n	popq 8(%rsp)\n"
    "	pop %rcx\n	pop %rax\n	mov %rax, 24(%rdi)\n"
    "	lea 64(%rdi), %rax\n	push %rax\n	pop %rsp\n" /* the value wins */
    "	mov %rsp, %rax\n	mov %rbp, %rsp\n	sub %rdi, %rax\n	mov %rax, 32(%rdi)\n"
    "	stc\n"
    "	push $-2\n	pop %rax\n	mov %rax, 40(%rdi)\n"
    "	pushq $-0x7fffffff\n	pop %rax\n	mov %rax, 48(%rdi)\n"
    "	pushw $0x1234\n	pushw $0x5678\n	mov (%rsp), %eax\n	add $4, %rsp\n"
    "	mov %rax, 56(%rdi)\n"
    "	mov $-1, %rax\n	pushw $9\n	pop %ax\n	mov %rax, 64(%rdi)\n"
    "	stc\n	pushfw\n	pushw $0\n	pop %cx\n	pop %ax\n	and $1, %eax\n"
    "	mov %rax, 72(%rdi)\n"
    "	sub %rsp, %rbp\n	mov %rbp, 80(%rdi)\n"
    "	push %fs\n	pop %rax\n	push %gs\n	popq %rcx\n	or %rcx, %rax\n"
    "	mov %rax, 88(%rdi)\n"
    "	pop %rbp\n	ret\n");
/* clang-format on */
void odd_pushes(uint64_t *out);

uint64_t in_memory = 77;

int main(void)
{
	for (int i = 0; i < 50; i++) {
		uint64_t o[12], before;

		asm volatile("mov %%rsp, %0" : "=r"(before));
		odd_pushes(o);
		CHECK(o[0] < before && before - o[0] < 8192);
		CHECK(o[1] > 0x10000); /* the return address or old rbp */
		SAME(o[2], 11);
		SAME(o[3], 22);
		SAME(o[4], 64);
		SAME(o[5], -2);
		SAME(o[6], 0xffffffff80000001);
		SAME(o[7], 0x12345678);
		SAME(o[8], 0xffffffffffff0009);
		SAME(o[9], 1);
		SAME(o[10], 0);
		SAME(o[11], 0);
		struct regs r = {.f = CF | ZF, .a = 5};
		RUN("pushq in_memory(%%rip)\npush %%rax\npopq "
		    "in_memory(%%rip)\n"
		    "pop %%rax",
		    r);
		SAME(r.a, 77);
		SAME(in_memory, 5);
		SAME(r.f, CF | ZF);
		in_memory = 77;
	}
	return guest_end();
}
