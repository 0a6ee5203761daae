// runs: 100000
/* tests/fuzz/x86_relocate.c - whatever decodes is moved soundly or refused.
 *
 * Input: one byte of choices, then code. Checked on the result: every written
 * instruction starts at a point and decodes, flags and registers are written
 * only by leave of the original, rip-relative operands mean what they meant,
 * and nothing is written beyond the room. */
#include "x86/relocate.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t homes[] = {0x401000, 0x80000000, 0x555500001000,
				 0x7ffff7dd0000};
static const struct x86_mem cell = {
    .seg = X86_GS, .base = X86_NOREG, .index = X86_NOREG, .disp = -64};

struct job {
	const uint8_t *code;
	struct x86_insn insn;
	uint64_t from, to;
	uint8_t *out; /* the bytes written */
	struct x86_moved info;
};

static void must(int truth)
{
	if (!truth)
		abort();
}

static int is_constant(const struct job *j, uint64_t address)
{
	return address - j->to < j->info.len;
}

/* An address relative to rip is the original's, or a constant of ours. */
static void check_operand(const struct job *j, const struct x86_insn *i,
			  unsigned offset)
{
	uint64_t mine = j->to + offset + i->len + (uint64_t)i->disp;
	uint64_t was = j->from + j->insn.len + (uint64_t)j->insn.disp;

	if (i->base != X86_RIP || is_constant(j, mine))
		return;
	must(j->insn.base == X86_RIP);
	if (i->prefixes & X86_P_67)
		must((uint32_t)mine == (uint32_t)was);
	else
		must(mine == was);
}

static void check_effects(const struct job *j, const struct x86_insn *i,
			  uint16_t *borrowed)
{
	uint16_t may = j->insn.gpr_write | *borrowed | 1 << X86_RSP;

	must((i->flag_write & ~j->insn.flag_write) == 0);
	must((i->gpr_write & ~may) == 0);
}

static void check_moved(const struct job *j)
{
	uint16_t borrowed = 0;
	unsigned at = 0;

	must(j->info.n > 0 && j->info.n <= X86_MOVED_POINTS);
	must(j->info.len <= X86_MOVED_LEN);
	for (unsigned n = 0; n < j->info.n; n++)
		if (j->info.point[n].fix == X86_FIX_REG)
			borrowed |= (uint16_t)(1 << j->info.point[n].reg);
	for (unsigned n = 0; n < j->info.n; n++) {
		struct x86_insn i;

		must(j->info.point[n].off == at);
		must(x86_decode(j->out + at, j->info.len - at, &i) == X86_OK);
		check_operand(j, &i, at);
		check_effects(j, &i, &borrowed);
		at += i.len;
	}
	must(at <= j->info.len && (j->info.len - at) % 8 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job j = {.code = data + 1};
	struct x86_move_how how = {0};
	struct x86_buf out = {0};
	unsigned room;

	if (size < 2 ||
	    x86_decode(data + 1, (unsigned)size - 1, &j.insn) != X86_OK)
		return 0;
	j.from = homes[data[0] & 3];
	j.to = data[0] & 4 ? j.from + 0x10000000 : 0x3000000000;
	how.cell = data[0] & 8 ? &cell : NULL;
	how.may_lose = data[0] >> 4 & 1;
	room = data[0] & 32 ? size * 7 % X86_MOVED_LEN : X86_MOVED_LEN;
	out.start = out.at = j.out =
	    malloc(room ? room : 1); /* ASan guards its end */
	out.end = out.start + room;
	out.pc = j.to;
	if (!out.start)
		return 0;
	if (x86_relocate(j.code, &j.insn, j.from, &how, &out, &j.info) ==
	    X86_MOVE_OK) {
		must(out.at == out.start + j.info.len);
		check_moved(&j);
	} else {
		must(out.at == out.start && !out.bad);
	}
	free(j.out);
	return 0;
}
