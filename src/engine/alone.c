/* engine/alone.c - memory operands of a program that is replayed.
 *
 * There is no memory: every operand is the shadow's (wire/record.h), which
 * the log corrects where the recorder had to. Nothing of the program's code
 * touches anything else, whatever the recording says:
 *
 * A1  An emitted instruction that addresses memory does so through gs with a
 *     32-bit address (the shadow and its guards) or is the engine's own.
 * A2  rsp is a number: nothing pushes, pops, calls or returns through it.
 * A3  Nothing is executed that changes how the CPU treats hark's thread: its
 *     protection keys, its shadow stack, its interrupts, its AC flag. */
#include "engine/translate_priv.h"

#include "engine/observe.h"
#include "wire/record.h"
#include "x86/rewrite.h"

static void move_rsp(struct work *w, int64_t by)
{
	emit_rm(&w->hot, EMIT_LEA, 8, X86_RSP, x86_mem_at(X86_RSP, by));
}

static void push_reg(struct work *w, unsigned reg)
{
	emit_mr(&w->hot, EMIT_MOV, 8, shadow_of(x86_mem_at(X86_RSP, -8)), reg);
	move_rsp(w, -8);
}

static void put_moved_operand(struct work *w)
{
	if (x86_put_moved32(&w->hot, w->g->bytes + w->i->off, &w->i->x, w->pc,
			    X86_GS, WIRE_SHADOW_SKEW) < 0)
		put_leave(w, w->pc, EXIT_STATE);
}

/* As the recorder does it (mirror.c, put_store_x87): what is left in the
 * register that was popped is what was loaded again. */
static void put_store_x87(struct work *w)
{
	struct x86_insn load = w->i->x;

	load.modrm ^= 2 << 3;
	put_moved_operand(w);
	x86_put_moved32(&w->hot, w->g->bytes + w->i->off, &load, w->pc, X86_GS,
			WIRE_SHADOW_SKEW);
	put_moved_operand(w);
}

/* -- Instructions that are not executed ------------------------------------ */

/* They have no memory, but what they change is the thread's, which is hark's.
 * (What the program reads of it later, rdpkru say, is in the log.) */
enum kept {
	KEPT_NOT,
	KEPT_SKIP,   /* nothing that is replayed depends on it */
	KEPT_PKRU,   /* kept in the vcpu: hark's own memory stays accessible */
	KEPT_REFUSE, /* a recording has a STATE here, or is no recording */
};

/* clang-format off */
static const struct {
	uint8_t opcode, has_f3, modrm, mask, kept;
} kept_rows[] = { /* all of the map 0f */
    {0x01, 0, 0xef, 0xff, KEPT_PKRU},	/* wrpkru */
    {0x01, 0, 0xfa, 0xff, KEPT_SKIP},	/* monitorx: of an address of hark's */
    {0x01, 0, 0xfb, 0xff, KEPT_SKIP},	/* mwaitx */
    {0xae, 1, 0xf0, 0xf8, KEPT_SKIP},	/* umonitor */
    {0x01, 1, 0xea, 0xff, KEPT_REFUSE}, /* saveprevssp */
    {0x01, 1, 0xee, 0xff, KEPT_REFUSE}, /* clui */
    {0x01, 1, 0xef, 0xff, KEPT_REFUSE}, /* stui */
    {0xae, 1, 0xe8, 0xf8, KEPT_REFUSE}, /* incssp: hark's shadow stack */
    {0xc7, 1, 0xf0, 0xf8, KEPT_REFUSE}, /* senduipi */
};
/* clang-format on */

static enum kept kept_of(const struct x86_insn *x)
{
	enum { MAP_0F = X86_SPACE_LEGACY + 1 };
	int has_f3 = (x->prefixes & X86_P_F3) != 0;

	if (x->space != MAP_0F || x->is_mem || x->prefixes & X86_P_66)
		return KEPT_NOT;
	for (unsigned i = 0; i < sizeof kept_rows / sizeof kept_rows[0]; i++)
		if (x->opcode == kept_rows[i].opcode &&
		    has_f3 == kept_rows[i].has_f3 &&
		    (x->modrm & kept_rows[i].mask) == kept_rows[i].modrm)
			return (enum kept)kept_rows[i].kept;
	return KEPT_NOT;
}

static void put_without_memory(struct work *w)
{
	switch (kept_of(&w->i->x)) {
	case KEPT_SKIP:
		break;
	case KEPT_PKRU:
		emit_mr(&w->hot, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_PKRU),
			X86_RAX);
		break;
	case KEPT_REFUSE:
		put_leave(w, w->pc, EXIT_STATE);
		break;
	default:
		put_copy(w);
		break;
	}
}

/* -- Operands -------------------------------------------------------------- */

/* Only the address is formed: lea has a result, the others are hints. */
static void put_address(struct work *w)
{
	const struct x86_insn *x = &w->i->x;
	struct x86_mem m = x86_mem_of(x, w->pc);

	if (x->space != X86_SPACE_LEGACY || x->opcode != 0x8d)
		return;
	if (m.base != X86_RIP) {
		put_copy(w);
		return;
	}
	if (m.addr32)
		m.disp = (uint32_t)m.disp;
	if (x->rex & 8)
		emit_set(&w->hot, x->reg, (uint64_t)m.disp);
	else if (x->prefixes & X86_P_66)
		put_leave(w, w->pc, EXIT_STATE);
	else
		emit_set(&w->hot, x->reg, (uint32_t)m.disp);
}

