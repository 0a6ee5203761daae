/* engine/recover.c - the program's state, from the machine's.
 *
 * A signal may find a thread at any host instruction of a block. The side
 * table (translate.h) says what the program's registers are there. */
#include "engine/cache.h"
#include "engine/plan.h"
#include "engine/translate.h"

struct place {
	uint64_t pc;   /* of the piece's instruction */
	unsigned insn; /* its number in the block */
	unsigned guest_len;
	struct side_point point; /* .what 0: nothing to be done */
	uint64_t point_pc;
};

/* The last point that begins at or before off. at: behind the piece's two
 * bytes; returns what is behind the points. */
static const uint8_t *read_points(const uint8_t *at, unsigned off,
				  struct place *out)
{
	unsigned n = *at++;

	while (n-- > 0) {
		int has_pc = at[1] & SIDE_PC;

		if (at[0] <= off) {
			out->point = (struct side_point){at[0], at[1], at[2]};
			if (has_pc)
				__builtin_memcpy(&out->point_pc, at + 3, 8);
		}
		at += has_pc ? 11 : 3;
	}
	return at;
}

/* The piece that offset off of the block's code is in. */
static void find_piece(const struct block *b, unsigned off, struct place *out)
{
	const uint8_t *at = b->side;
	unsigned host = 0, insn = 0;
	uint64_t pc = b->pc;

	for (;;) {
		unsigned head = at[0], len = at[1];
		int here = off < host + len;

		*out = (struct place){
		    .pc = pc, .insn = insn, .guest_len = head & SIDE_LEN};
		at += 2;
		if (head & SIDE_POINTS)
			at = read_points(at, here ? off - host : 0, out);
		if (here)
			return;
		host += len;
		pc += head & SIDE_LEN;
		insn += (head & SIDE_LEN) != 0;
	}
}

/* rflags with the status flags as lahf and seto have put them into rax. */
static uint64_t with_flags(uint64_t rflags, uint64_t rax)
{
	enum { AH_FLAGS = 0xd5, OF = 0x800 }; /* SF ZF AF PF CF */
	/* What seto made of it, or the addition that gives it back. */
	int overflow = (rax & 0xff) == 1 || (rax & 0xff) == 0x80;

	rflags &= ~(uint64_t)(AH_FLAGS | OF);
	return rflags | (rax >> 8 & AH_FLAGS) | (overflow ? OF : 0);
}

void engine_restore_flags(struct vcpu *v)
{
	v->rflags = with_flags(v->rflags, v->saved_flags);
}

static void restore_flags(const struct vcpu *v, int64_t *gregs)
{
	gregs[GREG_EFL] = (int64_t)with_flags((uint64_t)gregs[GREG_EFL],
					      (uint64_t)gregs[GREG_RAX]);
	gregs[GREG_RAX] = (int64_t)v->spill[SPILL_ANY];
}

static void apply(const struct vcpu *v, const struct place *p, int64_t *gregs)
{
	unsigned what = p->point.what;
	uint64_t pc = p->pc;

	if ((what & SIDE_SAVED) == SIDE_SAVED) {
		what &= ~(unsigned)SIDE_SAVED;
		gregs[GREG_EFL] = (int64_t)with_flags((uint64_t)gregs[GREG_EFL],
						      v->saved_flags);
	}
	if (what & SIDE_NEXT)
		pc += p->guest_len;
	if (what & SIDE_TARGET) {
		pc = (uint64_t)gregs[GREG_R10];
		if (v->tape)
			gregs[GREG_EFL] = (int64_t)with_flags(
			    (uint64_t)gregs[GREG_EFL], v->saved_flags);
	}
	if (what & SIDE_PC)
		pc = p->point_pc;
	if (what & SIDE_R10)
		gregs[GREG_R10] = (int64_t)v->spill[SPILL_R10];
	if (what & SIDE_RCX)
		gregs[GREG_RCX] = (int64_t)v->spill[SPILL_RCX];
	if (what & SIDE_REG)
		gregs[greg_of(p->point.reg & 15)] =
		    (int64_t)v->spill[SPILL_ANY];
	if (what & SIDE_REG && p->point.reg >> 4)
		gregs[greg_of(p->point.reg >> 4)] =
		    (int64_t)v->spill[SPILL_MORE];
	if (what & SIDE_FLAGS)
		restore_flags(v, gregs);
	if (what & SIDE_UNPUSH)
		gregs[GREG_RSP] += 8;
	gregs[GREG_RIP] = (int64_t)pc;
}

