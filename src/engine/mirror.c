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
 *	op [m], r	mov t, [m]; (check); op t, r; mov [m], t; mov sh[m], t
 *
 * Cold code tells the engine (record/collect.c), which logs the granule and
 * corrects the shadow; then the value is taken from there. Operands of the
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
#include "engine/translate_priv.h"

#include "engine/ways.h"
#include "wire/record.h"
#include "x86/rewrite.h"

enum { COLD_LEN = 48 };

/* What the shadow holds of [m]. */
static struct x86_mem shadow_of(struct x86_mem m)
{
	int64_t disp = m.disp + WIRE_SHADOW_SKEW;

	m.seg = X86_GS;
	m.addr32 = 1;
	m.disp = (int32_t)(uint32_t)disp;
	if (m.base == X86_RIP)
		m.base = X86_NOREG;
	return m;
}

static struct x86_mem plus(struct x86_mem m, unsigned off)
{
	m.disp += off;
	return m;
}

static struct x86_buf cold_at(uint8_t *at)
{
	return (struct x86_buf){
	    .start = at, .at = at, .end = at + COLD_LEN, .pc = (uint64_t)at};
}

/* -- Borrowing ------------------------------------------------------------- */

static const uint8_t temp_spill[TEMP_MAX] = {SPILL_ANY, SPILL_MORE};

void point_borrowed(struct work *w)
{
	unsigned what = 0, regs = 0;

	if (w->temp[0] != X86_NOREG) {
		what |= SIDE_REG;
		regs = w->temp[0];
	}
	if (w->temp[1] != X86_NOREG)
		regs |= (unsigned)w->temp[1] << 4;
	if (w->flags_saved)
		what |= SIDE_SAVED;
	point_reg(w, what, regs);
}

static unsigned choose(uint16_t taken)
{
	static const uint8_t order[] = {10, 11, 9, 8, 15, 14, 13,
					12, 3,	5, 7, 6,  2,  0};

	for (unsigned i = 0; i < sizeof order; i++)
		if (!(taken >> order[i] & 1))
			return order[i];
	return X86_NOREG;
}

/* A register that this instruction, and if possible the rest of the run, does
 * not use. temp[0] is taken before temp[1], which is never rax. */
static unsigned take_temp(struct work *w, unsigned n, uint16_t avoid)
{
	uint16_t taken = (uint16_t)(avoid | 1 << X86_RSP | 1 << X86_RCX);
	unsigned reg;

	if (w->temp[n] != X86_NOREG)
		return w->temp[n];
	if (n == 1)
		taken |= (uint16_t)(1 << X86_RAX | 1 << w->temp[0]);
	reg = choose(taken | w->used_far[w->k]);
	if (reg == X86_NOREG) {
		reg = choose(taken | w->used_ahead[w->k]);
		w->near |= (uint8_t)(1 << n);
	}
	if (reg == X86_NOREG) {
		reg = choose(taken | w->i->x.gpr_read | w->i->x.gpr_write);
		w->once |= (uint8_t)(1 << n);
	}
	if (reg == X86_NOREG)
		engine_die("no register is free");
	emit_mr(&w->hot, EMIT_MOV, 8, spill(temp_spill[n]), reg);
	w->temp[n] = (uint8_t)reg;
	point_borrowed(w);
	return reg;
}

static void give_back_temp(struct work *w, unsigned n)
{
	if (w->temp[n] == X86_NOREG)
		return;
	emit_rm(&w->hot, EMIT_MOV, 8, w->temp[n], spill(temp_spill[n]));
	w->temp[n] = X86_NOREG;
	w->once &= (uint8_t) ~(1 << n);
	w->near &= (uint8_t) ~(1 << n);
}

/* temp[0] may not be given back while temp[1] is lent: the side table. */
static void give_back_once(struct work *w)
{
	if (w->once & 1)
		w->once |= 2;
	if (w->once & 2)
		give_back_temp(w, 1);
	if (w->once & 1)
		give_back_temp(w, 0);
	w->once = 0;
}

