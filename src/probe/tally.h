/* probe/tally.h - accounts of many instructions become those of probes.
 *
 * Neighbours of one name are one probe; and so are the probes of a library that
 * was loaded several times. Hosted. */
#ifndef PROBE_TALLY_H
#define PROBE_TALLY_H

#include "probe/session.h"

/* Empty is all zero but the first two. */
struct tally {
	void (*visit)(void *ctx, const struct session_account *a);
	void *ctx; /* borrowed */
	struct tally_one {
		struct session_account a; /* its texts are borrowed */
		size_t order;
	} * all; /* owned */
	size_t n, room;
};

/* Without memory, a probe is told in several parts. */
void tally_add(struct tally *t, const struct session_account *a);
/* Tells all, in the order in which they came first. */
void tally_end(struct tally *t);

#endif
