/* travel/window.h - the last few thousand instructions of a thread, at hand.
 *
 * Going back by one instruction means going forward to it from a key frame. So
 * that is done once, with everything noted that the way there changes; then a
 * step back is a look into the notes. The walker stays at the window's end.
 * Hosted. */
#ifndef TRAVEL_WINDOW_H
#define TRAVEL_WINDOW_H

#include "travel/walker.h"

struct window; /* opaque */

struct window *window_new(void);
void window_free(struct window *w);

/* From so many counts before its present place (or from its key frame) to
 * there. HARK_ENOMEM: that is too far. */
int window_open(struct window *w, struct walker *of, uint64_t counts,
		struct hark_err *err);
/* Nothing is noted. */
void window_close(struct window *w);

/* How many places there are; the last is where the walker is. 0: closed. */
unsigned window_n(const struct window *w);
/* Which one is this? -1: none. */
int window_find(const struct window *w, uint64_t count, uint64_t step);

struct window_place {
	struct walker_place place;
	struct wire_rec_state state;
	uint64_t turns; /* begun since the segment did */
	unsigned segment;
};
const struct window_place *window_place(const struct window *w, unsigned i);
uint32_t window_xstate(const struct window *w, unsigned i,
		       uint8_t out[WIRE_XSTATE_MAX]);
/* What the shadow held at place i, by index, and whether that was touched: *out
 * and the result are those of the end, and are put right. */
int window_byte(const struct window *w, unsigned i, uint32_t index,
		int was_touched, uint8_t *out);

#endif
