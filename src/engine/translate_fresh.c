/* engine/translate_fresh.c - is a block's code still what was translated?
 *
 * Code that may change unseen is compared at each entry, and a thread that has
 * not been told of changed code (tape.h) is sent to the dispatcher. */
#include "engine/translate_priv.h"

/* al, ah -> flags; rax = what it was. 1 + 127 overflows. */
static void put_flags_back(struct work *w)
{
	piece_begin(w);
	point(w, SIDE_FLAGS);
	emit_ri(&w->hot, EMIT_ADD, 1, X86_RAX, 0x7f);
	emit_plain(&w->hot, EMIT_SAHF);
	point_reg(w, SIDE_REG, X86_RAX);
	emit_rm(&w->hot, EMIT_MOV, 8, X86_RAX, spill(SPILL_ANY));
	piece_end(w, 0);
}

/* Back to the dispatcher, which will find out what has changed. */
static uint64_t put_stale(struct work *w)
{
	enum { LEN = 80 };
	uint64_t at = take_cold(w, LEN);
	struct work cold = {.region = w->region,
			    .temp = {X86_NOREG, X86_NOREG},
			    .hot = cold_buf(w, at, LEN)};

	put_flags_back(&cold);
	put_leave(&cold, w->g->pc, EXIT_GO);
	if (cold.hot.bad)
		engine_die("no room for a stub");
	return at;
}

/* One comparison of 4, 2 or 1 bytes of code with what they were. Aligned: the
 * program may have asked for faults where it is not (AC). */
static unsigned put_compare(struct work *w, unsigned at, uint64_t stale)
{
	uint64_t from = w->g->pc + at;
	unsigned left = w->g->seen - at, width = 4;
	int32_t was = 0;

	while (width > 1 && (width > left || from % width != 0))
		width /= 2;
	__builtin_memcpy(&was, w->g->bytes + at, width);
	emit_mi(&w->hot, EMIT_CMP, width, x86_mem_pc(from),
		width == 4   ? was
		: width == 2 ? (int16_t)was
			     : (int8_t)was);
	emit_jcc(&w->hot, X86_CC_NE, stale);
	return width;
}

/* E2 of tape.h: the dispatcher brings the thread up to date. */
static void put_epoch(struct work *w, uint64_t stale)
{
	piece_begin(w);
	point(w, SIDE_FLAGS);
	emit_mi(&w->hot, EMIT_CMP, 4, x86_mem_seg(X86_GS, VCPU_EPOCH),
		(int32_t)w->epoch);
	emit_jcc(&w->hot, X86_CC_B, stale);
	piece_end(w, 0);
}

/* Compares the code with what was translated. Flags are kept in rax, rax in
 * the vcpu. */
void put_code_check(struct work *w, int compare)
{
	enum { IN_A_PIECE = 12 };
	uint64_t stale = put_stale(w);
	unsigned at = compare ? 0 : w->g->seen;

	piece_begin(w);
	emit_mr(&w->hot, EMIT_MOV, 8, spill(SPILL_ANY), X86_RAX);
	emit_plain(&w->hot, EMIT_LAHF);
	point_reg(w, SIDE_REG, X86_RAX);
	emit_setcc_r(&w->hot, X86_CC_O, X86_RAX);
	piece_end(w, 0);
	if (w->epoch != 0)
		put_epoch(w, stale);
	while (at < w->g->seen) {
		piece_begin(w);
		point(w, SIDE_FLAGS);
		for (int k = 0; k < IN_A_PIECE && at < w->g->seen; k++)
			at += put_compare(w, at, stale);
		piece_end(w, 0);
	}
	put_flags_back(w);
}
