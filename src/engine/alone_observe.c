/* engine/alone_observe.c - memory operands that somebody looks at.
 *
 * Before the instruction: the address is formed once more, and compared with
 * every window; and the map is marked. Neither spoils a register, or flags that
 * the program may want. */
#include "engine/translate_priv.h"

#include "engine/observe.h"
#include "engine/ways.h"
#include "x86/rewrite.h"

enum { COLD_LEN = 128 };

/* -- Marks ----------------------------------------------------------------- */

static void put_touch(struct work *w, struct x86_mem m, unsigned size,
		      uint32_t skew)
{
	static const uint8_t parts[] = {8, 4, 2, 1};
	unsigned at = 0;

	m = shadow_of(m);
	m.seg = X86_FS;
	for (unsigned i = 0; i < sizeof parts; i++)
		for (; size - at >= parts[i]; at += parts[i]) {
			struct x86_mem part = m;

			part.disp = (int32_t)((uint32_t)m.disp + at + skew);
			emit_mi(&w->hot, EMIT_MOV, parts[i], part, -1);
		}
}

static void put_touches(struct work *w, struct x86_mem m, unsigned size,
			unsigned how)
{
	uint32_t apart =
	    w->e->observe->touches & OBSERVE_APART ? OBSERVE_STORED : 0;

	if (how & OBSERVE_STORES)
		put_touch(w, m, size, OBSERVE_SKEW + apart);
	if (how & OBSERVE_LOADS && (apart || !(how & OBSERVE_STORES)))
		put_touch(w, m, size, OBSERVE_SKEW);
}

/* -- Windows --------------------------------------------------------------- */

static struct x86_mem saved_rax(void)
{
	return x86_mem_seg(X86_GS, VCPU_RAX);
}

static void put_flags_away(struct x86_buf *b)
{
	emit_mr(b, EMIT_MOV, 8, saved_rax(), X86_RAX);
	emit_plain(b, EMIT_LAHF);
	emit_setcc_r(b, X86_CC_O, X86_RAX);
	emit_mr(b, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_SAVED), X86_RAX);
	emit_rm(b, EMIT_MOV, 8, X86_RAX, saved_rax());
}

static void put_flags_back(struct x86_buf *b)
{
	emit_mr(b, EMIT_MOV, 8, saved_rax(), X86_RAX);
	emit_rm(b, EMIT_MOV, 4, X86_RAX, x86_mem_seg(X86_GS, VCPU_SAVED));
	emit_ri(b, EMIT_ADD, 1, X86_RAX, 0x7f);
	emit_plain(b, EMIT_SAHF);
	emit_rm(b, EMIT_MOV, 8, X86_RAX, saved_rax());
}

/* Where it goes if a window is touched: the program's state is as before the
 * instruction. */
static uint64_t put_way_out(struct work *w, unsigned t, int has_flags)
{
	uint64_t at = take_cold(w, COLD_LEN);
	struct work cold = {.region = w->region,
			    .temp = {X86_NOREG, X86_NOREG},
			    .hot = cold_buf(w, at, COLD_LEN)};

	emit_rm(&cold.hot, EMIT_MOV, 8, t, spill(SPILL_ANY));
	if (has_flags)
		put_flags_back(&cold.hot);
	put_leave(&cold, w->pc, EXIT_WATCH);
	if (cold.hot.bad)
		engine_die("no room for a way out");
	return at;
}

static unsigned free_register(const struct work *w)
{
	static const uint8_t some[] = {X86_R11, X86_R10, X86_RDX, X86_RBX,
				       X86_RSI, X86_RDI, X86_R8};
	uint16_t used = w->i->x.gpr_read | w->i->x.gpr_write;

	for (unsigned i = 0; i < sizeof some; i++)
		if (!(used >> some[i] & 1))
			return some[i];
	return X86_R9;
}

/* t = index of m's last byte, counted from the window's first; it is touched if
 * that is below len + size - 1. */
