/* engine/translate.c - from the program's code to the cache's.
 *
 * Most instructions are copied. Registers and flags are the program's own, so
 * nothing is saved around anything; the exceptions borrow r10 and rcx, which
 * are kept in the vcpu meanwhile.
 *
 *	jcc		 jcc rel32, to an exit
 *	jmp, falling off jmp rel32, to an exit
 *	call		 push next; jmp rel32, to an exit
 *	ret		 spill r10, rcx; pop r10; look up
 *	jmp *, call *	 spill r10, rcx; mov operand, r10; (push next;) look up
 *	syscall		 vcpu.pc = here; leave
 *
 * The look-up: table[r10 & mask] is the address of an indirect entry, which
 * compares r10 with its own pc and gives r10 and rcx back. All of it leaves
 * the flags alone (pext, lea, jrcxz), for nobody knows who wants them.
 *
 * A branch to an address that is none (not canonical) faults itself, before it
 * has done anything. That is found out too late, so each look-up notes the
 * block it comes from.
 *
 * T1  At each host instruction the program's state can be had from the
 *     machine's, the vcpu's spill words and the side table.
 * T2  Whatever faults does so at a host instruction whose state is the
 *     program's before the instruction, but for what the side table undoes.
 * T3  A rel32 that will be patched lies in one aligned word. */
#include "engine/translate_priv.h"

#include "engine/observe.h"
#include "engine/space.h"
#include "engine/tape.h"
#include "x86/live.h"
#include "x86/relocate.h"

enum {
	ROOM = 65536, /* more than any block takes, hot and cold together */
	STUB_LEN = 21,
};

/* -- Pieces and points ----------------------------------------------------- */

void piece_begin(struct work *w)
{
	w->piece = emit_pc(&w->hot);
	w->piece_at = w->side_at;
	w->points = 0;
	w->side_at += 2;
	if (w->temp[0] != X86_NOREG || w->flags_saved)
		point_borrowed(w);
}

void piece_end(struct work *w, unsigned guest_len)
{
	uint64_t len = emit_pc(&w->hot) - w->piece;

	if (len > 255)
		engine_die("a piece is too long");
	w->side[w->piece_at] =
	    (uint8_t)(guest_len | (w->points ? SIDE_POINTS : 0));
	w->side[w->piece_at + 1] = (uint8_t)len;
}

void point_reg(struct work *w, unsigned what, unsigned reg)
{
	uint8_t *count = &w->side[w->piece_at + 2];
	uint8_t *p;

	if (w->points == 0) {
		*count = 0;
		w->side_at++;
		w->points = 1;
	}
	p = &w->side[w->side_at];
	p[0] = (uint8_t)(emit_pc(&w->hot) - w->piece);
	p[1] = (uint8_t)what;
	p[2] = (uint8_t)reg;
	(*count)++;
	w->side_at += 3;
}

static void point_pc(struct work *w, uint64_t pc)
{
	point(w, SIDE_PC);
	__builtin_memcpy(&w->side[w->side_at], &pc, sizeof pc);
	w->side_at += sizeof pc;
}

/* -- Cold parts ------------------------------------------------------------ */

uint64_t take_cold(struct work *w, unsigned len)
{
	w->region->cold -= len;
	w->hot.end = cache_writable(w->region, w->region->cold);
	return w->region->cold;
}

struct x86_buf cold_buf(const struct work *w, uint64_t cold, unsigned len)
{
	uint8_t *at = cache_writable(w->region, cold);

	return (struct x86_buf){
	    .start = at, .at = at, .end = at + len, .pc = cold};
}

/* Where an exit leads until it is linked: mov qword gs:[VCPU_ARG], number;
 * jmp *gs:[VCPU_LEAVE]. The one store sets both the argument and the reason:
 * EXIT_LINK is 0. */
static uint64_t put_stub(struct work *w, uint32_t number)
{
	static const uint8_t stub[STUB_LEN] = {0x65, 0x48, 0xc7, 0x04, 0x25, 0,
					       0,    0,	   0,	 0,    0,    0,
					       0,    0x65, 0xff, 0x24, 0x25};
	static const int32_t arg = VCPU_ARG, leave = VCPU_LEAVE;
	enum { ARG_AT = 5, NUMBER_AT = 9, LEAVE_AT = 17 };
	uint64_t cold = take_cold(w, STUB_LEN);
	uint8_t *at = cache_writable(w->region, cold);

	__builtin_memcpy(at, stub, sizeof stub);
	__builtin_memcpy(at + ARG_AT, &arg, sizeof arg);
	__builtin_memcpy(at + NUMBER_AT, &number, sizeof number);
	__builtin_memcpy(at + LEAVE_AT, &leave, sizeof leave);
	return cold;
}
_Static_assert(EXIT_LINK == 0 && VCPU_REASON == VCPU_ARG + 4, "put_stub");

