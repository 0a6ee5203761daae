/* tests/guests/proc_growsdown.c - a MAP_GROWSDOWN mapping grows when touched
 * right below, also by the stack pointer running down through it. */
#include "guest.h"

int main(void)
{
	char *room = mmap(NULL, 4 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0),
	     *p = room + (4 << 20) - 4096;
	uint64_t n = 0;

	MUST(room != MAP_FAILED && munmap(room, 4 << 20) == 0);
	MUST(mmap(p, 4096, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1,
		  0) == p);
	for (int i = 1; i < 50; i++)
		p[-i * 4096] = (char)i;
	for (int i = 1; i < 50; i++)
		SAME(p[-i * 4096], i);
	/* pushes, far below */
	asm volatile(
	    "mov %%rsp, %%rbx\n\tlea (%1), %%rsp\n\tmov $40000, %%ecx\n"
	    "1:\tpush %%rcx\n\tadd (%%rsp), %0\n\tloop 1b\n\t"
	    "mov %%rbx, %%rsp"
	    : "+r"(n)
	    : "r"(p - 100 * 4096 + 8)
	    : "rbx", "rcx", "memory", "cc");
	SAME(n, 40000ul * 40001 / 2);
	return guest_end();
}
