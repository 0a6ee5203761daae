/* engine/mirror_lend.c - registers and flags that a recorded program lends.
 *
 * A register that the next instructions do not use is borrowed, its value in a
 * spill word meanwhile: for a run of instructions, or else for the one.
 *
 * Flags are saved before the first check that spoils them while the program
 * may still want them, and restored when it does. */
#include "engine/mirror_priv.h"

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
unsigned take_temp(struct work *w, unsigned n, uint16_t avoid)
{
	uint16_t taken = (uint16_t)(avoid | 1 << X86_RSP | 1 << X86_RCX);
	unsigned reg;

	if (w->temp[n] != X86_NOREG)
		return w->temp[n];
	if (n == 1)
		taken |= (uint16_t)(1 << X86_RAX | 1 << w->temp[0]);
	reg = choose(taken | w->used_ahead[w->k]);
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

void give_back_temp(struct work *w, unsigned n)
{
	if (w->temp[n] == X86_NOREG)
		return;
	emit_rm(&w->hot, EMIT_MOV, 8, w->temp[n], spill(temp_spill[n]));
	w->temp[n] = X86_NOREG;
	w->once &= (uint8_t) ~(1 << n);
}

void put_give_back(struct work *w)
{
	if (w->temp[0] == X86_NOREG)
		return;
	give_back_temp(w, 1);
	give_back_temp(w, 0);
	point_borrowed(w);
}

void take_rax(struct work *w)
{
	put_give_back(w);
	emit_mr(&w->hot, EMIT_MOV, 8, spill(temp_spill[0]), X86_RAX);
	w->temp[0] = X86_RAX;
	w->once |= 1;
	point_borrowed(w);
}

/* temp[0] may not be given back while temp[1] is lent: the side table. */
void give_back_once(struct work *w)
{
	if (w->once & 1)
		w->once |= 2;
	if (w->once & 2)
		give_back_temp(w, 1);
	if (w->once & 1)
		give_back_temp(w, 0);
	w->once = 0;
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

void put_save_flags(struct work *w)
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
void settle_for_insn(struct work *w)
{
	const struct x86_insn *x = &w->i->x;

	if ((x->flag_read | x->flag_write) & X86_FLAGS_STATUS ||
	    w->flags_live[w->k] == 0)
		put_settle_flags(w, w->flags_live[w->k]);
}