/* A new exit to target; its rel32 is the last four bytes of the instruction
 * that `put` is about to write, or was. */
static struct exit *new_exit(struct work *w, uint64_t target)
{
	uint32_t number = pool_add(&w->e->cache->exits);
	struct exit *x;

	if (number == 0)
		engine_die("no memory for exits");
	x = cache_exit(w->e->cache, number);
	x->target = target;
	x->stub = put_stub(w, number);
	/* With nothing but counts of entries, every entry counts. */
	x->counts = !is_taped(w->e) || (w->i && target <= w->pc && w->branches);
	x->lonely = w->lonely;
	return x;
}

static uint64_t put_constant(struct work *w, uint64_t value)
{
	uint64_t cold = take_cold(w, 8);

	__builtin_memcpy(cache_writable(w->region, cold), &value, sizeof value);
	return cold;
}

/* -- Ways out -------------------------------------------------------------- */

/* T3. In replay nobody else runs the code while it is patched. */
static void put_align(struct work *w, unsigned before)
{
	if (!w->e->replays)
		emit_align_rel32(&w->hot, before);
}

void put_jmp(struct work *w, uint64_t target)
{
	struct exit *x = new_exit(w, target);

	put_align(w, 1);
	emit_jmp(&w->hot, x->stub);
	x->site = emit_pc(&w->hot) - 4;
}

static void put_jcc(struct work *w, uint64_t target)
{
	struct exit *x = new_exit(w, target);

	put_align(w, 2);
	emit_jcc(&w->hot, w->i->x.opcode & 15, x->stub);
	x->site = emit_pc(&w->hot) - 4;
}

/* loop, jrcxz: rel8 only, so over a jump. */
static void put_loop(struct work *w, uint64_t target)
{
	uint8_t bytes[3] = {0x67, w->i->x.opcode, 2};
	unsigned short_form = !(w->i->x.prefixes & X86_P_67);
	struct emit_label over = {0};
	struct exit *x = new_exit(w, target);

	emit_bytes(&w->hot, bytes + short_form, 3 - short_form);
	point(w, SIDE_NEXT);
	emit_jmp8_label(&w->hot, &over);
	point_pc(w, target); /* taken: rcx has been counted down */
	put_align(w, 1);
	emit_jmp(&w->hot, x->stub);
	x->site = emit_pc(&w->hot) - 4;
	emit_bind(&w->hot, &over);
}

void put_leave(struct work *w, uint64_t pc, enum vcpu_exit why)
{
	emit_mi(&w->hot, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_PC),
		(uint32_t)pc);
	emit_mi(&w->hot, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_PC + 4),
		(uint32_t)(pc >> 32));
	emit_mi(&w->hot, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_REASON), why);
	emit_m(&w->hot, EMIT_JMP, 8, x86_mem_seg(X86_GS, VCPU_LEAVE));
}

/* -- Calls, returns, indirect branches ------------------------------------- */

static void put_push_next(struct work *w)
{
	uint64_t next = w->pc + w->i->x.len;

	if ((int64_t)next == (int32_t)next)
		emit_push_i(&w->hot, (int32_t)next);
	else
		emit_m(&w->hot, EMIT_PUSH, 8,
		       x86_mem_pc(put_constant(w, next)));
}

static void put_call(struct work *w, uint64_t target)
{
	struct exit *x = new_exit(w, target);

	put_push_next(w);
	point(w, SIDE_UNPUSH);
	put_align(w, 1);
	emit_jmp(&w->hot, x->stub);
	x->site = emit_pc(&w->hot) - 4;
}

void put_spills(struct work *w)
{
	if (!w->e->replays) /* there it ends the run, wherever it came from */
		emit_mi(&w->hot, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_SOURCE),
			(int32_t)w->number);
	emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_R10), X86_R10);
	emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_RCX), X86_RCX);
}

