/* tests/guests/insn_bit_test.c - bt, bts, btr, btc: register operands wrap the
 * offset, memory operands reach far before and behind their address; in three
 * sizes, locked or not. */
#include "guest.h"

static uint8_t field[8192] __attribute__((aligned(4096)));

static void far_bit(long bit)
{
	uint8_t *middle = field + 4096;
	uint8_t *cell = middle + (bit >> 3), m = (uint8_t)(1 << (bit & 7));
	struct regs r = {
	    .d = (uint64_t)middle, .c = (uint64_t)bit, .f = ZF | SF};

	memset(field, 0, sizeof field);
	RUN("bts %%rcx, (%%rdx)", r);
	SAME(r.f & (CF | ZF), ZF); /* ZF is left alone */
	SAME(*cell, m);
	RUN("bt %%ecx, (%%rdx)", r);
	SAME(r.f & (CF | ZF), CF | ZF);
	RUN("lock btc %%rcx, (%%rdx)", r);
	SAME(r.f & CF, CF);
	SAME(*cell, 0);
	RUN("lock bts %%ecx, (%%rdx)", r);
	SAME(r.f & CF, 0);
	SAME(*cell, m);
	if (bit >= -32768 && bit < 32768) {
		RUN("btr %%cx, (%%rdx)", r);
		SAME(r.f & CF, CF);
		SAME(*cell, 0);
	}
	RUN("btcq $70, (%%rdx)", r); /* an immediate wraps: bit 6 */
	SAME(middle[0] & 64,
	     (cell == middle && m == 64 && bit >= 32768) ? 0 : 64);
}

int main(void)
{
	struct regs r = {.a = 1ull << 37, .c = 37 + 64 * 9};

	far_bit(0);
	far_bit(7);
	far_bit(63);
	far_bit(64);
	far_bit(-1);
	far_bit(-64);
	far_bit(32767);
	far_bit(-32768);
	for (long bit = -32700; bit < 32700; bit += 997)
		far_bit(bit);
	RUN("bt %%rcx, %%rax", r);
	SAME(r.f & CF, CF);
	RUN("btr %%rcx, %%rax", r);
	SAME(r.a, 0);
	RUN("bts %%ecx, %%eax", r);
	SAME(r.a, 32);
	RUN("btc $5, %%rax", r);
	SAME(r.a, 0);
	SAME(r.f & CF, CF);
	return guest_end();
}
