/* record/player.h - plays the segments of a recording, and checks them.
 *
 * A player keeps its CPU, and the code of the process it played last, with
 * all that was translated of it: segments of one process in a row are cheap.
 * Hosted. Not to be shared between threads; several may exist. */
#ifndef RECORD_PLAYER_H
#define RECORD_PLAYER_H

#include "base/err.h"
#include "record/recording.h"

#include <stdint.h>

struct player; /* opaque */

struct player_sum {
	uint64_t instructions; /* 0 if they are not counted */
	uint64_t counts;       /* from its beginning to its end */
	uint64_t events;       /* records applied */
};

/* The recording is borrowed. Counting instructions takes up to as long again
 * as replaying does. */
int player_new(struct recording *r, int counts_instructions,
	       struct player **out, struct hark_err *err);
void player_free(struct player *p);

/* Replays segment i from its key frame to the next one, or to where the
 * thread's stream ends. -1: it did not go as recorded (HARK_EBUG), or it could
 * not be tried; err tells. */
int player_segment(struct player *p, unsigned i, struct player_sum *out,
		   struct hark_err *err);

#endif
