/* tests/guests/insn_pop_memory.c - pop to memory, with every form of address:
 * relative to rsp (which the pop moves first), rip and fs, with an index, with
 * the registers that a translator likes to borrow, 16 bits wide, with a 32-bit
 * address, across pages, onto the stack slot that it reads. Flags stay. */
#include "guest.h"

#include <sys/mman.h>

uint64_t table[16];
__thread uint64_t own = 1;

/* Pops what is pushed first; the destination may use rdi, r10, r11 and rax. */
#define POP_TO(operand, value)                                              \
	do {                                                                \
		uint64_t f_;                                                \
		asm volatile("lea -256(%%rsp), %%rsp\n\t"                   \
			     "push %[v]\n\t"                                \
			     "lea table(%%rip), %%rdi\n\t"                  \
			     "mov %%rdi, %%r10\n\t"                         \
			     "mov $2, %%r11d\n\tmov $3, %%eax\n\t"          \
			     "xor %%ecx, %%ecx\n\tstc\n\t"                  \
			     "popq " operand "\n\t"                         \
			     "setc %%cl\n\tlea 256(%%rsp), %%rsp"           \
			     : "=&c"(f_)                                    \
			     : [v] "r"((uint64_t)(value))                   \
			     : "rax", "rdi", "r10", "r11", "cc", "memory"); \
		SAME(f_, 1);                                                \
	} while (0)

static void check_addresses(uint64_t n)
{
	POP_TO("(%%rdi)", n);
	SAME(table[0], n);
	POP_TO("8(%%r10)", n + 1);
	SAME(table[1], n + 1);
	POP_TO("(%%r10,%%r11,8)", n + 2);
	SAME(table[2], n + 2);
	POP_TO("(%%r10,%%rax,8)", n + 3);
	SAME(table[3], n + 3);
	POP_TO("33(%%rdi)", n + 4); /* not aligned */
	SAME(*(uint64_t *)((char *)table + 33), n + 4);
	POP_TO("table+48(%%rip)", n + 5);
	SAME(table[6], n + 5);
	POP_TO("%%fs:own@tpoff", n + 6);
	SAME(own, n + 6);
}

/* By rsp as it is after the pop. */
static void check_stack(uint64_t n)
{
	uint64_t same, next, indexed;

	asm volatile("lea -256(%%rsp), %%rsp\n\t"
		     "mov $1, %%eax\n\t"
		     "push $0\n\tpush $0\n\tpush %3\n\tpopq 8(%%rsp)\n\t"
		     "mov 8(%%rsp), %1\n\t"
		     "mov %3, (%%rsp)\n\tpopq -8(%%rsp)\n\t"
		     "mov -8(%%rsp), %0\n\t"
		     "push %3\n\tpopq 8(%%rsp,%%rax,8)\n\t"
		     "mov 16(%%rsp), %2\n\t"
		     "lea 264(%%rsp), %%rsp"
		     : "=&r"(same), "=&r"(next), "=&r"(indexed)
		     : "r"(n)
		     : "rax", "memory", "cc");
	SAME(same, n);
	SAME(next, n);
	SAME(indexed, n);
}

static void check_widths(uint64_t n)
{
	table[8] = -1ull;
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "pushw %w1\n\tpopw %0\n\t"
		     "lea 128(%%rsp), %%rsp"
		     : "+m"(table[8])
		     : "r"(n)
		     : "cc");
	SAME(table[8], -65536ull | (uint16_t)n);
}

/* A destination in the first 4 GiB, and one across two pages. */
static void check_pages(char *low, uint64_t n)
{
	char *edge = low + 4096 - 3;

	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "push %2\n\tpopq (%0)\n\t"
		     "push %2\n\tpopq (%k1)\n\t"
		     "lea 128(%%rsp), %%rsp"
		     :
		     : "r"(edge), "r"(low), "r"(n)
		     : "memory");
	SAME(*(uint64_t *)edge, n);
	SAME(*(uint64_t *)low, n);
}

int main(void)
{
	char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	MUST(low != MAP_FAILED);
	for (uint64_t i = 0; i < 20000; i++) {
		check_addresses(i * 0x100000001);
		check_stack(i * 0x10001);
		check_widths(i);
		check_pages(low, i << 20);
	}
	return guest_end();
}