void put_look_up(struct work *w)
{
	const struct cache *c = w->e->cache;
	/* pext rcx, r10, [disp32] */
	uint8_t pext[10] = {0xc4, 0xe2, 0xaa, 0xf5, 0x0c, 0x25};
	uint32_t mask = (uint32_t)(uint64_t)c->table_mask;

	point(w, SIDE_TARGET | SIDE_R10);
	if (c->by_pext) {
		__builtin_memcpy(pext + 6, &mask, sizeof mask);
		emit_bytes(&w->hot, pext, sizeof pext);
	} else {
		emit_rr(&w->hot, EMIT_MOVZX16, 4, X86_RCX, X86_R10);
	}
	point(w, SIDE_TARGET | SIDE_R10 | SIDE_RCX);
	emit_m(&w->hot, EMIT_JMP, 8,
	       x86_mem_index(X86_NOREG, X86_RCX, 3, (int64_t)c->table));
}

static void put_ret(struct work *w)
{
	uint64_t drop = (uint16_t)x86_imm(w->g->bytes + w->i->off, &w->i->x);

	put_spills(w);
	if (drop == 0) {
		emit_r(&w->hot, EMIT_POP, 8, X86_R10);
	} else {
		emit_rm(&w->hot, EMIT_MOV, 8, X86_R10, x86_mem_at(X86_RSP, 0));
		point(w, SIDE_R10);
		emit_rm(&w->hot, EMIT_LEA, 8, X86_RSP,
			x86_mem_at(X86_RSP, (int64_t)(drop + 8)));
	}
	put_look_up(w);
}

/* r10 = where the branch goes; it may be far from here. */
static void put_operand(struct work *w)
{
	struct x86_mem mem;

	if (!w->i->x.is_mem) {
		if (w->i->x.rm != X86_R10)
			emit_rr(&w->hot, EMIT_MOV, 8, X86_R10, w->i->x.rm);
		return;
	}
	mem = x86_mem_of(&w->i->x, w->pc);
	if (mem.base == X86_RIP && !mem.addr32 &&
	    !emit_reaches(&w->hot, 16, (uint64_t)mem.disp)) {
		emit_set(&w->hot, X86_R10, (uint64_t)mem.disp);
		point(w, SIDE_R10);
		mem = (struct x86_mem){
		    .seg = mem.seg, .base = X86_R10, .index = X86_NOREG};
	}
	emit_rm(&w->hot, EMIT_MOV, 8, X86_R10, mem);
}

static void put_indirect(struct work *w, int is_call)
{
	put_spills(w);
	put_operand(w);
	if (is_call) {
		point(w, SIDE_R10);
		put_push_next(w);
	}
	put_look_up(w);
}

/* -- Single instructions --------------------------------------------------- */

/* Its operand is too far away, or it is odd in another way. */
static void put_moved(struct work *w)
{
	struct x86_mem cell = spill(SPILL_ANY);
	struct x86_move_how how = {.cell = &cell};
	struct x86_moved info;
	const uint8_t *code = w->g->bytes + w->i->off;
	enum x86_move rc =
	    x86_relocate(code, &w->i->x, w->pc, &how, &w->hot, &info);

	if (rc != X86_MOVE_OK) {
		put_leave(w, w->pc, EXIT_STEP);
		return;
	}
	for (unsigned k = 0; k < info.n; k++) {
		const struct x86_point *p = &info.point[k];
		unsigned what = p->pc == X86_PC_NEXT ? SIDE_NEXT : 0;

		if (p->fix == X86_FIX_REG)
			what |= SIDE_REG;
		if (p->off != 0 || what != 0) {
			uint8_t *at = w->hot.at;

			w->hot.at =
			    cache_writable(w->region, w->piece) + p->off;
			point_reg(w, what, p->reg);
			w->hot.at = at;
		}
	}
}

void put_copy(struct work *w)
{
	const struct x86_insn *x = &w->i->x;
	uint64_t operand;
	uint32_t rel;

	if (!x86_uses_rip(x)) {
		emit_bytes(&w->hot, w->g->bytes + w->i->off, x->len);
		return;
	}
	operand = w->pc + x->len + (uint64_t)x->disp;
	if (x->prefixes & X86_P_67 || !emit_reaches(&w->hot, x->len, operand)) {
		put_moved(w);
		return;
	}
	emit_bytes(&w->hot, w->g->bytes + w->i->off, x->len);
	rel = (uint32_t)(operand - emit_pc(&w->hot));
	__builtin_memcpy(w->hot.at - x->len + x->disp_off, &rel, sizeof rel);
}

