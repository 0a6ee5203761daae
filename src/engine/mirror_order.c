/* engine/mirror_order.c - tickets of locked instructions (wire/record.h).
 *
 *	line = lines + 64 * hash(address)
 *	next[line] += 1			as if nobody else were there
 *	ticket = lock xadd line, 1
 *	the instruction
 *	line is next? else cold: told, and next[line] is put right
 *
 * A thread that has always been alone draws none: while there is only one,
 * nobody is there to be ordered. Its second makes code anew (thread.c).
 *
 * One comparison behind the instruction says both that the ticket was the
 * expected one and that nobody drew another before the instruction was done:
 * counters only grow. */
#include "engine/mirror_priv.h"

static struct x86_mem in_vcpu(int disp)
{
	return x86_mem_seg(X86_GS, disp);
}

/* rdfsbase reg */
static void put_fs_base(struct work *w, unsigned reg)
{
	const uint8_t code[5] = {0xf3, reg >= 8 ? 0x49 : 0x48, 0x0f, 0xae,
				 (uint8_t)(0xc0 | (reg & 7))};

	emit_bytes(&w->hot, code, sizeof code);
}

/* A line of 64 bytes, the golden ratio, and the highest bits. */
enum { LINE_BITS = 6, HASH_BITS = 12 };
static const uint32_t golden = 0x9e3779b1;
_Static_assert(1 << HASH_BITS == WIRE_ORDER_LINES, "mirror_order.c");

/* reg = the line's number; spoils t. */
static void put_hash(struct work *w, struct x86_mem m, unsigned reg, unsigned t)
{
	int has_fs = m.seg == X86_FS;

	m.seg = 0;
	if (m.base == X86_RIP && !has_fs) {
		uint32_t line = (uint32_t)((uint64_t)m.disp >> LINE_BITS);

		emit_set(&w->hot, reg, line * golden >> (32 - HASH_BITS));
		return;
	}
	if (m.base == X86_RIP)
		emit_set(&w->hot, reg, (uint64_t)m.disp);
	else
		emit_rm(&w->hot, EMIT_LEA, 8, reg, m);
	if (has_fs) {
		put_fs_base(w, t);
		emit_rr(&w->hot, EMIT_ADD, 8, reg, t);
	}
	emit_ri(&w->hot, EMIT_SHR, 8, reg, LINE_BITS);
	emit_set(&w->hot, t, golden);
	emit_rr(&w->hot, EMIT_IMUL, 4, reg, t);
	emit_ri(&w->hot, EMIT_SHR, 4, reg, 32 - HASH_BITS);
}

/* reg is the line's number. */
static void put_draw(struct work *w, unsigned reg, unsigned t)
{
	struct x86_mem next =
	    x86_mem_index(X86_NOREG, reg, 3, VCPU_GS_AT(SLOT_ORDER));

	next.seg = X86_GS;
	emit_rm(&w->hot, EMIT_MOV, 8, t, next);
	emit_ri(&w->hot, EMIT_ADD, 8, t, 1);
	emit_mr(&w->hot, EMIT_MOV, 8, next, t);
	emit_mr(&w->hot, EMIT_MOV, 8, in_vcpu(VCPU_AFTER), t);
	emit_ri(&w->hot, EMIT_SHL, 8, reg, LINE_BITS);
	emit_rm(&w->hot, EMIT_ADD, 8, reg, in_vcpu(VCPU_LINES));
	emit_mr(&w->hot, EMIT_MOV, 8, in_vcpu(VCPU_LINE), reg);
	emit_set(&w->hot, t, 1);
	emit_plain(&w->hot, EMIT_LOCK);
	emit_mr(&w->hot, EMIT_XADD, 8, x86_mem_at(reg, 0), t);
	emit_mr(&w->hot, EMIT_MOV, 8, in_vcpu(VCPU_TICKET), t);
}

static void put_ticket_of(struct work *w, const struct x86_mem *m)
{
	unsigned reg, t;

	if (w->flags_live[w->k] != 0)
		put_save_flags(w);
	if (!w->e->has_company)
		return;
	reg = take_temp(w, 0, 1 << X86_RAX);
	t = take_temp(w, 1, 0);
	if (m)
		put_hash(w, *m, reg, t);
	else
		emit_set(&w->hot, reg, WIRE_ORDER_KERNEL);
	put_draw(w, reg, t);
	piece_end(w, 0);
	piece_begin(w);
}

void put_ticket(struct work *w, struct x86_mem m)
{
	put_ticket_of(w, &m);
}

void put_ticket_of_fence(struct work *w)
{
	put_ticket_of(w, 0);
}

void put_ticket_check(struct work *w)
{
	struct check c = {.m = x86_mem_at(X86_RSP, 0), .is_order = 1};
	unsigned t;

	if (!w->e->has_company)
		return;
	t = take_temp(w, 1, 0);
	c.cold = take_cold(w, COLD_LEN);
	emit_rm(&w->hot, EMIT_MOV, 8, t, in_vcpu(VCPU_LINE));
	emit_rm(&w->hot, EMIT_MOV, 8, t, x86_mem_at(t, 0));
	emit_rm(&w->hot, EMIT_CMP, 8, t, in_vcpu(VCPU_AFTER));
	emit_jcc(&w->hot, X86_CC_NE, c.cold);
	cold_on(w, &c);
}

void put_ticket_ahead(struct work *w)
{
	put_ticket(w, x86_mem_of(&w->i->x, w->pc));
	put_give_back(w);
	put_settle_flags(w, X86_FLAGS_STATUS);
}
