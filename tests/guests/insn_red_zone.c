/* tests/guests/insn_red_zone.c - 128 bytes below the stack pointer belong to a
 * leaf; here they live through jumps, loads of far addresses and system calls,
 * and so does everything further below, which nobody but a signal writes. */
#include "guest.h"
#include <sys/syscall.h>

/* clang-format off */
asm(".globl below\n"
    "below:\n" /* rdi: length; returns a sum of what was kept below rsp */
    "	push %rbx\n	mov %rdi, %r8\n"
    "	mov %rdi, %rcx\n"
    "1:	mov %rcx, %rax\n	imul $77, %rax\n	neg %rcx\n"
    "	mov %rax, (%rsp, %rcx, 8)\n	neg %rcx\n	loop 1b\n"
    "	mov $39, %eax\n	syscall\n" /* getpid */
    "	lea 2f(%rip), %rax\n	jmp *%rax\n"
    "2:	cpuid\n	rdtsc\n"
    "	mov $39, %eax\n	syscall\n"
    "	mov %r8, %rcx\n	xor %eax, %eax\n"
    "3:	neg %rcx\n	add (%rsp, %rcx, 8), %rax\n	neg %rcx\n	loop 3b\n"
    "	pop %rbx\n	ret\n");
/* clang-format on */
uint64_t below(uint64_t n);

int main(void)
{
	for (int i = 0; i < 100; i++) {
		SAME(below(16), 77 * 16 * 17 / 2);
		SAME(below(4000), 77 * 4000 * 4001ul / 2);
	}
	return guest_end();
}
