/* probe/sampling.h - stacks of threads that a clock has interrupted.
 *
 * A sample comes in parts (probe/collect_sample.c), which are put together
 * here; and what was mapped in its process is told before it.
 *
 * Hosted. */
#ifndef PROBE_SAMPLING_H
#define PROBE_SAMPLING_H

#include "probe/board.h"
#include "probe/session.h"

struct sampling;

/* Both are borrowed. */
int sampling_new(const struct session_samples *p, struct image *image,
		 struct sampling **out, struct hark_err *err);
void sampling_free(struct sampling *s);

/* Of those that are checked: stacks that were put together wrong. */
uint64_t sampling_differing(const struct sampling *s);

/* What is mapped in a process from now on: it has begun, or another program
 * has; or it may have changed. */
int sampling_maps(struct sampling *s, pid_t pid, bool is_new,
		  struct hark_err *err);

/* A sample, or a part of one. */
int sampling_record(struct sampling *s, const struct board_record *r,
		    struct hark_err *err);
/* There are no more for now: which threads have ended? */
int sampling_pause(struct sampling *s, const struct board *b,
		   struct hark_err *err);

#endif
