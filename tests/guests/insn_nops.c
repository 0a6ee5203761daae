/* tests/guests/insn_nops.c - all lengths of nop, endbr, pause, prefetches (of
 * addresses that are not there), fences, cldemote, clflush: they do nothing. */
#include "guest.h"

static uint64_t line[8] __attribute__((aligned(64)));

int main(void)
{
	for (int i = 0; i < 50; i++) {
		struct regs r = {.a = 1,
				 .b = 2,
				 .c = 3,
				 .d = (uint64_t)line,
				 .si = 5,
				 .di = 6,
				 .f = CF | PF | ZF};

		line[3] = 99;
		RUN(".nops 200, 11\n.nops 30, 3\nxchg %%ax, %%ax\nrep nop\n"
		    ".byte 0xf3, 0x0f, 0x1e, 0xfa\n" /* endbr64 */
		    ".byte 0xf3, 0x0f, 0x1e, 0xfb\n"
		    ".byte 0x0f, 0x1c, 0x02\n" /* cldemote */
		    ".byte 0x0f, 0x1f, 0x04, 0x25, 0, 0, 0, 0\n"
		    ".byte 0x0f, 0x18, 0x3a\n"		   /* reserved hint */
		    ".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8\n" /* rdsspq */
		    "prefetcht0 0\nprefetchnta (%%rsi)\nprefetchw (%%rdi)\n"
		    "prefetcht2 0x7fff0000\nmfence\nlfence\nsfence\n"
		    "clflush (%%rdx)\nclflush 63(%%rdx)",
		    r);
		SAME(r.a, 1);
		SAME(r.b, 2);
		SAME(r.c, 3);
		SAME(r.si, 5);
		SAME(r.f, CF | PF | ZF);
		SAME(line[3], 99);
		/* 90h with REX.B is no nop */
		uint64_t x = 7, y;
		asm("mov $8, %%r8d\n\txchg %%rax, %%r8\n\tmov %%r8, %1"
		    : "+a"(x), "=r"(y)::"r8");
		SAME(x, 8);
		SAME(y, 7);
		/* but xchg eax, eax as 90h keeps the upper half */
		x = -1ull;
		asm(".byte 0x90\n\t.byte 0x48, 0x90" : "+a"(x));
		SAME(x, -1ull);
		asm(".byte 0x87, 0xc0" : "+a"(x)); /* and this does not */
		SAME(x, 0xffffffff);
	}
	return guest_end();
}