/* A register that the instruction does not read, saved in SPILL_ANY. */
static unsigned borrow_unread(struct work *w)
{
	uint16_t read = w->i->x.gpr_read;
	unsigned t = read >> X86_R10 & 1 ? X86_R11 : X86_R10;

	if (read >> t & 1)
		t = X86_RAX;
	emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_ANY), t);
	return t;
}

static void put_push_mem(struct work *w)
{
	struct x86_mem m = x86_mem_of(&w->i->x, w->pc);
	unsigned t = borrow_unread(w);

	emit_rm(&w->hot, EMIT_MOV, 8, t, shadow_of(m));
	push_reg(w, t);
	emit_rm(&w->hot, EMIT_MOV, 8, t, spill(SPILL_ANY));
}

static void put_pop_mem(struct work *w)
{
	unsigned t = borrow_unread(w);

	emit_rm(&w->hot, EMIT_MOV, 8, t, shadow_of(x86_mem_at(X86_RSP, 0)));
	emit_mr(&w->hot, EMIT_MOV, 8, shadow_of(popped_to(w)), t);
	move_rsp(w, 8);
	emit_rm(&w->hot, EMIT_MOV, 8, t, spill(SPILL_ANY));
}

static void put_base(struct work *w)
{
	const struct x86_insn *x = &w->i->x;
	struct x86_mem at = x86_mem_seg(X86_GS, VCPU_FS);
	unsigned width = x->rex & 8 ? 8 : 4;

	if (x->row->special == X86_RDFSBASE) {
		emit_rm(&w->hot, EMIT_MOV, width, x->rm, at);
		return;
	}
	emit_mr(&w->hot, EMIT_MOV, width, at, x->rm);
	if (width == 4)
		emit_mi(&w->hot, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_FS + 4),
			0);
}

void put_alone(struct work *w)
{
	const struct x86_insn *x = &w->i->x;
	const uint8_t *code = w->g->bytes + w->i->off;
	unsigned reg = opcode_reg(x);
	enum way way = way_of(code, x);

	put_observed(w, way);
	switch (way) {
	case WAY_NONE:
		if (x->is_mem)
			put_address(w);
		else
			put_without_memory(w);
		break;
	case WAY_LOAD:
	case WAY_SOME:
	case WAY_STORE:
	case WAY_STORE_POP:
	case WAY_GATHER:
	case WAY_SCATTER:
	case WAY_UPDATE:
	case WAY_LOCKED:
		put_moved_operand(w);
		break;
	case WAY_STORE_X87:
		put_store_x87(w);
		break;
	case WAY_PUSH:
		push_reg(w, reg);
		break;
	case WAY_PUSH_I:
		emit_mi(&w->hot, EMIT_MOV, 8,
			shadow_of(x86_mem_at(X86_RSP, -8)), x86_imm(code, x));
		move_rsp(w, -8);
		break;
	case WAY_PUSH_M:
		put_push_mem(w);
		break;
	case WAY_PUSHF:
		move_rsp(w, -8);
		break;
	case WAY_POP:
		emit_rm(&w->hot, EMIT_MOV, 8, reg,
			shadow_of(x86_mem_at(X86_RSP, 0)));
		move_rsp(w, 8);
		break;
	case WAY_POP_M:
		put_pop_mem(w);
		break;
	case WAY_LEAVE:
		emit_rm(&w->hot, EMIT_LEA, 8, X86_RSP, x86_mem_at(X86_RBP, 8));
		emit_rm(&w->hot, EMIT_MOV, 8, X86_RBP,
			shadow_of(x86_mem_at(X86_RBP, 0)));
		break;
	case WAY_BASE:
		put_base(w);
		break;
	default:
		put_leave(w, w->pc, EXIT_STATE);
		break;
	}
}

/* -- Control --------------------------------------------------------------- */

void put_alone_call(struct work *w, uint64_t target)
{
	put_stack_access(w, -8, OBSERVE_STORES);
	emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_ANY), X86_R10);
	emit_set(&w->hot, X86_R10, w->pc + w->i->x.len);
	push_reg(w, X86_R10);
	emit_rm(&w->hot, EMIT_MOV, 8, X86_R10, spill(SPILL_ANY));
	put_jmp(w, target);
}

void put_alone_ret(struct work *w)
{
	uint64_t drop = (uint16_t)x86_imm(w->g->bytes + w->i->off, &w->i->x);

	put_stack_access(w, 0, OBSERVE_LOADS);
	put_spills(w);
	emit_rm(&w->hot, EMIT_MOV, 8, X86_R10,
		shadow_of(x86_mem_at(X86_RSP, 0)));
	move_rsp(w, (int64_t)(drop + 8));
	put_look_up(w);
}

void put_alone_indirect(struct work *w, int is_call)
{
	const struct x86_insn *x = &w->i->x;

	put_observed_operand(w);
	if (is_call)
		put_stack_access(w, -8, OBSERVE_STORES);
	put_spills(w);
	if (x->is_mem)
		emit_rm(&w->hot, EMIT_MOV, 8, X86_R10,
			shadow_of(x86_mem_of(x, w->pc)));
	else if (x->rm != X86_R10)
		emit_rr(&w->hot, EMIT_MOV, 8, X86_R10, x->rm);
	if (is_call) {
		emit_set(&w->hot, X86_RCX, w->pc + x->len);
		push_reg(w, X86_RCX);
	}
	put_look_up(w);
}
