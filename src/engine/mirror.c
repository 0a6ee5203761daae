/* engine/mirror.c - memory operands of a program that is recorded.
 *
 * Each thread has a shadow of the memory it uses (wire/record.h), at gs plus
 * the low 32 bits of address + WIRE_SHADOW_SKEW. A load compares memory with
 * the shadow, and what the program computes with is the shadow's value:
 *
 *	mov r, [m]	mov r, [m]; cmp r, sh[m]; jne cold
 *	op r, [m]	mov t, [m]; cmp t, sh[m]; jne cold; op r, t
 *	movups x, [m]	the same by words; then movups x, sh[m]
 *	mov [m], r	mov [m], r; mov sh[m], r
 *	pop [m]		mov t, [rsp]; (check); mov [m], t; mov sh[m], t;
 *			lea rsp, [rsp+8]
 *	op [m], r	mov t, [m]; (check); op t, r; mov [m], t; mov sh[m], t
 *	rol [m], n	mov t, [m]; (check); rol [m], n; rol sh[m], n
 *
 * Cold code tells the engine (record/collect_load.c), which logs the granule
 * and corrects the shadow; then the value is taken from there. Operands of the
 * shadow are the program's own with a segment, an address size and a larger
 * displacement; that the displacement is another one matters to the CPU's
 * store forwarding, see docs/decisions.md.
 *
 * Where the program may still want its flags, they are saved before the first
 * check that spoils them, and restored when they are wanted. With an indirect
 * branch they travel in the vcpu: nobody knows who wants them there, and few
 * do. Registers are borrowed for a run of instructions that do not use them. A
 * point of the side table says so of both.
 *
 * M1  Memory first, then the shadow: an instruction that faults has done
 *     nothing to the shadow.
 * M2  At a check the registers of the address are the program's.
 * M3  What is borrowed is given back before control can leave the run. */
#include "engine/mirror_priv.h"

#include "engine/ways.h"
#include "x86/rewrite.h"

static struct x86_mem plus(struct x86_mem m, unsigned off)
{
	m.disp += off;
	return m;
}

/* -- Loads and stores ------------------------------------------------- */

/* Loads into a general register that is not in the address: no temporary. */
static int is_simple_load(const struct work *w)
{
	const struct x86_insn *x = &w->i->x;
	unsigned op = x->opcode, space = x->space;
	int known =
	    (space == X86_SPACE_LEGACY &&
	     (op == 0x8a || op == 0x8b || (op == 0x63 && x->rex & 8))) ||
	    (space == X86_SPACE_LEGACY + 1 &&
	     (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf));

	if (!known || x->reg == x->base || x->reg == x->index)
		return 0;
	return !(op == 0x8a && x->rex == 0 && x->reg >= 4); /* ah */
}

static void put_simple_load(struct work *w, struct x86_mem m)
{
	struct check c = {.m = m,
			  .size = w->i->x.row->mem_size,
			  .whole = w->i->x.row->mem_size,
			  .value = w->i->x.reg,
			  .flags_live = w->flags_live[w->k] != 0};

	put_copy(w);
	put_check(w, &c);
	cold_again(w, &c);
}

static void put_big_load(struct work *w, struct x86_mem m, unsigned whole)
{
	struct check c[8];
	unsigned n = 0, t = take_temp(w, 0, 0);

	for (unsigned at = 0; at < whole; n++) {
		unsigned size = whole - at >= 8 ? 8 : whole - at;

		c[n] = (struct check){.m = m,
				      .value = t,
				      .size = size,
				      .whole = whole,
				      .at = at,
				      .flags_live = w->flags_live[w->k] != 0};
		emit_rm(&w->hot, size == 2 ? EMIT_MOVZX16 : EMIT_MOV,
			size == 8 ? 8 : 4, t, plus(m, at));
		put_check(w, &c[n]);
		at += size;
		if (n % 4 == 3) { /* pieces are short */
			piece_end(w, 0);
			piece_begin(w);
		}
	}
	while (n-- > 0)
		cold_on(w, &c[n]);
	settle_for_insn(w);
	put_shadowed(w);
}

static void put_load(struct work *w, struct x86_mem m)
{
	const struct x86_insn *x = &w->i->x;
	unsigned t;

	if (is_simple_load(w)) {
		put_simple_load(w, m);
		return;
	}
	if (x->row->mem_size > 8) {
		put_big_load(w, m, x->row->mem_size);
		return;
	}
	t = load_temp(w, m, x->row->mem_size, w->flags_live[w->k] != 0);
	settle_for_insn(w);
	if (!way_takes_register(x) ||
	    x86_put_register(&w->hot, w->g->bytes + w->i->off, x, t) < 0)
		put_shadowed(w);
}

