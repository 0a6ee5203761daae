/* tests/guests/insn_middle.c - jumps into the middle of an instruction: the
 * same bytes run as two different programs. */
#include "guest.h"

/* clang-format off */
asm(".globl whole\n"
    "whole:	xor %eax, %eax\n"
    "	.byte 0xb8\n" /* mov $0xc3c0ffb0, %eax ... */
    "inner:	.byte 0xb0, 0x2a, 0xff, 0xc0\n" /* mov $42, %al; inc %eax */
    "	ret\n"
    ".globl part\n"
    "part:	xor %eax, %eax\n"
    "	jmp inner\n"
    ".globl both\n"
    "both:\n" /* a jump into its own last byte: eb ff c0 */
    "	mov $5, %eax\n"
    "	.byte 0xeb, 0xff, 0xc0\n" /* jmp to ff: inc %eax */
    "	ret\n"
    ".globl locked\n"
    "locked:\n" /* over the prefix or not */
    "	mov %edi, %ecx\n"
    "	mov $10, %eax\n"
    "	mov %rsp, %rdx\n"
    "	push $1\n"
    "	jecxz 1f\n"
    "	jmp 1f+1\n"
    "1:	lock addl $3, (%rsp)\n"
    "	pop %rax\n"
    "	ret\n");
/* clang-format on */
unsigned whole(void), part(void), both(void), locked(int);

int main(void)
{
	for (int i = 0; i < 100; i++) {
		SAME(whole(), 0xc0ff2ab0);
		SAME(part(), 43);
		SAME(both(), 6);
		SAME(locked(i & 1), 4);
	}
	return guest_end();
}