static void put_window(struct work *w, struct x86_mem m, unsigned size,
		       const struct observe_window *o, unsigned t, uint64_t out)
{
	uint32_t disp =
	    (uint32_t)m.disp + WIRE_SHADOW_SKEW - o->index + size - 1;

	if (m.base == X86_RIP) {
		emit_set(&w->hot, t, disp);
	} else {
		m.seg = 0;
		m.addr32 = 0;
		m.disp = (int32_t)disp;
		emit_rm(&w->hot, EMIT_LEA, 4, t, m);
	}
	emit_ri(&w->hot, EMIT_CMP, 4, t, (int32_t)(o->len + size - 1));
	emit_jcc(&w->hot, X86_CC_B, out);
}

static void put_windows(struct work *w, struct x86_mem m, unsigned size,
			unsigned how)
{
	const struct observe *o = w->e->observe;
	int has_flags = w->flags_live[w->k] != 0, any = 0;
	unsigned t = free_register(w);
	uint64_t out;

	for (unsigned i = 0; i < o->n_windows; i++)
		any |= (o->windows[i].on & how) != 0;
	if (!any)
		return;
	out = put_way_out(w, t, has_flags);
	emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_ANY), t);
	if (has_flags)
		put_flags_away(&w->hot);
	for (unsigned i = 0; i < o->n_windows; i++)
		if (o->windows[i].on & how)
			put_window(w, m, size, &o->windows[i], t, out);
	if (has_flags)
		put_flags_back(&w->hot);
	emit_rm(&w->hot, EMIT_MOV, 8, t, spill(SPILL_ANY));
	piece_end(w, 0);
	piece_begin(w);
}

/* -- Instructions ---------------------------------------------------------- */

/* Whoever watches it. 0: it is no operand that is looked at. */
static int put_watch(struct work *w, struct x86_mem m, unsigned size,
		     unsigned how)
{
	if (size == 0 || size > 64)
		return 0;
	if (w->e->observe->n_windows != 0 && !w->blind)
		put_windows(w, m, size, how);
	return 1;
}

static void put_access(struct work *w, struct x86_mem m, unsigned size,
		       unsigned how)
{
	how &= put_watch(w, m, size, how) ? w->e->observe->touches : 0;
	if (how != 0)
		put_touches(w, m, size, how);
}

/* A vector register from or to the slot: vmovdqu, in the form that the
 * instruction has itself. */
static void put_vector(struct work *w, unsigned reg, int32_t at, int is_load)
{
	const uint8_t op = is_load ? 0x6f : 0x7f;
	const uint8_t modrm = (uint8_t)(4 | (reg & 7) << 3);
	const uint8_t r = (uint8_t)(reg & 8 ? 0 : 0x80);
	const uint8_t r2 = (uint8_t)(reg & 16 ? 0 : 0x10);
	const uint8_t vex[] = {0x65, 0xc4, 0x61 | r, 0x7e, op, modrm, 0x25};
	const uint8_t evex[] = {
	    0x65, 0x62, (uint8_t)(0x61 | r | r2), 0xfe, 0x48, op, modrm, 0x25};

	if (w->i->x.space >= X86_SPACE_EVEX)
		emit_bytes(&w->hot, evex, sizeof evex);
	else
		emit_bytes(&w->hot, vex, sizeof vex);
	emit_bytes(&w->hot, (const uint8_t *)&at, sizeof at);
}

/* A masked store marks what it stores to: it is done to the map as well, with
 * ones for what it stores. */
static void put_some_marks(struct work *w)
{
	enum { ONES = VCPU_GS_AT(SLOT_ORDER), SAVED = ONES + 64 };
	const struct x86_insn *x = &w->i->x;
	int is_evex = x->space >= X86_SPACE_EVEX;
	unsigned reg = (x->modrm >> 3 & 7u) | (x->rex & 4 ? 8 : 0) |
		       (is_evex && x->evex_r2 ? 16 : 0);

	if (x->space < X86_SPACE_VEX || (!is_evex && reg == x->vvvv) ||
	    (x->space >= X86_SPACE_XOP && !is_evex))
		return;
	put_vector(w, reg, SAVED, 0);
	put_vector(w, reg, ONES, 1);
	if (x86_put_moved32(&w->hot, w->g->bytes + w->i->off, x, w->pc, X86_FS,
			    WIRE_SHADOW_SKEW + OBSERVE_SKEW) < 0)
		engine_die("a masked store cannot be moved");
	put_vector(w, reg, SAVED, 1);
}

