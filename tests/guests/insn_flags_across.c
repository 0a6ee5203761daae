/* tests/guests/insn_flags_across.c - flags live across every kind of transfer:
 * jmp, call and ret, direct and indirect, through registers and memory. No
 * compiler does this; hand-written assembler does. */
#include "guest.h"

/* clang-format off */
asm(".data\ntable: .quad in_1, in_2, in_3\n.text\n"
    "helper: ret\n"
    "through: jmp *%rdx\n"
    "out: ret\n"
    ".globl across\n"
    "across:\n" /* rdi: flags in; rax: flags out */
    "	push %rdi\n	popfq\n"
    "	jmp 1f\n"
    "1:	call helper\n"
    "	lea helper(%rip), %rcx\n"
    "	call *%rcx\n"
    "	lea table(%rip), %rdx\n"
    "	jmp *(%rdx)\n"
    "in_1:	lea table(%rip), %rcx\n"
    "	mov $1, %edx\n"
    "	jmp *(%rcx, %rdx, 8)\n"
    "in_2:	lea out(%rip), %rdx\n"
    "	call through\n"
    "	lea 2f(%rip), %rdx\n"
    "	push %rdx\n"
    "	ret\n"
    "2:	jmp *table+16(%rip)\n"
    "in_3:	jrcxz 3f\n"
    "3:	pushfq\n"
    "	pop %rax\n"
    "	ret\n");
/* clang-format on */
uint64_t across(uint64_t flags);

int main(void)
{
	for (int round = 0; round < 50; round++)
		for (unsigned v = 0; v < 64; v++) {
			uint64_t f = (v & 1 ? CF : 0) | (v & 2 ? PF : 0) |
				     (v & 4 ? AF : 0) | (v & 8 ? ZF : 0) |
				     (v & 16 ? SF : 0) | (v & 32 ? OF : 0);

			SAME(across(f | 0x202), f | 0x202);
		}
	return guest_end();
}
