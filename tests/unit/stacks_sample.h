/* tests/unit/stacks_sample.h - profiles that nobody took, the same every time.
 *
 *	real	a renderer with a pool of threads; size: threads
 *	deep	recursion; size: how deep
 *	wide	stacks that hardly repeat; size: functions
 *	hostile	names that break readers who are not careful
 *	empty	no sample at all
 */
#ifndef TESTS_STACKS_SAMPLE_H
#define TESTS_STACKS_SAMPLE_H

#include "present/stacks.h"

struct stacks_sample_set {
	struct stacks s; /* what it is all for */
	struct stacks_frame *frames;
	struct stacks_node *nodes;
	struct stacks_thread *threads;
	struct stacks_sample *samples;
	char **names; /* owned, as all above */
	size_t n_names;
};

/* 0, or -1: no such kind, or no memory. */
int stacks_sample_make(struct stacks_sample_set *g, const char *kind,
		       size_t n_samples, size_t size);
void stacks_sample_free(struct stacks_sample_set *g);

#endif
