/* tests/guests/insn_lock.c - every instruction that takes a lock prefix, in
 * memory, aligned and across a cache line: value and flags as without. */
#include "guest.h"

uint8_t cells[192] __attribute__((aligned(64)));

#define LOCKED(insn, before, want, want_flags)                        \
	do {                                                          \
		uint64_t v = before;                                  \
		memcpy(at, &v, 8);                                    \
		r = (struct regs){.c = 3, .d = (uint64_t)at, .a = 5}; \
		RUN("lock " insn, r);                                 \
		memcpy(&v, at, 8);                                    \
		SAME(v, want);                                        \
		SAME(r.f &(CF | ZF | SF | OF), want_flags);           \
	} while (0)

static void all(uint8_t *at)
{
	struct regs r;

	LOCKED("addq %%rcx, (%%rdx)", -3ull, 0, CF | ZF);
	LOCKED("addl $-1, (%%rdx)", 0x100000000, 0x1ffffffff, SF);
	LOCKED("adcb $1, (%%rdx)", 0x17f, 0x180, SF | OF);
	LOCKED("subq $4, (%%rdx)", 3, -1ull, CF | SF);
	LOCKED("sbbw %%cx, (%%rdx)", 0x10003, 0x10000, ZF);
	LOCKED("andq $-16, (%%rdx)", 0xff, 0xf0, 0);
	LOCKED("orb $0x80, 1(%%rdx)", 0, 0x8000, SF);
	LOCKED("xorl %%ecx, (%%rdx)", 3, 0, ZF);
	LOCKED("incq (%%rdx)", -1ull, 0, ZF);
	LOCKED("decl (%%rdx)", 0, 0xffffffff, SF);
	LOCKED("negq (%%rdx)", 1, -1ull, CF | SF);
	LOCKED("notq (%%rdx)", 1, -2ull, 0);
	LOCKED("btsq $63, (%%rdx)", 0, 1ull << 63, 0);
	LOCKED("btrl %%ecx, (%%rdx)", 8, 0, CF);
	LOCKED("btcw $15, (%%rdx)", 0x8000, 0, CF);
	LOCKED("xaddq %%rcx, (%%rdx)", 10, 13, 0);
	SAME(r.c, 10);
	LOCKED("xaddb %%cl, (%%rdx)", 0x1ff, 0x102, CF);
	SAME(r.c, 0xff);
	LOCKED("cmpxchgq %%rcx, (%%rdx)", 5, 3, ZF);
	LOCKED("cmpxchgl %%ecx, (%%rdx)", 0x700000006, 0x700000006, CF | SF);
	SAME(r.a, 6);
	LOCKED("xchgq %%rcx, (%%rdx)", 99, 3, 0);
	SAME(r.c, 99);
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		all(cells);
		all(cells + 1);
		all(cells + 60); /* across a cache line */
	}
	/* without lock, on memory and registers, the same */
	struct regs r = {.a = 7, .c = 9, .d = 7};
	RUN("cmpxchg %%rcx, %%rdx\nsetz %%bl", r);
	SAME(r.d, 9);
	SAME(r.b, 1);
	RUN("xadd %%rcx, %%rdx", r);
	SAME(r.d, 18);
	SAME(r.c, 9);
	RUN("xchg %%cl, %%dh", r);
	SAME(r.d, 0x912);
	return guest_end();
}