void put_give_back(struct work *w)
{
	if (w->temp[0] == X86_NOREG)
		return;
	give_back_temp(w, 1);
	give_back_temp(w, 0);
	point_borrowed(w);
}

void put_give_back_near(struct work *w)
{
	if (w->near & 1)
		w->near |= 2;
	if (w->near == 0)
		return;
	if (w->near & 2)
		give_back_temp(w, 1);
	if (w->near & 1)
		give_back_temp(w, 0);
	w->near = 0;
	point_borrowed(w);
}

void put_jcc_lent(struct work *w, uint64_t target)
{
	struct exit *x = new_exit(w, target);
	struct x86_buf b = cold_at(take_cold(w, COLD_LEN));

	emit_jcc(&w->hot, w->i->x.opcode & 15, emit_pc(&b));
	for (unsigned n = TEMP_MAX; n-- > 0;)
		if (w->temp[n] != X86_NOREG)
			emit_rm(&b, EMIT_MOV, 8, w->temp[n],
				spill(temp_spill[n]));
	emit_align_rel32(&b, 1);
	emit_jmp(&b, x->stub);
	x->site = emit_pc(&b) - 4;
	if (b.bad)
		engine_die("no room for an exit");
}

/* -- Flags ----------------------------------------------------------------- */

static struct x86_mem saved_flags(void)
{
	return x86_mem_seg(X86_GS, VCPU_SAVED);
}

static struct x86_mem saved_rax(void)
{
	return x86_mem_seg(X86_GS, VCPU_RAX);
}

static void put_save_flags(struct work *w)
{
	struct x86_buf *b = &w->hot;

	if (w->flags_saved)
		return;
	emit_mr(b, EMIT_MOV, 8, saved_rax(), X86_RAX);
	emit_plain(b, EMIT_LAHF);
	emit_setcc_r(b, X86_CC_O, X86_RAX);
	emit_mr(b, EMIT_MOV, 4, saved_flags(), X86_RAX);
	emit_rm(b, EMIT_MOV, 8, X86_RAX, saved_rax());
	w->flags_saved = 1;
	point_borrowed(w);
}

/* 1 + 127 overflows. */
static void put_restore_flags(struct work *w)
{
	struct x86_buf *b = &w->hot;

	emit_mr(b, EMIT_MOV, 8, saved_rax(), X86_RAX);
	emit_rm(b, EMIT_MOV, 4, X86_RAX, saved_flags());
	emit_ri(b, EMIT_ADD, 1, X86_RAX, 0x7f);
	emit_plain(b, EMIT_SAHF);
	emit_rm(b, EMIT_MOV, 8, X86_RAX, saved_rax());
}

void put_settle_flags(struct work *w, unsigned live)
{
	if (!w->flags_saved)
		return;
	if (live & X86_FLAGS_STATUS)
		put_restore_flags(w);
	w->flags_saved = 0;
	point_borrowed(w);
}

/* The instruction is about to be executed: does it look at flags, or leave
 * some of them alone that others want? */
static void settle_for_insn(struct work *w)
{
	const struct x86_insn *x = &w->i->x;

	if ((x->flag_read | x->flag_write) & X86_FLAGS_STATUS ||
	    w->flags_live[w->k] == 0)
		put_settle_flags(w, w->flags_live[w->k]);
}

/* -- Checks ---------------------------------------------------------------- */

/* Loads a value of so many bytes into a whole register. */
static const uint8_t load_by_size[9] = {
    [1] = EMIT_MOVZX8, [2] = EMIT_MOVZX16, [4] = EMIT_MOV, [8] = EMIT_MOV};

/* What is checked, and what happens behind a miss. */
struct check {
	struct x86_mem m;
	unsigned value; /* register that holds what memory held */
	unsigned size;	/* 1, 2, 4 or 8: of what is compared */
	unsigned whole; /* of the access */
	unsigned at;	/* where in the access */
	int flags_live;
	int is_gather; /* .m is not all of it */
	int is_value;  /* memory has moved on: the register is logged */
	uint8_t *cold; /* where it goes on */
	uint32_t site;
	uint8_t r10_spilled; /* and rcx */
};

