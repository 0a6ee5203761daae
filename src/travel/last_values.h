/* travel/last_values.h - the last value that each thread stored to some bytes,
 * or that its log filled in there.
 *
 * For lists, which go through a recording in the order of its turns: what a
 * store found is the value of the thread that touched the bytes last before it
 * (latest.h). Hosted. */
#ifndef TRAVEL_LAST_VALUES_H
#define TRAVEL_LAST_VALUES_H

#include "travel/latest.h"

#include <stddef.h>

struct last_values; /* opaque */

/* NULL: no memory. */
struct last_values *last_values_new(void);
void last_values_free(struct last_values *v);

/* A thread, by any number, has stored len bytes, or its log filled them in: -1:
 * no memory. */
int last_values_note(struct last_values *v, unsigned thread, uint64_t address,
		     const uint8_t *bytes, size_t len,
		     const struct last_touch *touch);

/* Nothing in [start, end) is what it was. */
void last_values_forget(struct last_values *v, uint64_t start, uint64_t end);

/* What at most 64 bytes hold at a moment of a thread: a bit for each that is
 * known. `touched`: a bit for each that any thread has touched; of the others
 * nothing is known here. */
uint64_t last_values_ask(const struct last_values *v, unsigned thread,
			 uint64_t address, unsigned len,
			 const struct last_touch *here, uint8_t *out,
			 uint64_t *touched);

#endif
