/* x86/live.c - which registers and flags will nobody look at any more?
 *
 * Backwards over a run:	live = reads | (live behind - kills)
 * Forwards over paths:		live |= reads - killed so far on this path
 *
 * Both are built on effect_of(), which starts from the decoder's masks. Its
 * kills are writes of the whole register or flag whatever the operands hold:
 * no repeated string instruction, no flag that processors may leave as it was.
 *
 * L1  A kill holds on every x86-64 processor, not just on newer ones.
 * L2  What is not known to fall through or to go to a fixed place reads
 *     everything. A call does go there, like a jump: what the function does
 *     to a register on entry is all that counts.
 * L3  rsp is never dead.
 *
 * Reads may be too many, kills too few; never the other way round. How much is
 * found: in libc all status flags are dead before 67 % of the instructions if
 * ten are looked at (61 % if calls were not followed), some register before
 * 56 %. */
#include "x86/live.h"

struct effect {
	struct x86_live reads, kills;
};

/* -- Faults ---------------------------------------------------------------- */

/* Opcodes that without memory cannot fault on any x86-64: one byte ones, and
 * those behind 0F. Group members that can are excluded in is_calm(). */
static const uint8_t calm[2][256] = {
    {
	[0x00 ... 0x3f] = 1, /* add ... cmp */
	[0x63] = 1,	     /* movsxd */
	[0x69] = 1,	     /* imul */
	[0x6b] = 1,
	[0x70 ... 0x7f] = 1, /* jcc */
	[0x80 ... 0x8d] = 1, /* group 1, test, xchg, mov, lea */
	[0x90 ... 0x99] = 1, /* xchg, nop, cdqe, cqo */
	[0x9e ... 0x9f] = 1, /* sahf, lahf */
	[0xa8 ... 0xa9] = 1, /* test */
	[0xb0 ... 0xbf] = 1, /* mov */
	[0xc0 ... 0xc1] = 1, /* shifts */
	[0xc6 ... 0xc7] = 1, /* mov */
	[0xd0 ... 0xd3] = 1, /* shifts */
	[0xe0 ... 0xe3] = 1, /* loop, jrcxz */
	[0xe9] = 1,	     /* jmp */
	[0xeb] = 1,
	[0xf5 ... 0xf9] = 1, /* cmc, group 3, clc, stc */
	[0xfc ... 0xff] = 1, /* cld, std, groups 4 and 5 */
    },
    {
	[0x18 ... 0x1f] = 1, /* hints */
	[0x40 ... 0x4f] = 1, /* cmov */
	[0x80 ... 0x9f] = 1, /* jcc, setcc */
	[0xa3 ... 0xa5] = 1, /* bt, shld */
	[0xab ... 0xad] = 1, /* bts, shrd */
	[0xaf ... 0xb1] = 1, /* imul, cmpxchg */
	[0xb3] = 1,	     /* btr */
	[0xb6 ... 0xb7] = 1, /* movzx */
	[0xba ... 0xbf] = 1, /* group 8, btc, bsf, bsr, movsx */
	[0xc0 ... 0xc1] = 1, /* xadd */
	[0xc8 ... 0xcf] = 1, /* bswap */
    },
};

static int may_continue(const struct x86_insn *i)
{
	unsigned flow = i->row->flow;

	return flow == X86_NEXT || flow == X86_JCC || flow == X86_LOOP ||
	       flow == X86_JMP || flow == X86_CALL;
}

static int is_calm(const struct x86_insn *i)
{
	unsigned n = i->modrm >> 3 & 7;
	int divides = i->space == X86_SPACE_LEGACY &&
		      (i->opcode == 0xf6 || i->opcode == 0xf7) && n >= 6;

	return i->space <= X86_SPACE_LEGACY + 1 && calm[i->space][i->opcode] &&
	       !divides;
}

int x86_may_fault(const struct x86_insn *i)
{
	int touches = i->is_mem && i->row->mem & (X86_M_READ | X86_M_WRITE);

	return !may_continue(i) || touches || i->row->imem[0] || !is_calm(i);
}

/* -- Effects --------------------------------------------------------------- */

/* bsf, bsr; with F3 tzcnt, lzcnt, which older processors take for the first
 * two. They leave the target alone if the source is 0. */
static int is_bit_scan(const struct x86_insn *i)
{
	return i->space == X86_SPACE_LEGACY + 1 &&
	       (i->opcode == 0xbc || i->opcode == 0xbd);
}

/* xor, sub, sbb of a register with itself do not care what it holds. */
static int is_self_clearing(const struct x86_insn *i)
{
	unsigned group = i->opcode >> 3;

	return i->space == X86_SPACE_LEGACY && i->opcode < 0x40 &&
	       (group == 3 || group == 5 || group == 6) && i->modrm >= 0xc0 &&
	       i->reg == i->rm;
}

static uint16_t killed_flags(const struct x86_insn *i)
{
	/* popf writes more, but only as far as the kernel lets it. */
	uint16_t kill = i->flag_kill & (X86_FLAGS_STATUS | X86_DF);

	return is_bit_scan(i) ? kill & X86_ZF : kill;
}

static struct effect effect_of(const struct x86_insn *i, unsigned how)
{
	struct effect e = {.reads = {i->gpr_read, i->flag_read},
			   .kills = {i->gpr_kill, killed_flags(i)}};