/* TF must not be set under our feet. Its bit of the word on the stack is
 * looked at without a flag: it becomes bit 31 of ecx, all others fall off. */
static void put_popf(struct work *w)
{
	static const uint8_t bswap_ecx[2] = {0x0f, 0xc9};
	const struct x86_mem times8 = x86_mem_index(X86_NOREG, X86_RCX, 3, 0);
	uint8_t jrcxz[2] = {0xe3, 0}, *field;
	struct x86_buf *b = &w->hot;

	emit_mr(b, EMIT_MOV, 8, spill(SPILL_RCX), X86_RCX);
	emit_rm(b, EMIT_MOVZX16, 4, X86_RCX, x86_mem_at(X86_RSP, 0));
	point(w, SIDE_RCX);
	emit_bytes(b, bswap_ecx, sizeof bswap_ecx); /* bit 8 is bit 16 now */
	for (int k = 0; k < 5; k++)
		emit_rm(b, EMIT_LEA, 4, X86_RCX, times8);
	emit_bytes(b, jrcxz, sizeof jrcxz);
	field = b->at - 1;
	emit_rm(b, EMIT_MOV, 8, X86_RCX, spill(SPILL_RCX));
	point(w, 0);
	put_leave(w, w->pc, EXIT_STEP);
	*field = (uint8_t)(b->at - (field + 1));
	point(w, SIDE_RCX);
	emit_rm(b, EMIT_MOV, 8, X86_RCX, spill(SPILL_RCX));
	point(w, 0);
	emit_plain(b, EMIT_POPF);
}

/* Instructions with memory: as they are, recorded, or replayed. */
static void put_memory(struct work *w)
{
	if (w->e->replays)
		put_alone(w);
	else if (w->e->flags & WIRE_RUN_RECORD)
		put_mirrored(w);
	else
		put_copy(w);
}

static void put_calling(struct work *w, uint64_t target)
{
	if (w->e->replays)
		put_alone_call(w, target);
	else if (w->e->flags & WIRE_RUN_RECORD)
		put_mirrored_call(w, target);
	else
		put_call(w, target);
}

static void put_returning(struct work *w)
{
	if (w->e->replays)
		put_alone_ret(w);
	else if (w->e->flags & WIRE_RUN_RECORD)
		put_mirrored_ret(w);
	else
		put_ret(w);
}

static void put_going(struct work *w, int is_call)
{
	if (w->e->replays)
		put_alone_indirect(w, is_call);
	else if (w->e->flags & WIRE_RUN_RECORD)
		put_mirrored_indirect(w, is_call);
	else
		put_indirect(w, is_call);
}

/* The CPU does it, the engine looks at what came of it; in replay the log
 * knows. */
static void put_looked_at(struct work *w, enum vcpu_exit why)
{
	if (!w->e->replays) {
		if (why == EXIT_STATE && x86_is_locked(&w->i->x))
			put_ticket_ahead(w);
		if (w->i->x.row->special == X86_POPF)
			put_popf(w);
		else
			put_copy(w);
		point(w, SIDE_NEXT);
	}
	put_leave(w, w->pc, why);
}

static void put_branch(struct work *w, uint64_t target)
{
	w->branches = 1;
	switch ((enum treat)w->i->treat) {
	case TREAT_JCC:
		put_jcc(w, target);
		break;
	case TREAT_LOOP:
		put_loop(w, target);
		break;
	case TREAT_JMP:
		put_jmp(w, target);
		break;
	case TREAT_CALL:
		put_calling(w, target);
		break;
	case TREAT_RET:
		put_returning(w);
		break;
	default:
		put_going(w, w->i->treat == TREAT_CALL_IND);
		break;
	}
	w->branches = 0;
}

static void put_odd(struct work *w)
{
	switch ((enum treat)w->i->treat) {
	case TREAT_RDGS:
		emit_rm(&w->hot, EMIT_MOV, w->i->x.rex & 8 ? 8 : 4, w->i->x.rm,
			x86_mem_seg(X86_GS, VCPU_GS));
		break;
	case TREAT_POPF:
		put_popf(w);
		break;
	case TREAT_SYSCALL:
		put_leave(w, w->pc, EXIT_SYSCALL);
		break;
	case TREAT_X87:
		put_looked_at(w, EXIT_X87);
		break;
	case TREAT_RESULT:
		put_looked_at(w, EXIT_RESULT);
		break;
	case TREAT_STATE:
		put_looked_at(w, EXIT_STATE);
		break;
	case TREAT_STRING:
		put_leave(w, w->pc, EXIT_STRING);
		break;
	case TREAT_TRAP:
		if (w->e->replays)
			put_leave(w, w->pc, EXIT_TRAP);
		else
			put_copy(w);
		break;
	default:
		put_leave(w, w->pc, EXIT_STEP);
		break;
	}
}

