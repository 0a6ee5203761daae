/* outside/bells.h - one ear for many bells.
 *
 * hark's main thread waits for signals; programs ring by futex. A second
 * thread waits for the bells and passes each ring on as a SIGCHLD to the main
 * thread, which then looks at all of them and says what it has heard.
 *
 * E1  The thread only calls the kernel, with addresses that it never touches
 *     itself: a bell that is unmapped meanwhile is one false ring.
 * E2  After a ring it waits until bells_listen is called again: whatever is
 *     rung meanwhile differs from what was heard, and rings then.
 * Up to 127 bells cost nothing while they are still; more than that, or a
 * kernel before 5.16, are looked at every millisecond. Hosted. */
#ifndef OUTSIDE_BELLS_H
#define OUTSIDE_BELLS_H

#include "base/err.h"

#include <stdint.h>

struct bells; /* opaque */

struct bell {
	uint32_t *at;
	uint32_t heard; /* rings when the word is another */
};

/* Its caller is the thread that gets the signals. */
int bells_new(struct bells **out, struct hark_err *err);
void bells_free(struct bells *b);

/* Room for n of them, so that listening cannot fail. */
int bells_room(struct bells *b, unsigned n, struct hark_err *err);
/* From now on these. */
void bells_listen(struct bells *b, const struct bell *list, unsigned n);
/* Has it rung since? Then bells_listen is due. */
int bells_rang(const struct bells *b);

#endif