static uint32_t new_site(struct work *w, const struct check *c)
{
	uint32_t number = pool_add(&w->e->cache->sites);
	struct site *s;

	if (number == 0)
		engine_die("no memory for sites");
	s = cache_site(w->e->cache, number);
	*s = (struct site){
	    .pc = w->pc,
	    .disp = c->m.disp,
	    .base = c->m.base,
	    .index = c->m.index,
	    .scale = c->m.scale,
	    .size = (uint8_t)c->whole,
	    .value = c->is_value ? (uint8_t)c->value : X86_NOREG,
	    .flags = (uint8_t)((c->m.seg == X86_FS ? SITE_FS : 0) |
			       (c->m.addr32 ? SITE_ADDR32 : 0) |
			       (c->is_gather ? SITE_GATHER : 0) |
			       (c->r10_spilled ? SITE_SPILLED : 0)),
	    .temp = {w->temp[0], w->temp[1]},
	    .flags_saved = w->flags_saved,
	};
	return number;
}

static void put_check(struct work *w, struct check *c)
{
	c->cold = take_cold(w, COLD_LEN);
	if (c->flags_live)
		put_save_flags(w);
	emit_rm(&w->hot, EMIT_CMP, c->size, c->value,
		shadow_of(plus(c->m, c->at)));
	emit_jcc(&w->hot, X86_CC_NE, (uint64_t)c->cold);
}

/* gs:[VCPU_ARG] = site; to the engine; what follows is where it comes back. */
static void cold_ask(struct work *w, struct check *c, struct x86_buf *b)
{
	uint32_t site = new_site(w, c);

	emit_mi(b, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_ARG), (int32_t)site);
	emit_m(b, EMIT_JMP, 8, x86_mem_seg(X86_GS, VCPU_CHECK));
	cache_site(w->e->cache, site)->resume = emit_pc(b);
}

static void cold_end(struct x86_buf *b, uint64_t back)
{
	emit_jmp(b, back);
	if (b->bad)
		engine_die("no room for a check");
}

/* Behind a miss: value = what the shadow holds now; back to here. */
static void cold_load(struct work *w, struct check *c)
{
	struct x86_buf b = cold_at(c->cold);
	unsigned width = c->size == 8 ? 8 : 4;

	cold_ask(w, c, &b);
	emit_rm(&b, load_by_size[c->size], width, c->value, shadow_of(c->m));
	cold_end(&b, emit_pc(&w->hot));
}

/* The same by the program's own instruction: a load. */
static void cold_again(struct work *w, struct check *c)
{
	struct x86_buf b = cold_at(c->cold);

	cold_ask(w, c, &b);
	if (x86_put_moved32(&b, w->g->bytes + w->i->off, &w->i->x, w->pc,
			    X86_GS, WIRE_SHADOW_SKEW) < 0)
		engine_die("an operand is too long");
	cold_end(&b, emit_pc(&w->hot));
}

/* Nothing to be loaded. */
static void cold_on(struct work *w, struct check *c)
{
	struct x86_buf b = cold_at(c->cold);

	cold_ask(w, c, &b);
	cold_end(&b, emit_pc(&w->hot));
}

/* temp = [m], checked. */
static unsigned load_temp(struct work *w, struct x86_mem m, unsigned size,
			  int flags_live)
{
	struct check c = {
	    .m = m, .size = size, .whole = size, .flags_live = flags_live};

	c.value = take_temp(w, 0, 0);
	emit_rm(&w->hot, load_by_size[size], size == 8 ? 8 : 4, c.value, m);
	put_check(w, &c);
	cold_load(w, &c);
	return c.value;
}

/* -- Kinds of instructions ------------------------------------------------- */

