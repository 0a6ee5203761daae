/* site/body.c - the entry and the ends of a function. */
#include "site/body.h"

uint64_t body_entry(const struct body *b)
{
	struct x86_insn i;

	if (survey_insn(b->survey, b->start, &i) &&
	    i.row->special == X86_ENDBR && b->start + i.len < b->end)
		return b->start + i.len;
	return b->start;
}

static bool is_outside(const struct body *b, uint64_t addr)
{
	if (addr >= b->start && addr <= body_entry(b))
		return true; /* in again */
	if (addr >= b->start && addr < b->end)
		return false;
	return b->is_own == NULL || !b->is_own(b->ctx, addr);
}

/* To the middle of something else is no end of a function: hand-written code
 * shares its parts like that. What no function is known at (a linkage table)
 * is called by jumping there. */
static bool is_call_target(const struct body *b, uint64_t addr)
{
	uint8_t facts = survey_at(b->survey, addr);

	return facts & SURVEY_ENTRY || !(facts & SURVEY_INSIDE) ||
	       addr == body_entry(b);
}

/* A jump table is gone through with a sum (add table, %reg; jmp *%reg), or by
 * an index of eight bytes without a base. */
static bool is_switch(const struct body *b, uint64_t addr,
		      const struct x86_insn *jump)
{
	struct x86_insn i;

	if (jump->is_mem)
		return jump->index != X86_NOREG;
	for (unsigned k = 1; k <= X86_MAX_LEN && addr - k >= b->start; k++)
		if (survey_insn(b->survey, addr - k, &i) && i.len == k)
			return i.space == X86_SPACE_LEGACY &&
			       (i.opcode == 0x01 || i.opcode == 0x03) &&
			       i.gpr_write >> jump->rm & 1;
	return false;
}

static bool is_end(const struct body *b, uint64_t addr,
		   const struct x86_insn *i, struct site *out)
{
	uint64_t target;

	out->addr = addr;
	switch (i->row->flow) {
	case X86_RET:
		out->kind = SITE_RETURN;
		return true;
	case X86_JMP_IND:
		out->kind = SITE_JUMP;
		return !is_switch(b, addr, i);
	case X86_JMP:
	case X86_JCC:
		out->kind = i->row->flow == X86_JMP ? SITE_JUMP : SITE_TAKEN;
		target = x86_target(survey_bytes(b->survey, addr), i, addr);
		return is_outside(b, target) && is_call_target(b, target);
	default:
		return false;
	}
}

int body_ends(const struct body *b,
	      int (*visit)(void *ctx, const struct site *s), void *ctx)
{
	struct x86_insn i;
	struct site s;
	int rc;

	for (uint64_t a = b->start; a < b->end; a++)
		if (survey_insn(b->survey, a, &i) && is_end(b, a, &i, &s)) {
			rc = visit(ctx, &s);
			if (rc != 0)
				return rc;
		}
	return 0;
}
