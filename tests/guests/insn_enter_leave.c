/* tests/guests/insn_enter_leave.c - enter of nesting levels 0, 1, 2 and 31, and
 * leave: what is copied, where rsp and rbp end. */
#include "guest.h"

/* clang-format off */
#define ENTER(name, size, level) \
	asm(".globl " #name "\n" #name ":\n" \
	    "	push %rbx\n	push %rbp\n	mov %rsp, %rbx\n" \
	    "	mov %rsi, %rbp\n" /* a display to copy from */ \
	    "	stc\n	enter $" #size ", $" #level "\n	jnc 9f\n" \
	    "	mov %rbx, %rax\n	sub %rsp, %rax\n	mov %rax, (%rdi)\n" \
	    "	mov %rbx, %rax\n	sub %rbp, %rax\n	mov %rax, 8(%rdi)\n" \
	    "	mov (%rbp), %rax\n	mov %rax, 16(%rdi)\n" \
	    "	mov -8(%rbp), %rax\n	mov %rax, 24(%rdi)\n" \
	    "	mov -16(%rbp), %rax\n	mov %rax, 32(%rdi)\n" \
	    "	leave\n	mov %rbp, 40(%rdi)\n" \
	    "	mov %rbx, %rax\n	sub %rsp, %rax\n	mov %rax, 48(%rdi)\n" \
	    "9:	mov %rbx, %rsp\n	pop %rbp\n	pop %rbx\n	ret\n"); \
	void name(uint64_t *out, uint64_t *display);
ENTER(enter_0, 48, 0)
ENTER(enter_1, 32, 1)
ENTER(enter_2, 16, 2)
ENTER(enter_31, 256, 31)
/* clang-format on */

int main(void)
{
	uint64_t area[64], *display = area + 60;

	for (int i = 0; i < 64; i++)
		area[i] = 1000 + i;
	for (int round = 0; round < 20; round++) {
		uint64_t o[7];

		enter_0(o, display);
		SAME(o[0], 8 + 48);
		SAME(o[1], 8);
		SAME(o[2], display);
		SAME(o[5], display);
		SAME(o[6], 0);
		uint64_t frame = 0;
		enter_1(o, display);
		SAME(o[0], 16 + 32);
		SAME(o[1], 8);
		frame = o[3]; /* level 1 pushes its own frame pointer */
		CHECK(frame != 0);
		SAME(o[6], 0);
		enter_2(o, display);
		SAME(o[0], 24 + 16);
		SAME(o[3], 1059); /* one entry of the display */
		SAME(o[4], frame);
		enter_31(o, display);
		SAME(o[0], 8 * 32 + 256);
		SAME(o[3], 1059);
		SAME(o[4], 1058);
		SAME(o[5], display);
		SAME(o[6], 0);
	}
	return guest_end();
}