/* Some of it, by a mask. Of a load nobody knows which bytes, and so of which
 * the shadow is right; but of those that were known it still is. */
static void put_some(struct work *w, struct x86_mem m, unsigned size,
		     unsigned how)
{
	const struct observe *o = w->e->observe;

	if (!put_watch(w, m, size, how))
		return;
	if (o->touches & (OBSERVE_APART | OBSERVE_WHOLE))
		put_touches(w, m, size, how & o->touches);
	else if (o->touches & how & OBSERVE_STORES)
		put_some_marks(w);
}

/* Here and there: whoever has windows must look. */
static void put_scattered(struct work *w, unsigned how)
{
	const struct observe *o = w->e->observe;
	unsigned on = 0;

	for (unsigned i = 0; i < o->n_windows; i++)
		on |= o->windows[i].on;
	if (on & how && !w->blind)
		put_leave(w, w->pc, EXIT_WATCH);
	w->e->has_scattered = 1;
}

void put_stack_access(struct work *w, int64_t at, unsigned how)
{
	if (w->e->observe)
		put_access(w, x86_mem_at(X86_RSP, at), 8, how);
}

/* Flags are pushed to memory, but the shadow keeps what it has: if marks say
 * what it knows, it does not know that. */
static void put_pushed_flags(struct work *w)
{
	struct x86_mem m = shadow_of(x86_mem_at(X86_RSP, -8));

	if (w->e->observe->touches != (OBSERVE_LOADS | OBSERVE_STORES)) {
		put_stack_access(w, -8, OBSERVE_STORES);
		return;
	}
	put_watch(w, x86_mem_at(X86_RSP, -8), 8, OBSERVE_STORES);
	m.seg = X86_FS;
	m.disp = (int32_t)((uint32_t)m.disp + OBSERVE_SKEW);
	emit_mi(&w->hot, EMIT_MOV, 8, m, 0);
}

void put_observed(struct work *w, enum way way)
{
	const struct x86_insn *x = &w->i->x;
	struct x86_mem m = x86_mem_of(x, w->pc);
	unsigned size = x->row->mem_size;
	int is_some = (x->row->attr & X86_A_MEM_MAY) != 0 || x->aaa;

	if (!w->e->observe)
		return;
	switch (way) {
	case WAY_LOAD:
		put_access(w, m, size, OBSERVE_LOADS);
		break;
	case WAY_SOME:
		put_some(w, m, size, OBSERVE_LOADS);
		break;
	case WAY_GATHER:
		put_scattered(w, OBSERVE_LOADS);
		break;
	case WAY_SCATTER:
		put_scattered(w, OBSERVE_STORES);
		break;
	case WAY_STORE:
		if (is_some)
			put_some(w, m, size, OBSERVE_STORES);
		else
			put_access(w, m, size, OBSERVE_STORES);
		break;
	case WAY_STORE_POP:
	case WAY_STORE_X87:
		put_access(w, m, size, OBSERVE_STORES);
		break;
	case WAY_UPDATE:
	case WAY_LOCKED:
		put_access(w, m, size, OBSERVE_LOADS | OBSERVE_STORES);
		break;
	case WAY_PUSH_M:
		put_access(w, m, size, OBSERVE_LOADS);
		put_stack_access(w, -8, OBSERVE_STORES);
		break;
	case WAY_PUSH:
	case WAY_PUSH_I:
		put_stack_access(w, -8, OBSERVE_STORES);
		break;
	case WAY_PUSHF:
		put_pushed_flags(w);
		break;
	case WAY_POP:
		put_stack_access(w, 0, OBSERVE_LOADS);
		break;
	case WAY_POP_M:
		put_stack_access(w, 0, OBSERVE_LOADS);
		put_access(w, popped_to(w), 8, OBSERVE_STORES);
		break;
	case WAY_LEAVE:
		put_access(w, x86_mem_at(X86_RBP, 0), 8, OBSERVE_LOADS);
		break;
	default:
		break;
	}
}

void put_observed_operand(struct work *w)
{
	if (w->e->observe && w->i->x.is_mem)
		put_access(w, x86_mem_of(&w->i->x, w->pc), 8, OBSERVE_LOADS);
}
