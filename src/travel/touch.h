/* travel/touch.h - what the next instruction of a thread touches. */
#ifndef TRAVEL_TOUCH_H
#define TRAVEL_TOUCH_H

#include "travel/walker.h"

struct touch {
	uint64_t address;
	uint64_t index; /* the same, without the base of fs */
	uint32_t size, is_write;
};
enum { TOUCHES_MAX = 72 };

/* How many; of a repeated instruction all that is left of it. What is done by a
 * mask is told in pieces. */
unsigned touches_of(struct walker *w, struct touch out[TOUCHES_MAX]);
/* The same, of a state and the code at its pc; masks are taken for ones. */
unsigned touches_at(const struct wire_rec_state *s, const uint8_t *code,
		    unsigned have, struct touch out[TOUCHES_MAX]);

#endif
