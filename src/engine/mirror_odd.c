/* engine/mirror_odd.c - recorded instructions that need more than a check:
 * stores of the x87 unit that pop, gather and scatter, locked ones. */
#include "engine/mirror_priv.h"

#include "engine/ways.h"
#include "x86/rewrite.h"

/* -- The x87 unit ---------------------------------------------------------- */

/* fstp, fistp: fst, fist to memory; then the shadow pops. */
void put_store_pop(struct work *w)
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
void put_store_x87(struct work *w)
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
void put_gather(struct work *w, struct x86_mem m)
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
	emit_jmp(&w->hot, c.cold);
	b = cold_buf(w, c.cold, COLD_LEN);
	cold_ask(w, &c, &b);
	cold_end(&b, emit_pc(&w->hot));
	put_shadowed(w);
}

/* Whatever was stored is no longer in the mask: it is needed twice. */
void put_scatter(struct work *w)
{
	unsigned t = take_temp(w, 0, 0);

	put_kmov(&w->hot, t, w->i->x.aaa);
	put_copy(w);
	put_kmov_back(&w->hot, w->i->x.aaa, t);
	put_shadowed(w);
}

/* -- Locked instructions: on memory, their old value checked --------------- */

/* Flags are dead, or saved (put_ticket). Whoever finds another value finds
 * another ticket, too, as a rule: one visit to the engine sees to both. */
static void check_old(struct work *w, struct x86_mem m, unsigned value)
{
	unsigned size = w->i->x.row->mem_size;
	struct check c = {.m = m,
			  .value = value,
			  .size = size,
			  .whole = size,
			  .is_value = 1,
			  .is_order = w->e->has_company != 0};

	put_check(w, &c);
	put_ticket_check(w);
	cold_on(w, &c);
}

static void put_locked_add(struct work *w, struct x86_mem m, enum way_lock how)
{
	const struct x86_insn *x = &w->i->x;
	unsigned size = x->row->mem_size, wide = size == 8 ? 8 : 4;
	unsigned t = take_temp(w, 0, 0);
	int from_imm = x->opcode >= 0x80 && x->opcode <= 0x83;
	int64_t imm = x86_imm(w->g->bytes + w->i->off, x);

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
	check_old(w, m, t);
	settle_for_insn(w);
	put_shadowed(w);
}

/* xchg, xadd: what its register held goes to the shadow as it went to memory.
 */
static void put_locked_exchange(struct work *w, struct x86_mem m,
				enum emit_op how)
{
	const struct x86_insn *x = &w->i->x;
	unsigned t = take_temp(w, 0, 0);

	emit_rr(&w->hot, EMIT_MOV, 8, t, x->reg);
	put_copy(w);
	check_old(w, m, x->reg);
	settle_for_insn(w);
	emit_mr(&w->hot, how, x->row->mem_size, shadow_of(m), t);
}

static void put_locked_cmpxchg(struct work *w, struct x86_mem m)
{
	unsigned t = take_temp(w, 0, 1 << X86_RAX);

	emit_rr(&w->hot, EMIT_MOV, 8, t, X86_RAX);
	put_copy(w);
	check_old(w, m, X86_RAX);
	emit_rr(&w->hot, EMIT_MOV, 8, X86_RAX, t);
	settle_for_insn(w);
	put_shadowed(w);
}

static void put_locked_loop(struct work *w, struct x86_mem m)
{
	const struct x86_insn *x = &w->i->x;
	unsigned size = x->row->mem_size, wide = size == 8 ? 8 : 4;
	unsigned t = take_temp(w, 1, 0);
	uint64_t again;

	emit_rm(&w->hot, EMIT_MOV, size, X86_RAX, m);
	again = emit_pc(&w->hot);
	emit_rr(&w->hot, EMIT_MOV, wide, t, X86_RAX);
	if (x86_put_register(&w->hot, w->g->bytes + w->i->off, x, t) < 0)
		engine_die("a locked instruction is of no known form");
	emit_plain(&w->hot, EMIT_LOCK);
	emit_mr(&w->hot, EMIT_CMPXCHG, size, m, t);
	emit_jcc(&w->hot, X86_CC_NE, again);
	check_old(w, m, X86_RAX);
	settle_for_insn(w);
	put_shadowed(w);
}

static void put_ticket_by(struct work *w, struct x86_mem m, enum way_lock how)
{
	if (how == LOCK_LOOP)
		take_rax(w);
	if (how == LOCK_OR_0 && m.base == X86_RSP)
		put_ticket_of_fence(w);
	else
		put_ticket(w, m);
}

/* Flags that are live are saved by now. Most of these spoil them all; of the
 * others xchg leaves them alone, and the rest wants them back in the end. */
void put_locked(struct work *w, struct x86_mem m)
{
	enum way_lock how = way_lock_of(w->g->bytes + w->i->off, &w->i->x);

	put_ticket_by(w, m, how);
	switch (how) {
	case LOCK_XCHG:
		put_locked_exchange(w, m, EMIT_MOV);
		break;
	case LOCK_XADD:
		put_locked_exchange(w, m, EMIT_XADD);
		break;
	case LOCK_CMPXCHG:
		put_locked_cmpxchg(w, m);
		break;
	case LOCK_LOOP:
		put_locked_loop(w, m);
		break;
	default:
		put_locked_add(w, m, how);
		break;
	}
}
