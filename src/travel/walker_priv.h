/* travel/walker_priv.h - what a walker is made of.
 *
 *	walker.c	life, the present, one step
 *	walker_go.c	runs, and getting somewhere
 *	walker_frame.c	places that it has been at, to start from again
 *
 * Private to these. */
#ifndef TRAVEL_WALKER_PRIV_H
#define TRAVEL_WALKER_PRIV_H

#include "travel/walker.h"

#include "record/segment.h"
#include "travel/events.h"
#include "travel/frames.h"
#include "travel/index.h"

struct walker {
	struct recording *r;  /* borrowed */
	unsigned first, end;  /* its segments */
	unsigned segment;     /* where it is */
	struct events events; /* owned: the next is the next to be applied */
	struct replay *cpu;   /* owned */
	struct code *code;    /* owned */
	struct xstate_layout layout;
	struct segment s;
	uint64_t count, step; /* of the present place, if has_step */
	int has_step;
	int is_somewhere;
	uint64_t began, began_pc; /* where the run did */
	walker_ask *ask;
	void *ask_ctx;
	walker_change *change;
	void *change_ctx;
	walker_pass *pass;
	void *pass_ctx;
	walker_record *record;
	void *record_ctx;
	walker_memory *filled, *forgotten;
	void *memory_ctx;
	struct frames *frames; /* borrowed; NULL: it leaves none */
	struct index *index;   /* borrowed; NULL: none with sections */
	unsigned first_section;
	/* Where it needs more of the index to go on; UINT64_MAX: nowhere. */
	uint64_t section_end;
	int is_for_index;    /* walker_mark_for_index */
	int has_windows;     /* somebody watches memory */
	uint64_t windows_fs; /* the base of fs when that began, or changed */
};

/* -- walker.c -- */

/* The record that is next, here: does it stand for an instruction that was left
 * to the CPU, and may have stored? */
int walker_was_left(struct walker *w, const struct record_event *e);
/* The record is here, and is passed. 1: it was all that happens here. */
int walker_apply(struct walker *w, const struct record_event *e,
		 struct hark_err *err);

/* -- walker_frame.c -- */

int walker_return(struct walker *w, const struct frame *to,
		  struct hark_err *err);
/* To the begin of a section that is not the first. 1: the index is damaged
 * there; the walker is nowhere. */
int walker_goto_section(struct walker *w, unsigned segment, unsigned section,
			struct hark_err *err);
/* At .section_end, or not there yet: what the next section touches is put into
 * the shadow. */
int walker_enter_section(struct walker *w, struct hark_err *err);

#endif