static void put_shadowed(struct work *w)
{
	if (x86_put_moved32(&w->hot, w->g->bytes + w->i->off, &w->i->x, w->pc,
			    X86_GS, WIRE_SHADOW_SKEW) < 0)
		engine_die("an operand is too long");
}

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

/* fstp, fistp: fst, fist to memory; then the shadow pops. */
static void put_store_pop(struct work *w)
{
	uint8_t *modrm = w->g->bytes + w->i->off + w->i->x.modrm_off;

	*modrm ^= 1 << 3;
	put_copy(w);
	*modrm ^= 1 << 3;
	put_shadowed(w);
}

/* To the shadow first, which pops; loaded again from there, and stored to
 * memory. If that faults, the value is where it was, but the shadow is ahead:
 * signal.c tells. */
static void put_store_x87(struct work *w)
{
	struct x86_insn load = w->i->x;

	load.modrm ^= 2 << 3; /* fld of 80 bits, fild of 64: /5 for /7 */
	put_shadowed(w);
	x86_put_moved32(&w->hot, w->g->bytes + w->i->off, &load, w->pc, X86_GS,
			WIRE_SHADOW_SKEW);
	put_copy(w);
}

/* -- Gather and scatter ---------------------------------------------------- */

/* kmovq reg, k and kmovq k, reg */
static void put_kmov(struct x86_buf *b, unsigned reg, unsigned k)
{
	const uint8_t code[5] = {0xc4, reg >= 8 ? 0x61 : 0xe1, 0xfb, 0x93,
				 (uint8_t)(0xc0 | (reg & 7) << 3 | k)};

	emit_bytes(b, code, sizeof code);
}

static void put_kmov_back(struct x86_buf *b, unsigned k, unsigned reg)
{
	const uint8_t code[5] = {0xc4, reg >= 8 ? 0xc1 : 0xe1, 0xfb, 0x92,
				 (uint8_t)(0xc0 | k << 3 | (reg & 7))};

	emit_bytes(b, code, sizeof code);
}

/* vmovdqu64 gs:[disp], zmm */
static void put_zmm(struct x86_buf *b, int32_t disp, unsigned zmm)
{
	uint8_t code[12] = {
	    0x65,
	    0x62,
	    (uint8_t)((~zmm >> 3 & 1) << 7 | 0x60 | (~zmm >> 4 & 1) << 4 | 1),
	    0xfe,
	    0x48,
	    0x7f,
	    (uint8_t)((zmm & 7) << 3 | 4),
	    0x25};

	__builtin_memcpy(code + 8, &disp, sizeof disp);
	emit_bytes(b, code, sizeof code);
}

/* The engine looks at all elements; then they come from the shadow. */
static void put_gather(struct work *w, struct x86_mem m)
{
	const struct x86_insn *x = &w->i->x;
	struct check c = {.m = m, .is_gather = 1};
	unsigned t = take_temp(w, 0, 0);
	struct x86_buf b;

	c.m.index = X86_NOREG;
	put_kmov(&w->hot, t, x->aaa);
	emit_mr(&w->hot, EMIT_MOV, 8, x86_mem_seg(X86_GS, VCPU_GATHER), t);
	put_zmm(&w->hot, VCPU_GATHER + 8, x->index);
	c.cold = take_cold(w, COLD_LEN);
	emit_jmp(&w->hot, (uint64_t)c.cold);
	b = cold_at(c.cold);
	cold_ask(w, &c, &b);
	cold_end(&b, emit_pc(&w->hot));
	put_shadowed(w);
}

/* Whatever was stored is no longer in the mask: it is needed twice. */
static void put_scatter(struct work *w)
{
	unsigned t = take_temp(w, 0, 0);

	put_kmov(&w->hot, t, w->i->x.aaa);
	put_copy(w);
	put_kmov_back(&w->hot, w->i->x.aaa, t);
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
	if (x86_put_register(&w->hot, w->g->bytes + w->i->off, x, t) == 0) {
		emit_mr(&w->hot, EMIT_MOV, size, m, t);
		emit_mr(&w->hot, EMIT_MOV, size, shadow_of(m), t);
	} else {
		put_shadowed(w);
		emit_rm(&w->hot, EMIT_MOV, size, t, shadow_of(m));
		emit_mr(&w->hot, EMIT_MOV, size, m, t);
	}
}

