/* record/verify.h - does a recording replay as it was recorded?
 *
 * Every segment of every thread is replayed and compared (record/segment.h),
 * by worker processes that can do nothing else (record/sandbox.h). Hosted. */
#ifndef RECORD_VERIFY_H
#define RECORD_VERIFY_H

#include "base/err.h"
#include "record/recording.h"
#include "record/workers.h"

struct verify_wish {
	unsigned jobs; /* processes at a time; 0: as many as CPUs */
	/* Some times a second; may be NULL. */
	void (*progress)(void *ctx, unsigned done, unsigned n);
	void *ctx; /* borrowed; for progress */
};

/* out->sum is instructions; a text with code HARK_EBUG tells a mismatch, others
 * why a segment could not be tried. -1: nothing was verified. */
int verify_recording(struct recording *r, const struct verify_wish *wish,
		     struct workers_result *out, struct hark_err *err);

#endif
