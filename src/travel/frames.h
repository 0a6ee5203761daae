/* travel/frames.h - moments that a thread of a recording can be put to at once.
 *
 * Like key frames, but with all that it knew of memory; made while somebody
 * travels, near where they are, and kept until memory is needed for others.
 * Hosted. */
#ifndef TRAVEL_FRAMES_H
#define TRAVEL_FRAMES_H

#include "travel/events.h"
#include "travel/sheet.h"

/* The first instruction of a count. */
struct frame {
	unsigned segment;
	unsigned first_section; /* walker_first_section */
	uint64_t count;
	struct wire_rec_state state;
	uint8_t *xstate; /* owned */
	uint32_t xstate_len;
	uint64_t epoch; /* of its code */
	uint64_t n_events;
	struct events_mark mark;
	struct sheet *memory; /* owned */
	uint64_t used;	      /* when */
};

struct frames; /* opaque */

/* `near`: counts; whoever is that near needs none. NULL: no memory. */
struct frames *frames_new(size_t memory_max, uint64_t near);
uint64_t frames_near(const struct frames *f);
void frames_free(struct frames *f);
/* The last one of a segment up to a count; NULL: none. It is good until the
 * next is added. */
const struct frame *frames_before(struct frames *f, unsigned segment,
				  uint64_t count);
/* Takes what it owns, in any case. */
int frames_add(struct frames *f, struct frame *frame, struct hark_err *err);

#endif
