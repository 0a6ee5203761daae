/* probe/bury.h - areas of processes that have ended without a word.
 *
 * A thread gives its area back when it ends. One that is killed does not, nor
 * do its fellows when one of them ends them all. While there are areas enough,
 * nobody minds; then hark looks for owners that are no more. Hosted. */
#ifndef PROBE_BURY_H
#define PROBE_BURY_H

#include "probe/board.h"

#include <stdint.h>

struct grave {
	uint32_t owner; /* of the area, when it was looked at; 0: never */
	uint64_t began; /* its process; 0: not known */
};

struct bury {
	struct grave *graves; /* owned: one an area */
	int64_t looked_ns;
};

/* Looks after the areas, not too often; does nothing if there is no memory. */
void bury_step(struct bury *y, struct board *b);
void bury_fini(struct bury *y);

#endif