static void put_insn(struct work *w)
{
	const uint8_t *code = w->g->bytes + w->i->off;
	unsigned treat = w->i->treat;

	if (treat == TREAT_COPY) {
		put_memory(w);
		return;
	}
	if (treat != TREAT_CALL && treat != TREAT_RET)
		put_give_back(w);
	if (treat == TREAT_CALL || treat == TREAT_JMP)
		put_settle_flags(w, w->flags_behind);
	else if (treat < TREAT_RET || treat > TREAT_CALL_IND)
		put_settle_flags(w, X86_FLAGS_STATUS);
	if (treat == TREAT_JCC || treat == TREAT_LOOP ||
	    (treat >= TREAT_JMP && treat <= TREAT_CALL_IND))
		put_branch(w, x86_is_direct(&w->i->x)
				  ? x86_target(code, &w->i->x, w->pc)
				  : 0);
	else
		put_odd(w);
}

/* -- What an instrument planned -------------------------------------------- */

static void put_add(struct work *w, unsigned cell, uint64_t n, int flags_live)
{
	struct x86_mem at = x86_mem_seg(X86_GS, VCPU_CELLS + 8 * (int)cell);

	if (!flags_live) {
		emit_mi(&w->hot, EMIT_ADD, 8, at, (int64_t)n);
		return;
	}
	emit_rm(&w->hot, EMIT_MOV, 8, X86_R10, at);
	emit_rm(&w->hot, EMIT_LEA, 8, X86_R10, x86_mem_at(X86_R10, (int64_t)n));
	emit_mr(&w->hot, EMIT_MOV, 8, at, X86_R10);
}

/* All that the run which begins at instruction `first` adds. */
static void put_run(struct work *w, unsigned first)
{
	uint64_t sum[VCPU_N_CELLS] = {0};
	int flags_live = w->flags_live[first] != 0;

	plan_sum(w->plan, first, plan_run_end(w->g, first), sum);
	piece_begin(w);
	if (flags_live) {
		emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_R10), X86_R10);
		point(w, SIDE_R10);
	}
	for (unsigned cell = 0; cell < VCPU_N_CELLS; cell++)
		if (sum[cell] != 0)
			put_add(w, cell, sum[cell], flags_live);
	if (flags_live)
		emit_rm(&w->hot, EMIT_MOV, 8, X86_R10, spill(SPILL_R10));
	piece_end(w, 0);
}

static void put_budget_quietly(struct work *w, struct x86_mem at)
{
	static const uint8_t jrcxz_5[2] = {0xe3, 5};
	struct emit_label out = {0};

	emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_RCX), X86_RCX);
	emit_rm(&w->hot, EMIT_MOV, 8, X86_RCX, at);
	point(w, SIDE_RCX);
	emit_bytes(&w->hot, jrcxz_5, sizeof jrcxz_5);
	emit_jmp_label(&w->hot, &out); /* 5 bytes; rcx is not 0 */
	emit_rm(&w->hot, EMIT_MOV, 8, X86_RCX, spill(SPILL_RCX));
	point(w, 0);
	put_leave(w, w->g->pc, EXIT_BUDGET);
	emit_bind(&w->hot, &out);
	point(w, SIDE_RCX);
	emit_rm(&w->hot, EMIT_LEA, 8, X86_RCX, x86_mem_at(X86_RCX, -1));
	emit_mr(&w->hot, EMIT_MOV, 8, at, X86_RCX);
	w->counted = emit_pc(&w->hot);
	emit_rm(&w->hot, EMIT_MOV, 8, X86_RCX, spill(SPILL_RCX));
}

/* In replay no signal finds the thread anywhere, so the way out may lie out of
 * the way, where the side table has nothing. rcx: it has been borrowed. */
