/* tests/guests/insn_rep_stos.c - stos and lods in four sizes, both directions,
 * with and without rep; rep lods keeps the last element. */
#include "guest.h"

static uint64_t area[64];

int main(void)
{
	uint8_t *p = (uint8_t *)area;
	struct regs r;

	for (int i = 0; i < 20; i++) {
		memset(area, 0, sizeof area);
		r = (struct regs){
		    .a = 0x1122334455667788, .c = 3, .di = (uint64_t)p + 8};
		RUN("rep stosb", r);
		SAME(area[1], 0x888888);
		SAME(r.di, p + 11);
		SAME(r.a, 0x1122334455667788);
		r.c = 2, r.di = (uint64_t)p + 16, r.f = DF;
		RUN("rep stosw", r);
		SAME(area[2], 0x7788);
		SAME(area[1], 0x7788000000888888);
		SAME(r.di, p + 12);
		r.c = 4, r.f = 0, r.di = (uint64_t)p + 64;
		RUN("rep stosl\nstosq\nstosb", r);
		SAME(area[8], 0x5566778855667788);
		SAME(area[9], 0x5566778855667788);
		SAME(area[10], 0x1122334455667788);
		SAME(area[11], 0x88);
		SAME(r.di, p + 89);
		r.si = (uint64_t)p + 64, r.c = 3, r.a = -1ull;
		RUN("rep lodsl", r);
		SAME(r.a, 0x55667788);
		SAME(r.si, p + 76);
		RUN("mov $-1, %%rax\nlodsb\nlodsw\nlodsq", r);
		SAME(r.a, 0x2233445566778855);
		SAME(r.si, p + 87);
		r.c = 0, r.a = 5;
		RUN("rep lodsq", r);
		SAME(r.a, 5);
		SAME(r.si, p + 87);
	}
	return guest_end();
}
