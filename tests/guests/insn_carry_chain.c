// build: -no-pie
/* tests/guests/insn_carry_chain.c - an addition of 4,096 bits whose carry goes
 * from limb to limb through conditional branches, calls, returns and a jump
 * table; and the same subtraction back. */
#include "guest.h"

enum { LIMBS = 64 };

/* clang-format off */
asm("steps: .quad s0, s1, s2, s3\n"
    "limb:	mov (%rsi, %rcx, 8), %rax\n"
    "	adc %rax, (%rdi, %rcx, 8)\n"
    "	ret\n"
    ".globl add_limbs\n"
    "add_limbs:\n" /* rdi += rsi, 64 limbs; returns the carry */
    "	push %rbx\n"
    "	xor %ecx, %ecx\n" /* also clears CF */
    "next:	mov %ecx, %ebx\n"
    "	lahf\n	and $3, %ebx\n	sahf\n"
    "	jmp *steps(, %rbx, 8)\n"
    "s0:	call limb\n	jmp done\n"
    "s1:	mov (%rsi, %rcx, 8), %rax\n	adc %rax, (%rdi, %rcx, 8)\n"
    "	jc 1f\n	jmp done\n1:	jmp done\n"
    "s2:	lea limb(%rip), %rdx\n	call *%rdx\n	jmp done\n"
    "s3:	lea done(%rip), %rdx\n	push %rdx\n	jmp limb\n"
    "done:	inc %rcx\n" /* inc keeps CF */
    "	lahf\n	cmp $64, %ecx\n	je 2f\n	sahf\n	jmp next\n"
    "2:	sahf\n	setc %al\n	movzbl %al, %eax\n	pop %rbx\n	ret\n"
    ".globl sub_limbs\n"
    "sub_limbs:\n"
    "	xor %eax, %eax\n	mov $64, %ecx\n"
    "3:	mov (%rsi), %rax\n	sbb %rax, (%rdi)\n"
    "	lea 8(%rsi), %rsi\n	lea 8(%rdi), %rdi\n"
    "	dec %ecx\n	jnz 3b\n"
    "	setc %al\n	movzbl %al, %eax\n	ret\n");
/* clang-format on */
int add_limbs(uint64_t *to, const uint64_t *from);
int sub_limbs(uint64_t *to, const uint64_t *from);

int main(void)
{
	uint64_t a[LIMBS], b[LIMBS], sum[LIMBS], seed = 88172645463325252;

	for (int round = 0; round < 200; round++) {
		unsigned __int128 carry = 0;

		for (int i = 0; i < LIMBS; i++) {
			a[i] = guest_random(&seed);
			/* long runs of carries */
			b[i] = round & 1 ? ~a[i] : guest_random(&seed);
		}
		if (round & 1)
			b[0]++;
		for (int i = 0; i < LIMBS; i++) {
			carry += (unsigned __int128)a[i] + b[i];
			sum[i] = (uint64_t)carry;
			carry >>= 64;
		}
		uint64_t x[LIMBS];
		memcpy(x, a, sizeof x);
		SAME(add_limbs(x, b), (uint64_t)carry);
		CHECK(memcmp(x, sum, sizeof x) == 0);
		SAME(sub_limbs(x, b), (uint64_t)carry);
		CHECK(memcmp(x, a, sizeof x) == 0);
	}
	return guest_end();
}