static uint64_t put_way_home(struct work *w, enum vcpu_exit why, int rcx)
{
	enum { LEN = 64 };
	uint64_t at = take_cold(w, LEN);
	struct work cold = {.region = w->region,
			    .temp = {X86_NOREG, X86_NOREG},
			    .hot = cold_buf(w, at, LEN)};

	if (rcx)
		emit_rm(&cold.hot, EMIT_MOV, 8, X86_RCX, spill(SPILL_RCX));
	put_leave(&cold, w->g->pc, why);
	if (cold.hot.bad)
		engine_die("no room for a way home");
	return at;
}

/* What the budget of a replayed block jumps to if it is used up, for a branch
 * that reaches 127 bytes and must not be taken otherwise: put before all. */
static uint64_t put_step_out(struct work *w)
{
	uint64_t at = emit_pc(&w->hot);

	if (!w->e->replays || w->flags_live[0] == 0)
		return 0;
	piece_begin(w);
	emit_jmp(&w->hot, put_way_home(w, EXIT_BUDGET, 1));
	piece_end(w, 0);
	return at;
}

static void put_budget_alone(struct work *w, uint64_t step_out)
{
	struct x86_mem at = x86_mem_seg(X86_GS, VCPU_BUDGET);
	struct x86_buf *b = &w->hot;
	uint8_t jrcxz[2] = {0xe3};

	piece_begin(w);
	if (step_out == 0) {
		emit_mi(b, EMIT_SUB, 8, at, 1);
		emit_jcc(b, X86_CC_S, put_way_home(w, EXIT_DEAD, 0));
	} else {
		emit_mr(b, EMIT_MOV, 8, spill(SPILL_RCX), X86_RCX);
		emit_rm(b, EMIT_MOV, 8, X86_RCX, at);
		jrcxz[1] = (uint8_t)(step_out - (emit_pc(b) + sizeof jrcxz));
		emit_bytes(b, jrcxz, sizeof jrcxz);
		emit_rm(b, EMIT_LEA, 8, X86_RCX, x86_mem_at(X86_RCX, -1));
		emit_mr(b, EMIT_MOV, 8, at, X86_RCX);
		emit_rm(b, EMIT_MOV, 8, X86_RCX, spill(SPILL_RCX));
	}
	piece_end(w, 0);
}

/* One exit for all who want the thread out: the budget. A signal that arrives
 * before it has been counted down finds the thread at the block's start. */
static void put_budget(struct work *w)
{
	struct x86_mem at = x86_mem_seg(X86_GS, VCPU_BUDGET);
	struct emit_label go_on = {0};

	piece_begin(w);
	if (w->flags_live[0] != 0) {
		put_budget_quietly(w, at);
	} else {
		emit_mi(&w->hot, EMIT_SUB, 8, at, 1);
		w->counted = emit_pc(&w->hot);
		emit_jcc8_label(&w->hot, X86_CC_NS, &go_on);
		put_leave(w, w->g->pc, EXIT_DEAD);
		emit_bind(&w->hot, &go_on);
	}
	piece_end(w, 0);
}

/* -- The whole ------------------------------------------------------------- */

/* rcx = r10 + more */
static void put_difference(struct x86_buf *b, uint64_t more)
{
	if ((int64_t)more == (int32_t)more) {
		emit_rm(b, EMIT_LEA, 8, X86_RCX,
			x86_mem_at(X86_R10, (int64_t)more));
	} else {
		emit_set(b, X86_RCX, more);
		emit_rm(b, EMIT_LEA, 8, X86_RCX,
			x86_mem_index(X86_RCX, X86_R10, 0, 0));
	}
}

/* The flags have travelled in the vcpu. A signal may find the thread here. */
static void put_lead_flags(struct work *w)
{
	struct x86_buf *b = &w->hot;

	piece_begin(w);
	point(w, SIDE_SAVED);
	emit_mr(b, EMIT_MOV, 8, spill(SPILL_ANY), X86_RAX);
	point_reg(w, SIDE_SAVED | SIDE_REG, X86_RAX);
	emit_rm(b, EMIT_MOV, 4, X86_RAX, x86_mem_seg(X86_GS, VCPU_SAVED));
	emit_ri(b, EMIT_ADD, 1, X86_RAX, 0x7f);
	emit_plain(b, EMIT_SAHF);
	emit_rm(b, EMIT_MOV, 8, X86_RAX, spill(SPILL_ANY));
	piece_end(w, 0);
}