/* The instruction faulted: what was added for it and for those of its run
 * behind it is taken back (P2). */
static void take_back(struct vcpu *v, const struct block *b, unsigned insn)
{
	uint64_t sum[COUNT_MAX] = {0};
	struct guest_block g;
	struct plan plan;
	unsigned first = 0, end = 0;

	block_form(&g, b->pc,
		   &(struct block_how){.limit = b->pc + b->guest_len,
				       .flags = BLOCK_STEPS_POPF});
	count_plan(&g, &plan);
	while (end < g.n && end <= insn) {
		first = end;
		end = plan_run_end(&g, first);
	}
	plan_sum(&plan, insn, end, sum);
	if (insn == 0)
		sum[COUNT_BLOCKS] = 0; /* it was entered */
	for (unsigned i = 0; i < COUNT_MAX; i++)
		v->cells[i] -= sum[i];
}

/* Without the lock: blocks are only added while this thread is in one. */
static struct block *find(struct vcpu *v, uint64_t rip, struct place *at)
{
	struct block *b = cache_block_at(v->engine->cache, rip);

	if (b)
		find_piece(b, (unsigned)(rip - b->start), at);
	return b;
}

int engine_recover(struct vcpu *v, int64_t gregs[GREG_MAX])
{
	uint64_t rip = (uint64_t)gregs[GREG_RIP];
	struct place p;
	struct block *b = find(v, rip, &p);

	if (!b)
		return -1;
	if (v->engine->flags & WIRE_RUN_COUNT && p.guest_len != 0)
		take_back(v, b, p.insn);
	apply(v, &p, gregs);
	return 0;
}

int engine_recover_now(struct vcpu *v, int64_t gregs[GREG_MAX])
{
	uint64_t rip = (uint64_t)gregs[GREG_RIP];
	struct place p;
	struct block *b = find(v, rip, &p);

	if (!b)
		return -1;
	if (v->engine->flags & (WIRE_RUN_COUNT | WIRE_RUN_RECORD)) {
		if (rip >= b->counted) {
			if (v->budget >= 0)
				vcpu_set_budget(v, 0);
			return -1;
		}
		v->budget--; /* it has arrived */
	}
	apply(v, &p, gregs);
	return 0;
}

uint64_t engine_pc_of(struct vcpu *v, uint64_t host)
{
	struct place p;

	return find(v, host, &p) ? p.pc : 0;
}

/* pc of the last instruction of a block. */
static uint64_t last_pc(const struct block *b)
{
	struct place p;
	uint64_t pc = b->pc;

	for (unsigned off = 0; off < b->len; off++) {
		find_piece(b, off, &p);
		if (p.guest_len != 0)
			pc = p.pc;
	}
	return pc;
}

void engine_unbranch(struct vcpu *v)
{
	enum { RSP = 4 };
	const struct block *b =
	    cache_block(v->engine->cache, (uint32_t)v->source);
	uint8_t code[X86_MAX_LEN];
	unsigned have = sizeof code;
	struct x86_insn x;

	v->pc = last_pc(b);
	if (v->engine->flags & WIRE_RUN_COUNT && !v->engine->replays)
		take_back(v, b, b->n_insns - 1u);
	if (v->engine->fetch)
		have = v->engine->fetch(v->engine->fetch_ctx, v->pc, code,
					sizeof code);
	else
		have -= (unsigned)guest_copy(code, (const void *)v->pc, have);
	if (x86_decode(code, have, &x) != X86_OK)
		return;
	if (x.row->flow == X86_CALL_IND)
		v->gpr[RSP] += 8;
	if (x.row->flow == X86_RET)
		v->gpr[RSP] -= 8 + (uint64_t)(uint16_t)x86_imm(code, &x);
}

void engine_get_gregs(const struct vcpu *v, int64_t gregs[GREG_MAX])
{
	for (unsigned i = 0; i < 16; i++)
		gregs[greg_of(i)] = (int64_t)v->gpr[i];
	gregs[GREG_RIP] = (int64_t)v->pc;
	gregs[GREG_EFL] = (int64_t)v->rflags;
}

void engine_set_gregs(struct vcpu *v, const int64_t gregs[GREG_MAX])
{
	for (unsigned i = 0; i < 16; i++)
		v->gpr[i] = (uint64_t)gregs[greg_of(i)];
	v->pc = (uint64_t)gregs[GREG_RIP];
	v->rflags = (uint64_t)gregs[GREG_EFL];
	v->exit_reason = EXIT_GO;
}
