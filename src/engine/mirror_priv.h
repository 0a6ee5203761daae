/* engine/mirror_priv.h - what the parts of the recorder's translation share.
 *
 *	mirror.c       instructions: which way each goes
 *	mirror_odd.c   the rarer ones: x87, gather and scatter, locked
 *	mirror_check.c a load against the shadow, and what happens at a miss
 *	mirror_order.c tickets of locked instructions
 *	mirror_lend.c  registers and flags, while they are needed for that */
#ifndef ENGINE_MIRROR_PRIV_H
#define ENGINE_MIRROR_PRIV_H

#include "engine/translate_priv.h"

enum { COLD_LEN = 48 };

/* -- mirror_lend.c -- */

/* A register that this instruction, and if possible the rest of the run, does
 * not use. temp[0] is taken before temp[1], which is never rax. */
unsigned take_temp(struct work *w, unsigned n, uint16_t avoid);
/* rax as temp[0], for this instruction, which does not use it. */
void take_rax(struct work *w);
void give_back_temp(struct work *w, unsigned n);
/* Those that were taken for this instruction only. */
void give_back_once(struct work *w);
/* They are about to be spoiled; the program may want them yet. */
void put_save_flags(struct work *w);
/* The instruction is about to be executed: does it look at flags, or leave
 * some of them alone that others want? */
void settle_for_insn(struct work *w);

/* -- mirror_check.c -- */

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
	int is_order;  /* the ticket, too; without is_value: it alone */
	uint64_t cold; /* where it goes on */
	uint32_t site;
	uint8_t r10_spilled; /* and rcx */
};

/* Compares; otherwise to c->cold, which one of cold_* must write. */
void put_check(struct work *w, struct check *c);
/* gs:[VCPU_ARG] = site; to the engine; what follows is where it comes back. */
void cold_ask(struct work *w, struct check *c, struct x86_buf *b);
void cold_end(struct x86_buf *b, uint64_t back);
/* Behind a miss: value = what the shadow holds now; back to here. */
void cold_load(struct work *w, struct check *c);
/* The same by the program's own instruction: a load. */
void cold_again(struct work *w, struct check *c);
/* Nothing to be loaded. */
void cold_on(struct work *w, struct check *c);

/* temp = [m], checked. */
unsigned load_temp(struct work *w, struct x86_mem m, unsigned size,
		   int flags_live);
/* The instruction itself, on the shadow. */
void put_shadowed(struct work *w);

/* -- mirror_odd.c -- */

void put_store_pop(struct work *w);
void put_store_x87(struct work *w);
void put_gather(struct work *w, struct x86_mem m);
void put_scatter(struct work *w);
void put_locked(struct work *w, struct x86_mem m);

/* -- mirror_order.c -- */

/* Both before the instruction; flags are saved if they are live. */
void put_ticket(struct work *w, struct x86_mem m);
void put_ticket_of_fence(struct work *w);
/* Behind it; spoils flags and temp[1]. */
void put_ticket_check(struct work *w);

#endif
