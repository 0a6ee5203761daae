/* engine/block.c - forming superblocks. */
#include "engine/block.h"

#include "engine/engine.h"
#include "engine/observe.h"
#include "engine/ways.h"
#include "x86/rewrite.h"

/* By flow: what becomes of an instruction that transfers control. */
static const uint8_t by_flow[X86_FLOW_MAX] = {
    [X86_NEXT] = TREAT_COPY,	   [X86_JCC] = TREAT_JCC,
    [X86_LOOP] = TREAT_LOOP,	   [X86_JMP] = TREAT_JMP,
    [X86_CALL] = TREAT_CALL,	   [X86_RET] = TREAT_RET,
    [X86_JMP_IND] = TREAT_JMP_IND, [X86_CALL_IND] = TREAT_CALL_IND,
    [X86_FAR] = TREAT_STEP,	   [X86_SYSCALL] = TREAT_SYSCALL,
    [X86_SYSENTER] = TREAT_STEP,   [X86_INT3] = TREAT_TRAP,
    [X86_INT] = TREAT_TRAP,	   [X86_IRET] = TREAT_STEP,
    [X86_UD] = TREAT_TRAP,	   [X86_HLT] = TREAT_TRAP,
    [X86_XBEGIN] = TREAT_STEP,	   [X86_XEND] = TREAT_TRAP,
    [X86_ODD] = TREAT_STEP,
};

/* Does it address memory through gs? */
static int uses_gs(const struct x86_insn *x)
{
	return x->seg == 0x65 && (x->is_mem || x->row->imem[0] != 0 ||
				  x->row->attr & X86_A_MOFFS);
}

/* Does it store where the x87 unit last was? */
static int stores_x87_pc(const struct x86_insn *x)
{
	return x->row->special == X86_X87ENV ||
	       (x->row->attr & X86_A_XSTATE && x->is_mem &&
		x->row->mem & X86_M_WRITE);
}

static enum treat treat_special(const struct x86_insn *x)
{
	switch (x->row->special) {
	case X86_RDGSBASE:
		return TREAT_RDGS;
	case X86_WRGSBASE: /* of an address that is none: a fault */
	case X86_SETSEG:
		return TREAT_STEP;
	case X86_POPF:
		return x->prefixes & X86_P_66 ? TREAT_STEP : TREAT_POPF;
	default:
		return TREAT_COPY;
	}
}

static enum treat treat_of(const struct x86_insn *x)
{
	enum treat t = by_flow[x->row->flow];

	if (x->row->attr & X86_A_VENDOR || uses_gs(x))
		return TREAT_STEP;
	if (stores_x87_pc(x))
		return TREAT_X87;
	if (t == TREAT_COPY && x->row->special != X86_ORDINARY)
		return treat_special(x);
	return t;
}

/* At least a whole instruction's bytes, if there are as many. */
static unsigned fetch(struct guest_block *g, unsigned at,
		      const struct block_how *how)
{
	enum { STEP = 128 };
	uint64_t from = g->pc + g->have, len = STEP;
	uint8_t *to = g->bytes + g->have;

	if (g->have - at >= X86_MAX_LEN || from >= how->limit)
		return g->have - at;
	if (len > how->limit - from)
		len = how->limit - from;
	if (how->fetch)
		g->have += how->fetch(how->ctx, from, to, (unsigned)len);
	else
		g->have +=
		    (unsigned)(len - guest_copy(to, (const void *)from, len));
	return g->have - at;
}

/* Was it left to the CPU in recordings of version 2? */
static int was_left(const uint8_t *code, const struct x86_insn *x, enum way way)
{
	int is_moved = x->is_mem && (way == WAY_PUSH_M ||
				     x->row->mem & (X86_M_READ | X86_M_WRITE));

	return way == WAY_POP_M ||
	       (is_moved && way != WAY_NONE && way != WAY_BASE &&
		!x86_could_move32(code, x));
}

/* If it is recorded. ORDER way */
static enum treat treat_recorded(const struct guest_block *g,
				 const struct guest_insn *i, unsigned flags)
{
	if (i->x.row->flow == X86_INT &&
	    (uint8_t)x86_imm(g->bytes + i->off, &i->x) == 0x80)
		return TREAT_STATE; /* a system call of another kind */
	if (i->treat != TREAT_COPY)
		return i->treat;
	if (flags & BLOCK_OF_VERSION_2 &&
	    was_left(g->bytes + i->off, &i->x,
		     way_of(g->bytes + i->off, &i->x)))
		return TREAT_STATE;
	switch (way_of(g->bytes + i->off, &i->x)) {
	case WAY_STRING:
		return TREAT_STRING;
	case WAY_RESULT:
		return TREAT_RESULT;
	case WAY_STATE:
		return TREAT_STATE;
	default:
		return TREAT_COPY;
	}
}

static int stores_implicitly(const struct x86_insn *x, unsigned k, int apart)
{
	unsigned at = x->row->imem[k];

	return at >> 4 & X86_M_WRITE && !(apart && (at & 15) == X86_RSP);
}

static int stores(const struct x86_insn *x, int apart)
{
	return (x->is_mem && x->row->mem & X86_M_WRITE &&
		!(apart && x->base == X86_RSP)) ||
	       stores_implicitly(x, 0, apart) || stores_implicitly(x, 1, apart);
}

void block_form(struct guest_block *g, uint64_t pc, const struct block_how *how)
{
	unsigned flags = how->flags;

	g->pc = pc;
	g->n = g->len = g->have = g->seen = 0;
	while (g->n < BLOCK_MAX) {
		struct guest_insn *i = &g->insns[g->n];
		unsigned avail = fetch(g, g->len, how);

		i->off = (uint16_t)g->len;
		g->n++;
		i->treat = TREAT_STEP;
		g->seen = g->len + (avail < X86_MAX_LEN ? avail : X86_MAX_LEN);
		if (x86_decode(g->bytes + g->len,
			       avail < X86_MAX_LEN ? avail : X86_MAX_LEN,
			       &i->x) != X86_OK)
			return;
		g->seen = g->len + i->x.len;
		i->treat = (uint8_t)treat_of(&i->x);
		if (flags & BLOCK_STEPS_POPF && i->treat == TREAT_POPF)
			i->treat =
			    flags & BLOCK_RECORDED ? TREAT_STATE : TREAT_STEP;
		if (flags & BLOCK_RECORDED)
			i->treat = (uint8_t)treat_recorded(g, i, flags);
		if (i->treat == TREAT_STEP)
			return;
		g->len += i->x.len;
		if (i->treat >= TREAT_JMP || pc + g->len == how->stop ||
		    (how->observe &&
		     observe_is_stop(how->observe, pc + g->len)))
			return;
		if (flags & BLOCK_ENDS_AT_STORES &&
		    stores(&i->x, (flags & BLOCK_STACK_APART) != 0))
			return;
	}
}
