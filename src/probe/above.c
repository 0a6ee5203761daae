/* probe/above.c - follows code from a prologue, with rbp minus rsp in mind.
 *
 * A word for each byte of code: what is known where an instruction begins. Ways
 * that meet with different numbers, and instructions that move rsp or rbp by
 * what is not in the code, make it UNKNOWN, and all that is behind. A way that
 * gives rbp back ends there: it is an epilogue.
 *
 * Where a table of addresses leads is not to be seen. But no jump moves rsp: so
 * if the instruction that is asked for was not reached, blocks behind
 * unconditional jumps are taken to be led to, with what such a jump knew, as
 * long as all of them agree. */
#include "probe/above.h"

#include "x86/decode.h"

enum { UNSEEN = INT32_MIN, UNKNOWN, FEW = 512, FARTHEST = 1 << 24 };

struct search {
	const uint8_t *code;
	uint32_t len;
	int32_t *at; /* by offset */
	uint32_t queue[FEW], after[FEW];
	unsigned n_queue, n_after;
	int32_t indirect; /* what indirect jumps knew; UNSEEN: there is none */
	bool is_full;
};

/* -- One instruction -- */

static bool is_move(const struct x86_insn *i, unsigned from, unsigned to)
{
	if (i->is_mem || !(i->rex & 8))
		return false;
	return (i->opcode == 0x89 && i->reg == from && i->rm == to) ||
	       (i->opcode == 0x8b && i->rm == from && i->reg == to);
}

static bool is_plain(const struct x86_insn *i)
{
	return i->space == X86_SPACE_LEGACY && !(i->prefixes & X86_P_66);
}

/* add and sub of a constant; lea. */
static bool moves_rsp(const uint8_t *code, const struct x86_insn *i,
		      int32_t now, int64_t *out)
{
	unsigned group = i->modrm >> 3 & 7;

	if ((i->opcode == 0x81 || i->opcode == 0x83) && i->rex & 8 &&
	    !i->is_mem && i->rm == X86_RSP && (group == 0 || group == 5)) {
		*out = group == 5 ? now + x86_imm(code, i)
				  : now - x86_imm(code, i);
		return true;
	}
	if (i->opcode == 0x8d && i->rex & 8 && i->reg == X86_RSP &&
	    i->index == X86_NOREG &&
	    (i->base == X86_RSP || i->base == X86_RBP)) {
		*out = (i->base == X86_RSP ? now : 0) - i->disp;
		return true;
	}
	return false;
}

static bool pushes(const struct x86_insn *i)
{
	return (i->opcode >= 0x50 && i->opcode <= 0x57) || i->opcode == 0x68 ||
	       i->opcode == 0x6a || i->opcode == 0x9c ||
	       (i->opcode == 0xff && (i->modrm >> 3 & 7) == 6);
}

static bool pops(const struct x86_insn *i)
{
	return (i->opcode >= 0x58 && i->opcode <= 0x5f) || i->opcode == 0x9d ||
	       i->opcode == 0x8f;
}

/* What is known behind it. */
static int32_t behind(const uint8_t *code, const struct x86_insn *i,
		      int32_t now)
{
	const uint16_t both = 1u << X86_RSP | 1u << X86_RBP;
	unsigned flow = i->row->flow;
	int64_t out;

	if (flow == X86_CALL || flow == X86_CALL_IND || !(i->gpr_write & both))
		return now;
	if (!is_plain(i) || now == UNKNOWN)
		return UNKNOWN;
	if (is_move(i, X86_RBP, X86_RSP) || is_move(i, X86_RSP, X86_RBP))
		return 0;
	if (i->gpr_write >> X86_RBP & 1)
		return UNKNOWN;
	if (pushes(i))
		out = now + 8;
	else if (pops(i))
		out = now - 8;
	else if (!moves_rsp(code, i, now, &out))
		return UNKNOWN;
	return out > -FARTHEST && out < FARTHEST ? (int32_t)out : UNKNOWN;
}

/* leave; pop %rbp */
static bool gives_back(const struct x86_insn *i)
{
	return i->space == X86_SPACE_LEGACY &&
	       (i->opcode == 0xc9 || (i->opcode == 0x5d && !(i->rex & 1)));
}

/* -- All ways -- */

/* Control comes to an offset. */
static void come(struct search *s, int64_t to, int32_t with)
{
	int32_t *at;

	if (to < 0 || to >= s->len)
		return;
	at = &s->at[to];
	if (*at == with || *at == UNKNOWN)
		return;
	*at = *at == UNSEEN ? with : UNKNOWN;
	if (s->n_queue == FEW)
		s->is_full = true;
	else
		s->queue[s->n_queue++] = (uint32_t)to;
}

static void jump_away(struct search *s, const struct x86_insn *i, uint32_t next,
		      int32_t with)
{
	if (i->row->flow == X86_JMP_IND)
		s->indirect = s->indirect == UNSEEN || s->indirect == with
				  ? with
				  : UNKNOWN;
	if ((i->row->flow != X86_JMP_IND && i->row->flow != X86_JMP) ||
	    next >= s->len)
		return;
	if (s->n_after == FEW)
		s->is_full = true;
	else
		s->after[s->n_after++] = next;
}

/* One instruction; false: nothing is behind it. */
static bool follow(struct search *s, uint32_t *where)
{
	const uint8_t *code = s->code + *where;
	int32_t now = s->at[*where], then;
	struct x86_insn i;
	uint32_t next;

	if (x86_decode(code, s->len - *where, &i) != X86_OK || gives_back(&i))
		return false;
	next = *where + i.len;
	then = behind(code, &i, now);
	if (x86_is_direct(&i) && i.row->flow != X86_CALL)
		come(s, (int64_t)x86_target(code, &i, *where), then);
	if (!x86_falls_through(&i)) {
		jump_away(s, &i, next, then);
		return false;
	}
	if (next >= s->len || s->at[next] == then || s->at[next] == UNKNOWN)
		return false;
	s->at[next] = s->at[next] == UNSEEN ? then : UNKNOWN;
	*where = next;
	return true;
}

static void follow_all(struct search *s)
{
	while (s->n_queue > 0) {
		uint32_t where = s->queue[--s->n_queue];

		while (follow(s, &where))
			;
	}
}

bool above_find(const uint8_t *code, uint32_t len, int32_t at_start,
		uint32_t where, int32_t *work, int32_t *out)
{
	struct search s = {
	    .code = code, .len = len, .at = work, .indirect = UNSEEN};

	if (where >= len || len > ABOVE_MAX)
		return false;
	for (uint32_t k = 0; k < len; k++)
		work[k] = UNSEEN;
	come(&s, 0, at_start);
	follow_all(&s);
	for (unsigned k = 0; k < s.n_after && work[where] == UNSEEN &&
			     s.indirect != UNSEEN && s.indirect != UNKNOWN;
	     k++)
		if (work[s.after[k]] == UNSEEN) {
			come(&s, s.after[k], s.indirect);
			follow_all(&s);
		}
	if (s.is_full || work[where] == UNSEEN || work[where] == UNKNOWN)
		return false;
	*out = work[where];
	return true;
}