	if (!may_continue(i) || i->row->attr & X86_A_PRIV ||
	    (how & X86_LIVE_AT_FAULTS && x86_may_fault(i))) {
		e.reads = x86_live_all();
		return e;
	}
	if (is_self_clearing(i))
		e.reads.gpr &= (uint16_t) ~(1 << i->reg);
	if (is_bit_scan(i))
		e.kills.gpr = 0;
	e.reads.gpr |= 1 << X86_RSP;
	return e;
}

/* -- Backwards ------------------------------------------------------------- */

static int branches(const struct x86_insn *i)
{
	return i->row->flow == X86_JCC || i->row->flow == X86_LOOP;
}

static int goes_away(const struct x86_insn *i)
{
	return i->row->flow == X86_JMP || i->row->flow == X86_CALL;
}

struct x86_live x86_live_before(const struct x86_insn *insn,
				struct x86_live next, struct x86_live taken,
				unsigned how)
{
	struct effect e = effect_of(insn, how);

	if (branches(insn)) {
		next.gpr |= taken.gpr;
		next.flags |= taken.flags;
	}
	next.gpr = e.reads.gpr | (next.gpr & (uint16_t)~e.kills.gpr);
	next.flags = e.reads.flags | (next.flags & (uint16_t)~e.kills.flags);
	return next;
}

void x86_live_run(const struct x86_insn *insns, unsigned n,
		  const struct x86_live *taken, struct x86_live end,
		  unsigned how, struct x86_live *out)
{
	for (unsigned i = n; i-- > 0;) {
		end = x86_live_before(&insns[i], end,
				      taken ? taken[i] : x86_live_all(), how);
		out[i] = end;
	}
}

/* -- Ahead ----------------------------------------------------------------- */

/* A way that is still to be walked, and what dies on the way to it. */
struct path {
	uint64_t pc;
	struct x86_live killed;
};

enum { PATHS_MAX = 8 };

struct walk {
	const struct x86_text *text; /* borrowed */
	struct x86_live live;
	struct x86_span seen;
	unsigned left, how, n;
	struct path paths[PATHS_MAX];
};

static int is_in(const struct x86_text *text, uint64_t pc)
{
	return pc - text->pc < text->len;
}

/* Here the path becomes invisible: what it has not killed is live. */
static void give_up(struct walk *w, struct x86_live killed)
{
	w->live.gpr |= (uint16_t)~killed.gpr;
	w->live.flags |= X86_LIVE_FLAGS & (uint16_t)~killed.flags;
}

static int is_settled(const struct walk *w, struct x86_live killed)
{
	return (uint16_t)(w->live.gpr | killed.gpr) == X86_LIVE_GPRS &&
	       ((w->live.flags | killed.flags) & X86_LIVE_FLAGS) ==
		   X86_LIVE_FLAGS;
}

static void fork_path(struct walk *w, uint64_t pc, struct x86_live killed)
{
	if (w->n == PATHS_MAX)
		give_up(w, killed);
	else
		w->paths[w->n++] = (struct path){pc, killed};
}

static int look(struct walk *w, uint64_t pc, struct x86_insn *out)
{
	uint64_t offset = pc - w->text->pc, avail = w->text->len - offset;
	unsigned len = avail > X86_MAX_LEN ? X86_MAX_LEN : (unsigned)avail;

	if (!is_in(w->text, pc) || w->left == 0)
		return -1;
	w->left--;
	if (w->seen.lo == w->seen.hi)
		w->seen = (struct x86_span){pc, pc};
	if (pc < w->seen.lo)
		w->seen.lo = pc;
	if (pc + len > w->seen.hi)
		w->seen.hi = pc + len;
	return x86_decode(w->text->bytes + offset, len, out) == X86_OK ? 0 : -1;
}

static void walk_path(struct walk *w, struct path p)
{
	struct x86_insn i;

	while (!is_settled(w, p.killed)) {
		struct effect e;
		uint64_t target;

		if (look(w, p.pc, &i) < 0) {
			give_up(w, p.killed);
			return;
		}
		e = effect_of(&i, w->how);
		w->live.gpr |= e.reads.gpr & (uint16_t)~p.killed.gpr;
		w->live.flags |= e.reads.flags & (uint16_t)~p.killed.flags;
		p.killed.gpr |= e.kills.gpr;
		p.killed.flags |= e.kills.flags;
		if (!may_continue(&i))
			return; /* it read everything */
		target =
		    x86_target(w->text->bytes + (p.pc - w->text->pc), &i, p.pc);
		if (branches(&i))
			fork_path(w, target, p.killed);
		p.pc = goes_away(&i) ? target : p.pc + i.len;
	}
}

struct x86_live x86_live_ahead(const struct x86_text *text, uint64_t pc,
			       struct x86_live want, unsigned max_insns,
			       unsigned how, struct x86_span *seen)
{
	struct walk w = {.text = text,
			 .live = {(uint16_t)~want.gpr | 1 << X86_RSP,
				  X86_LIVE_FLAGS & (uint16_t)~want.flags},
			 .left = max_insns,
			 .how = how,
			 .n = 1};

	w.paths[0] = (struct path){pc, {0, 0}};
	while (w.n > 0) {
		w.n--;
		walk_path(&w, w.paths[w.n]);
	}
	if (seen)
		*seen = w.seen;
	return w.live;
}
