/* record/lineage.h - what the stream of a process says, and before it those of
 * the processes that it was forked from, as far as they concern it.
 *
 * A forked process has its parent's code and mappings up to the fork, and so
 * on upwards. The oldest come first, so serial numbers ascend. Hosted. */
#ifndef RECORD_LINEAGE_H
#define RECORD_LINEAGE_H

#include "base/err.h"
#include "record/recording.h"

#include <stdint.h>

/* For each record; not 0 ends the walk, which then returns it. */
int lineage_walk(struct recording *r, uint32_t process, recording_visit *visit,
		 void *ctx, struct hark_err *err);

#endif
