/* engine/translate_priv.h - what the parts of the translator share.
 *
 *	translate.c  the frame: pieces, exits, look-ups, plain copies
 *	translate_live.c   what the program will still look at
 *	translate_fresh.c  code that may have changed
 *	mirror.c     memory operands of a program that is recorded
 *	alone.c	     memory operands of one that is replayed
 *	alone_observe.c    and looked at */
#ifndef ENGINE_TRANSLATE_PRIV_H
#define ENGINE_TRANSLATE_PRIV_H

#include "engine/block.h"
#include "engine/plan.h"
#include "engine/translate.h"
#include "engine/ways.h"
#include "wire/record.h"
#include "x86/access.h"
#include "x86/emit.h"

enum { SIDE_MAX = BLOCK_MAX * 40 + 64, TEMP_MAX = 2 };

struct work {
	struct engine *e;	    /* borrowed */
	struct region *region;	    /* borrowed */
	struct guest_block *g;	    /* borrowed */
	const struct guest_insn *i; /* borrowed: being translated */
	uint64_t pc;		    /* of it */
	uint32_t number;	    /* that the block will have */
	unsigned k;		    /* its number */
	struct x86_buf hot;
	uint64_t piece; /* where the piece began */
	uint8_t points; /* written for it */
	unsigned side_at, piece_at;
	uint8_t side[SIDE_MAX];
	/* Only with an instrument: */
	struct plan *plan;		/* borrowed; NULL: nothing is counted */
	uint16_t flags_live[BLOCK_MAX]; /* before each instruction */
	/* Only if recorded (mirror.c): */
	uint16_t used_ahead[BLOCK_MAX]; /* general registers, in the same run */
	uint16_t
	    used_far[BLOCK_MAX]; /* and on, up to a branch that goes back */
	uint8_t temp[TEMP_MAX];	 /* borrowed: X86_NOREG, or which */
	uint8_t once;		 /* of them: for this instruction only */
	uint8_t flags_saved;	 /* in the vcpu: put_settle_flags() */
	uint8_t wants_flags;	 /* of the block */
	uint8_t looks_ahead;	 /* the code around does not change */
	uint16_t flags_behind;	 /* live, if it goes straight on */
	uint8_t branches;	 /* what is put is a branch's exit */
	uint8_t lonely;		 /* none of its exits is ever linked */
	uint8_t blind;		 /* no windows: observe.h */
	uint64_t counted;	 /* of the block */
	uint64_t epoch;		 /* threads must have seen it: tape.h; 0: any */
};

/* Recorded or replayed: the count is of wire/record.h. */
static inline int is_taped(const struct engine *e)
{
	return (e->flags & WIRE_RUN_RECORD) != 0 || e->replays;
}

void piece_begin(struct work *w);
void piece_end(struct work *w, unsigned guest_len);

/* From the next host instruction on, `what` holds. */
void point_reg(struct work *w, unsigned what, unsigned reg);
static inline void point(struct work *w, unsigned what)
{
	point_reg(w, what, 0);
}

static inline struct x86_mem spill(unsigned n)
{
	return x86_mem_seg(X86_GS, VCPU_SPILL + 8 * (int)n);
}

/* What the shadow holds of [m]. */
static inline struct x86_mem shadow_of(struct x86_mem m)
{
	int64_t disp = m.disp + WIRE_SHADOW_SKEW;

	m.seg = X86_GS;
	m.addr32 = 1;
	m.disp = (int32_t)(uint32_t)disp;
	if (m.base == X86_RIP)
		m.base = X86_NOREG;
	return m;
}

/* WAY_POP_M: its destination, by the rsp before the pop. */
static inline struct x86_mem popped_to(const struct work *w)
{
	struct x86_mem m = x86_mem_of(&w->i->x, w->pc);

	m.disp += x86_pop_shift(&w->i->x);
	return m;
}

/* The register that push and pop have in their opcode. */
static inline unsigned opcode_reg(const struct x86_insn *x)
{
	return (x->opcode & 7u) | (x->rex & 1u) << 3;
}

/* Where len bytes of cold code are to be executed; and to write them with. */
uint64_t take_cold(struct work *w, unsigned len);
struct x86_buf cold_buf(const struct work *w, uint64_t cold, unsigned len);

/* vcpu.pc = pc; reason; leave. */
void put_leave(struct work *w, uint64_t pc, enum vcpu_exit why);
/* The instruction as it is, at its new place. */
void put_copy(struct work *w);
/* r10 and rcx into their spill words; the block is noted as the source. */
void put_spills(struct work *w);
/* r10 is the target; both are spilled. */
void put_look_up(struct work *w);
/* An exit to target, always taken. */
void put_jmp(struct work *w, uint64_t target);

/* translate_live.c: fills in .flags_live, .flags_behind, .used_ahead. */
void find_live(struct work *w);

/* translate_fresh.c: compares the code (if `compare`), and the epoch. */
void put_code_check(struct work *w, int compare);

/* mirror.c: the instruction, recorded. Those that transfer control, too,
 * except for what does it by itself (jcc, jmp, syscall, ...). */
void put_mirrored(struct work *w);
void put_mirrored_call(struct work *w, uint64_t target);
void put_mirrored_ret(struct work *w);
void put_mirrored_indirect(struct work *w, int is_call);
/* mirror_order.c: the ticket of a locked instruction that is left to the CPU.
 * The recorder looks at it (tape_state). */
void put_ticket_ahead(struct work *w);
/* Before control may leave: registers that were borrowed are given back. */
void put_give_back(struct work *w);
/* Flags may be saved while the program does not look at them. It is about to:
 * they are restored, if any of `live` is of interest. */
void put_settle_flags(struct work *w, unsigned live);
/* A piece begins: what is borrowed is so still. */
void point_borrowed(struct work *w);

/* alone_observe.c: before a replayed instruction, what it touches. `at`: from
 * rsp. */
void put_observed(struct work *w, enum way way);
void put_observed_operand(struct work *w);
void put_stack_access(struct work *w, int64_t at, unsigned how);

/* alone.c: the same, replayed. */
void put_alone(struct work *w);
void put_alone_call(struct work *w, uint64_t target);
void put_alone_ret(struct work *w);
void put_alone_indirect(struct work *w, int is_call);

#endif
