/* tests/guests/insn_x87_pointer.c - fnstenv tells the address of the last x87
 * instruction: the program's address, which old code uses to find itself. */
#include "guest.h"

/* clang-format off */
asm(".globl x87_where\n"
    "x87_where:\n"
    "	lea -128(%rsp), %rsp\n"
    "	fninit\n"
    "1:	fldpi\n"
    "	call 2f\n"
    "	fnstenv 8(%rsp)\n"
    "	mov 20(%rsp), %eax\n"
    "	fstp %st(0)\n"
    "	lea 1b(%rip), %rcx\n"
    "	sub %ecx, %eax\n"
    "	lea 128(%rsp), %rsp\n"
    "	ret\n"
    "2:	ret\n");
/* clang-format on */
unsigned x87_where(void);

int main(void)
{
	for (int i = 0; i < 20; i++)
		SAME(x87_where(), 0);
	return guest_end();
}