/* Where indirect branches arrive: r10 is where they meant to go, r10 and rcx
 * are spilled. rcx can be tested without a flag: `loop` falls through if it
 * is 1, jrcxz jumps if it is 0. Where `loop` is quick, it is quicker: no jump
 * is taken. */
static uint64_t put_lead(struct work *w, uint64_t pc)
{
	struct x86_buf *b = &w->hot;
	uint8_t loop_or_jrcxz[2] = {0xe3, 5};
	uint64_t entry = emit_pc(b);

	piece_begin(w);
	point(w, SIDE_TARGET | SIDE_R10 | SIDE_RCX);
	if (w->e->cache->by_loop) {
		emit_jmp(b, w->region->miss); /* 5 bytes */
		entry = emit_pc(b);
		put_difference(b, 1 - pc);
		loop_or_jrcxz[0] = 0xe2;
		loop_or_jrcxz[1] = (uint8_t)(w->piece - (emit_pc(b) + 2));
		emit_bytes(b, loop_or_jrcxz, 2);
	} else {
		put_difference(b, 0 - pc);
		emit_bytes(b, loop_or_jrcxz, 2);
		emit_jmp(b, w->region->miss); /* 5 bytes */
	}
	emit_rm(b, EMIT_MOV, 8, X86_RCX, spill(SPILL_RCX));
	point(w, SIDE_TARGET | SIDE_R10);
	emit_rm(b, EMIT_MOV, 8, X86_R10, spill(SPILL_R10));
	piece_end(w, 0);
	if (w->wants_flags)
		put_lead_flags(w);
	return entry;
}

static void put_all(struct work *w)
{
	const struct guest_block *g = w->g;
	unsigned last = g->insns[g->n - 1].treat;
	unsigned run = w->plan ? 0 : BLOCK_MAX; /* the next one begins there */

	for (unsigned k = 0; k < g->n; k++) {
		w->k = k;
		w->i = &g->insns[k];
		w->pc = g->pc + w->i->off;
		if (k == run) {
			put_run(w, k);
			run = plan_run_end(g, k);
		}
		piece_begin(w);
		put_insn(w);
		piece_end(w, w->i->treat == TREAT_STEP ? 0 : w->i->x.len);
	}
	if (last < TREAT_JMP || last == TREAT_TRAP) {
		piece_begin(w);
		put_give_back(w);
		put_settle_flags(w, w->flags_behind);
		put_jmp(w, g->pc + g->len);
		piece_end(w, 0);
	}
}

static int keep_bytes(struct cache *c, struct block *b,
		      const struct guest_block *g)
{
	b->bytes = bytes_take(&c->side, g->have);
	if (!b->bytes)
		return -1;
	__builtin_memcpy(b->bytes, g->bytes, g->seen);
	return 0;
}

static void count(struct engine *e, const struct block *b, uint64_t bytes)
{
	if (!e->run)
		return;
	engine_count(&e->run->stats.blocks, 1);
	engine_count(&e->run->stats.instructions, b->n_insns);
	engine_count(&e->run->stats.guest_bytes, b->guest_len);
	engine_count(&e->run->stats.code_bytes, bytes);
}

/* What was written becomes a block that can be found by its address. */
static struct block *finish(struct work *w, uint64_t pc, uint32_t *number)
{
	struct cache *c = w->e->cache;
	uint64_t start = (uint64_t)w->hot.start;
	struct block *b;

	*number = pool_add(&c->blocks);
	if (*number == 0 || w->hot.bad)
		return 0;
	b = cache_block(c, *number);
	b->side = bytes_take(&c->side, w->side_at);
	if (!b->side)
		return 0;
	__builtin_memcpy(b->side, w->side, w->side_at);
	b->pc = pc;
	b->start = start;
	b->len = (uint32_t)(emit_pc(&w->hot) - start);
	b->region = (uint8_t)(w->region - c->regions);
	w->region->hot = (emit_pc(&w->hot) + 15) & ~15ull;
	cache_order(c, *number);
	return b;
}

static void begin(struct work *w)
{
	struct region *r = w->region;

	w->hot = (struct x86_buf){.start = cache_writable(r, r->hot),
				  .at = cache_writable(r, r->hot),
				  .end = cache_writable(r, r->cold),
				  .pc = r->hot};
}