static void put_store(struct work *w)
{
	put_copy(w);
	put_shadowed(w);
}

static void put_update(struct work *w, struct x86_mem m)
{
	const struct x86_insn *x = &w->i->x;
	unsigned size = x->row->mem_size;
	unsigned t = load_temp(w, m, size, w->flags_live[w->k] != 0);
	int kept = w->flags_saved;

	settle_for_insn(w);
	if (kept && x->flag_read & X86_FLAGS_STATUS) {
		/* If the store faults, adc will want its carry again. */
		w->flags_saved = 1;
		point_borrowed(w);
		w->flags_saved = 0;
	}
	if (way_differs_in_register(x)) {
		put_copy(w);
		put_shadowed(w);
		return;
	}
	if (x86_put_register(&w->hot, w->g->bytes + w->i->off, x, t) == 0) {
		emit_mr(&w->hot, EMIT_MOV, size, m, t);
		emit_mr(&w->hot, EMIT_MOV, size, shadow_of(m), t);
	} else {
		put_shadowed(w);
		emit_rm(&w->hot, EMIT_MOV, size, t, shadow_of(m));
		emit_mr(&w->hot, EMIT_MOV, size, m, t);
	}
}

/* -- The stack ------------------------------------------------------------- */

static struct x86_mem top(void)
{
	return x86_mem_at(X86_RSP, 0);
}

static void put_push(struct work *w, unsigned reg)
{
	emit_r(&w->hot, EMIT_PUSH, 8, reg);
	emit_mr(&w->hot, EMIT_MOV, 8, shadow_of(top()), reg);
}

static void put_push_reg(struct work *w)
{
	unsigned reg = opcode_reg(&w->i->x);

	if (reg == X86_RSP) {
		reg = take_temp(w, 0, 0);
		emit_rr(&w->hot, EMIT_MOV, 8, reg, X86_RSP);
	}
	put_push(w, reg);
}

static void put_pop(struct work *w)
{
	unsigned reg = opcode_reg(&w->i->x);
	struct check c = {.m = top(),
			  .size = 8,
			  .whole = 8,
			  .value = reg,
			  .flags_live = w->flags_live[w->k] != 0};

	emit_rm(&w->hot, EMIT_MOV, 8, reg, top());
	put_check(w, &c);
	cold_load(w, &c);
	emit_rm(&w->hot, EMIT_LEA, 8, X86_RSP, x86_mem_at(X86_RSP, 8));
}

/* rsp moves last: a store that faults finds it as it was. */
static void put_pop_mem(struct work *w)
{
	struct x86_mem m = popped_to(w);
	unsigned t = load_temp(w, top(), 8, w->flags_live[w->k] != 0);

	emit_mr(&w->hot, EMIT_MOV, 8, m, t);
	emit_mr(&w->hot, EMIT_MOV, 8, shadow_of(m), t);
	emit_rm(&w->hot, EMIT_LEA, 8, X86_RSP, x86_mem_at(X86_RSP, 8));
}

static void put_leave_frame(struct work *w)
{
	unsigned t =
	    load_temp(w, x86_mem_at(X86_RBP, 0), 8, w->flags_live[w->k] != 0);

	emit_rm(&w->hot, EMIT_LEA, 8, X86_RSP, x86_mem_at(X86_RBP, 8));
	emit_rr(&w->hot, EMIT_MOV, 8, X86_RBP, t);
}

/* -- All of them ----------------------------------------------------------- */

static int reaches(struct work *w, const struct x86_mem *m)
{
	return m->base != X86_RIP ||
	       (!m->addr32 && emit_reaches(&w->hot, 256, (uint64_t)m->disp));
}

static int is_checked(enum way way)
{
	return way == WAY_LOAD || way == WAY_SOME || way == WAY_UPDATE ||
	       way == WAY_LOCKED;
}

static int is_fence(const struct x86_insn *x)
{
	return x->row->special == X86_FENCE && x->opcode == 0xae &&
	       (x->modrm >> 3 & 7) == 6; /* mfence */
}

