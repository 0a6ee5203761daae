/* travel/past.h - what a segment of a thread knew of memory when it ended.
 *
 * Found by replaying it; the last ones asked for are kept, up to a limit of
 * memory. Hosted. */
#ifndef TRAVEL_PAST_H
#define TRAVEL_PAST_H

#include "travel/walker.h"

struct past; /* opaque */

struct past *past_new(size_t memory_max);
void past_free(struct past *p);

/* Of `segment`, replayed by w (which is elsewhere then) if need be: what the
 * byte at an index of the shadow was. 1: known. 0: it was not touched. */
int past_byte(struct past *p, struct walker *w, unsigned segment,
	      uint32_t index, uint8_t *out, struct hark_err *err);

#endif
