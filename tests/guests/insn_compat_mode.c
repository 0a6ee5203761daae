// build: -no-pie
/* tests/guests/insn_compat_mode.c - a far return into 32-bit code and one back:
 * there push is four bytes, inc is one, and registers 8 to 15 do not exist. */
#include "guest.h"

int main(void)
{
	uint8_t *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	uint64_t ax, sp, keep;

	MUST(low != MAP_FAILED);
	/* 40 inc eax; 68 push imm32; 5b pop ebx; 01 d8 add ebx, eax; ljmp 33:1f
	 */
	memcpy(low, "\x40\x68\x10\0\0\0\x5b\x01\xd8\x89\xe1\xea", 12);
	for (uint32_t i = 0; i < 50; i++) {
		asm volatile("lea 1f(%%rip), %%rax\n\tmov %%eax, 12(%[low])\n\t"
			     "movw $0x33, 16(%[low])\n\t"
			     "mov %%rsp, %%r15\n\tlea 8000(%[low]), %%rsp\n\t"
			     "mov %[i], %%eax\n\t"
			     "pushq $0x23\n\tpush %[low]\n\tlretq\n"
			     "1:\tmov %%rsp, %[sp]\n\tmov %%r15, %%rsp"
			     : "=&a"(ax), [sp] "=&r"(sp), "=&c"(keep)
			     : [low] "r"(low), [i] "r"(i)
			     : "rbx", "r15", "memory", "cc");
		SAME((uint32_t)ax, i + 1 + 16);
		SAME(sp, low + 8000);
		SAME((uint32_t)keep, (uint32_t)(uint64_t)low + 8000);
	}
	return guest_end();
}