static unsigned block_flags(const struct engine *e,
			    const struct translate_how *how)
{
	unsigned flags = how->block_flags | e->block_flags;

	if (e->flags & WIRE_RUN_COUNT || is_taped(e))
		flags |= BLOCK_STEPS_POPF;
	if (is_taped(e))
		flags |= BLOCK_RECORDED;
	return flags;
}

/* What instruments want to know of the block. */
static void look(struct work *w, struct plan *plan)
{
	struct engine *e = w->e;

	if (e->flags & WIRE_RUN_COUNT) {
		w->plan = plan;
		if (e->replays)
			count_instructions(w->g, plan);
		else
			count_plan(w->g, plan);
	}
	if (!w->plan && !is_taped(e))
		return;
	find_live(w);
	if (!w->looks_ahead || w->epoch != 0) /* it may be other code by then */
		w->flags_live[0] |= X86_FLAGS_STATUS;
	w->wants_flags = e->flags & WIRE_RUN_RECORD && w->flags_live[0] != 0;
}

/* It is to be left at once. */
static void put_stop(struct work *w)
{
	piece_begin(w);
	put_leave(w, w->g->pc, EXIT_BREAK);
	piece_end(w, 0);
}

uint32_t translate(struct engine *e, const struct translate_how *how)
{
	struct guest_block g;
	struct plan plan;
	struct work w = {.e = e,
			 .g = &g,
			 .temp = {X86_NOREG, X86_NOREG},
			 .lonely = how->lonely,
			 .blind = how->blind};
	struct block_how form = {.limit = how->limit,
				 .stop = how->stop,
				 .observe = e->observe,
				 .flags = block_flags(e, how),
				 .fetch = e->fetch,
				 .ctx = e->fetch_ctx};
	uint64_t room, entry, plain, step_out, lead = 0;
	struct block *b;
	uint32_t number;
	int changed = 0;

	w.region = cache_region(e, e->near ? e->near : how->pc, ROOM);
	if (!w.region)
		return 0;
	w.number = e->cache->blocks.n + 1;
	room = w.region->cold - w.region->hot;
	block_form(&g, how->pc, &form);
	if (e->tapes)
		w.epoch = tape_code(e, how->pc, g.bytes, g.seen, &changed);
	if (changed)
		space_kill(e, how->pc, how->pc + g.seen);
	w.looks_ahead = how->kind == BLOCK_LIVE;
	look(&w, &plan);
	begin(&w);
	step_out = put_step_out(&w);
	if (how->indirect)
		lead = put_lead(&w, how->pc);
	entry = emit_pc(&w.hot);
	if (e->replays)
		put_budget_alone(&w, step_out);
	else if (w.plan || is_taped(e))
		put_budget(&w);
	plain = emit_pc(&w.hot);
	if (how->kind == BLOCK_CHECKED || w.epoch != 0)
		put_code_check(&w, how->kind == BLOCK_CHECKED);
	if (!how->lonely && e->observe && observe_is_stop(e->observe, how->pc))
		put_stop(&w);
	else
		put_all(&w);
	b = finish(&w, how->pc, &number);
	if (!b || (how->kind == BLOCK_CHECKED && keep_bytes(e->cache, b, &g)))
		return 0;
	b->entry = entry;
	b->plain = plain;
	b->counted = w.counted;
	b->indirect = lead;
	b->guest_len = (uint16_t)g.len;
	b->seen_len = (uint16_t)g.seen;
	b->n_insns = (uint16_t)g.n;
	b->state = (uint8_t)how->kind;
	b->wants_flags = w.wants_flags;
	if (!how->lonely)
		cache_insert(e->cache, number);
	room -= w.region->cold - w.region->hot;
	e->cache->used += room;
	count(e, b, room);
	return number;
}

/* A lead of its own, for a block that was made without one. */
int translate_indirect(struct engine *e, struct block *b)
{
	struct work w = {.e = e,
			 .temp = {X86_NOREG, X86_NOREG},
			 .wants_flags = b->wants_flags,
			 .region = &e->cache->regions[b->region]};
	uint64_t entry;
	uint32_t number;

	if (b->indirect != 0)
		return 0;
	if (w.region->cold - w.region->hot < ROOM)
		return -1;
	begin(&w);
	entry = put_lead(&w, b->pc);
	piece_begin(&w);
	emit_jmp(&w.hot, b->entry);
	piece_end(&w, 0);
	if (!finish(&w, b->pc, &number))
		return -1;
	b->indirect = entry;
	return 0;
}