/* -- Locked instructions: on memory, their old value checked --------------- */

static void check_old(struct work *w, struct x86_mem m, unsigned value,
		      int flags_live)
{
	unsigned size = w->i->x.row->mem_size;
	struct check c = {.m = m,
			  .value = value,
			  .size = size,
			  .whole = size,
			  .flags_live = flags_live,
			  .is_value = 1};

	put_check(w, &c);
	cold_on(w, &c);
}

static void put_locked_add(struct work *w, struct x86_mem m, enum way_lock how)
{
	const struct x86_insn *x = &w->i->x;
	unsigned size = x->row->mem_size, wide = size == 8 ? 8 : 4;
	unsigned t = take_temp(w, 0, 0);
	int from_imm = x->opcode >= 0x80 && x->opcode <= 0x83;
	int64_t imm = x86_imm(w->g->bytes + w->i->off, x);

	if (w->flags_live[w->k] != 0) /* inc and dec leave the carry alone */
		put_save_flags(w);
	if (how == LOCK_OR_0)
		emit_set(&w->hot, t, 0);
	else if (how == LOCK_INC || how == LOCK_DEC)
		emit_set(&w->hot, t, how == LOCK_INC ? 1 : ~0ull);
	else if (from_imm)
		emit_set(&w->hot, t, (uint64_t)(how == LOCK_ADD ? imm : -imm));
	else
		emit_rr(&w->hot, EMIT_MOV, wide, t, x->reg);
	if (how == LOCK_SUB && !from_imm)
		emit_r(&w->hot, EMIT_NEG, wide, t);
	emit_plain(&w->hot, EMIT_LOCK);
	emit_mr(&w->hot, EMIT_XADD, size, m, t);
	check_old(w, m, t, 0);
	settle_for_insn(w);
	put_shadowed(w);
}

static void put_locked_cmpxchg(struct work *w, struct x86_mem m)
{
	unsigned t = take_temp(w, 0, 1 << X86_RAX);

	emit_rr(&w->hot, EMIT_MOV, 8, t, X86_RAX);
	put_copy(w);
	check_old(w, m, X86_RAX, 0);
	emit_rr(&w->hot, EMIT_MOV, 8, X86_RAX, t);
	put_shadowed(w);
}

static void put_locked(struct work *w, struct x86_mem m)
{
	const struct x86_insn *x = &w->i->x;
	unsigned size = x->row->mem_size, t;
	enum way_lock how = way_lock_of(w->g->bytes + w->i->off, x);

	if (how != LOCK_INC && how != LOCK_DEC)
		settle_for_insn(w);
	switch (how) {
	case LOCK_XCHG:
		t = take_temp(w, 0, 0);
		emit_rr(&w->hot, EMIT_MOV, 8, t, x->reg);
		put_copy(w);
		check_old(w, m, x->reg, w->flags_live[w->k] != 0);
		emit_mr(&w->hot, EMIT_MOV, size, shadow_of(m), t);
		break;
	case LOCK_XADD:
		t = take_temp(w, 0, 0);
		emit_rr(&w->hot, EMIT_MOV, 8, t, x->reg);
		put_copy(w);
		check_old(w, m, x->reg, 0);
		emit_mr(&w->hot, EMIT_XADD, size, shadow_of(m), t);
		break;
	case LOCK_CMPXCHG:
		put_locked_cmpxchg(w, m);
		break;
	default:
		put_locked_add(w, m, how);
		break;
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

static unsigned opcode_reg(const struct x86_insn *x)
{
	return (x->opcode & 7u) | (x->rex & 1u) << 3;
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
	case WAY_LEAVE:
		put_leave_frame(w);
		break;
	default:
		put_copy(w);
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
		w->used_far[w->k] |= 1 << X86_R10;
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
