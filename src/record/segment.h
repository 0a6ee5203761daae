/* record/segment.h - a recorded thread runs again, from one key frame to the
 * next, and every step of it is checked.
 *
 *	segment_begin(&s, key, &err);
 *	segment_apply(&s, event, &err);		 for each that follows
 *	segment_apply(&s, next_key, &err);	 the check at its end; or
 *	segment_flush(&s, &err);		 if there is none
 *
 * The first thing that is not as it was recorded ends it: a position that is
 * not reached, another system call, other registers at a key frame. The error
 * then says what was recorded and what happened.
 *
 * The caller brings events, code and CPU; no file is touched here. Hosted. */
#ifndef RECORD_SEGMENT_H
#define RECORD_SEGMENT_H

#include "base/err.h"
#include "engine/replay.h"
#include "record/code.h"
#include "record/stream.h"
#include "record/xstate.h"

#include <stdint.h>

enum { SEGMENT_FILLS = 64 };

/* Callers allocate it, and set all down to most. */
struct segment {
	struct replay *cpu;		    /* borrowed */
	struct code *code;		    /* borrowed; cpu fetches from it */
	const struct xstate_layout *layout; /* borrowed */
	uint32_t process, thread;	    /* for words */
	uint64_t most;			    /* counts; 0: as is usual */
	uint64_t count;			    /* of its KEY */
	uint64_t n_events;		    /* applied since its KEY */
	int ended;			    /* by a KEY or an END */
	/* Fills of the shadow that were applied and have not been run to. */
	unsigned n_fills;
	struct replay_fill fills[SEGMENT_FILLS];
	uint8_t filled[SEGMENT_FILLS][WIRE_GRANULE];
};

/* From here on it is at the KEY. */
int segment_begin(struct segment *s, const struct record_event *key,
		  struct hark_err *err);
/* From here on it is somewhere else in the segment of the KEY at `count`: so
 * many events on, in this epoch of its code. The caller has put the CPU
 * there. */
void segment_resume(struct segment *s, uint64_t count, uint64_t n_events,
		    uint64_t epoch);
/* Runs to the event's position and applies it. A KEY or an END is compared
 * with what the replay has come to, and ends the segment. */
int segment_apply(struct segment *s, const struct record_event *e,
		  struct hark_err *err);
/* What the shadow is filled with is put off for a while, so that much can be
 * done at once: until this, or an event of another kind. */
int segment_flush(struct segment *s, struct hark_err *err);
/* REPLAY_LACKS, in words; always -1. */
int segment_lacks(const struct segment *s, struct hark_err *err);

#endif