static void put_by_way(struct work *w, enum way way)
{
	const struct x86_insn *x = &w->i->x;
	struct x86_mem m = x86_mem_of(x, w->pc);

	if (!is_checked(way)) /* else behind the check */
		settle_for_insn(w);
	switch (way) {
	case WAY_LOAD:
	case WAY_SOME:
		put_load(w, m);
		break;
	case WAY_STORE_POP:
		put_store_pop(w);
		break;
	case WAY_STORE:
		put_store(w);
		break;
	case WAY_STORE_X87:
		put_store_x87(w);
		break;
	case WAY_GATHER:
		put_gather(w, m);
		break;
	case WAY_SCATTER:
		put_scatter(w);
		break;
	case WAY_UPDATE:
		put_update(w, m);
		break;
	case WAY_LOCKED:
		put_locked(w, m);
		break;
	case WAY_PUSH:
		put_push_reg(w);
		break;
	case WAY_PUSH_I:
		put_copy(w);
		emit_mi(&w->hot, EMIT_MOV, 8, shadow_of(top()),
			x86_imm(w->g->bytes + w->i->off, x));
		break;
	case WAY_PUSH_M:
		put_push(w, load_temp(w, m, 8, w->flags_live[w->k] != 0));
		break;
	case WAY_POP:
		put_pop(w);
		break;
	case WAY_POP_M:
		put_pop_mem(w);
		break;
	case WAY_LEAVE:
		put_leave_frame(w);
		break;
	default:
		put_copy(w);
		if (is_fence(x)) {
			put_ticket_of_fence(w);
			put_ticket_check(w);
		}
		break;
	}
}

void put_mirrored(struct work *w)
{
	enum way way = way_of(w->g->bytes + w->i->off, &w->i->x);
	struct x86_mem m = x86_mem_of(&w->i->x, w->pc);

	if (way != WAY_NONE && w->i->x.is_mem && !reaches(w, &m)) {
		put_give_back(w);
		put_settle_flags(w, X86_FLAGS_STATUS);
		put_leave(w, w->pc, EXIT_STEP);
		return;
	}
	put_by_way(w, way);
	give_back_once(w);
}

/* -- Control --------------------------------------------------------------- */

/* push of a constant, through a register that is free. */
static void push_next(struct work *w, unsigned reg)
{
	emit_set(&w->hot, reg, w->pc + w->i->x.len);
	put_push(w, reg);
}

void put_mirrored_call(struct work *w, uint64_t target)
{
	unsigned t = take_temp(w, 0, 0);

	push_next(w, t);
	put_give_back(w);
	put_jmp(w, target);
}

void put_mirrored_ret(struct work *w)
{
	uint64_t drop = (uint16_t)x86_imm(w->g->bytes + w->i->off, &w->i->x);
	struct check c = {.m = top(),
			  .size = 8,
			  .whole = 8,
			  .value = X86_R10,
			  .r10_spilled = 1};

	put_give_back(w);
	put_save_flags(w);
	put_spills(w);
	emit_rm(&w->hot, EMIT_MOV, 8, X86_R10, top());
	point(w, SIDE_R10 | SIDE_SAVED);
	put_check(w, &c);
	cold_load(w, &c);
	emit_rm(&w->hot, EMIT_LEA, 8, X86_RSP,
		x86_mem_at(X86_RSP, (int64_t)(drop + 8)));
	put_look_up(w);
}

void put_mirrored_indirect(struct work *w, int is_call)
{
	const struct x86_insn *x = &w->i->x;
	struct x86_mem m = x86_mem_of(x, w->pc);
	unsigned t = x->rm;

	put_give_back(w);
	if (x->is_mem && !reaches(w, &m)) {
		put_settle_flags(w, X86_FLAGS_STATUS);
		put_leave(w, w->pc, EXIT_STEP);
		return;
	}
	put_save_flags(w);
	if (x->is_mem) {
		w->used_ahead[w->k] |= 1 << X86_R10;
		t = load_temp(w, m, 8, 1);
	}
	put_spills(w);
	if (t != X86_R10)
		emit_rr(&w->hot, EMIT_MOV, 8, X86_R10, t);
	point_reg(w, SIDE_SAVED | SIDE_R10 | (x->is_mem ? SIDE_REG : 0),
		  x->is_mem ? t : 0);
	give_back_temp(w, 1);
	give_back_temp(w, 0);
	point(w, SIDE_SAVED | SIDE_R10);
	if (is_call) {
		emit_set(&w->hot, X86_RCX, w->pc + x->len);
		point(w, SIDE_SAVED | SIDE_R10 | SIDE_RCX);
		put_push(w, X86_RCX);
	}
	put_look_up(w);
}
