/* tests/guests/insn_rep_scan.c - scas and cmps with repe and repne: where they
 * stop, which flags the last comparison leaves, and that no comparison at all
 * leaves flags as they were. */
#include "guest.h"

static char text[64] = "aaaaaaaabcdefgh", other[64] = "aaaaaaaabcdeXgh";

int main(void)
{
	struct regs r;

	for (int i = 0; i < 20; i++) {
		r = (struct regs){.a = 'b', .c = 64, .di = (uint64_t)text};
		RUN("repne scasb", r);
		SAME(r.di - (uint64_t)text, 9);
		SAME(r.c, 55);
		SAME(r.f, ZF | PF);
		r = (struct regs){.a = 'a', .c = 64, .di = (uint64_t)text};
		RUN("repe scasb", r);
		SAME(r.di - (uint64_t)text, 9);
		SAME(r.f, CF | SF | PF | AF); /* 'a' - 'b' */
		r = (struct regs){.c = -1ull, .di = (uint64_t)text};
		RUN("repne scasb\nnot %%rcx\ndec %%rcx", r); /* strlen */
		SAME(r.c, 15);
		r = (struct regs){
		    .c = 64, .si = (uint64_t)text, .di = (uint64_t)other};
		RUN("repe cmpsb", r);
		SAME(r.si - (uint64_t)text, 13);
		SAME(r.c, 51);
		CHECK(!(r.f & (ZF | CF))); /* 'f' above 'X' */
		r = (struct regs){
		    .c = 2, .si = (uint64_t)text, .di = (uint64_t)other};
		RUN("repe cmpsl", r);
		SAME(r.c, 0);
		SAME(r.f, ZF | PF);
		/* backward, by words, unequal */
		r = (struct regs){
		    .c = 8, .f = DF, .a = 0x6161, .di = (uint64_t)text + 14};
		RUN("repne scasw", r);
		SAME(r.di - (uint64_t)text, 4);
		SAME(r.c, 3);
		/* nothing compared */
		r = (struct regs){.c = 0, .f = STATUS, .di = 1, .si = 1};
		RUN("repe cmpsq\nrepne scasl\nrep movsb\nrep stosq", r);
		SAME(r.f, STATUS);
		SAME(r.di, 1);
		SAME(r.si, 1);
		/* a single comparison, without rep */
		r = (struct regs){.c = 5, .di = (uint64_t)text, .a = 'a'};
		RUN("scasb", r);
		SAME(r.c, 5);
		SAME(r.f, ZF | PF);
	}
	return guest_end();
}
