/* present/sums.h - samples put together: by thread, and by stack.
 *
 * What the writers of other tools' files and of the flame graph have in common.
 * Hosted. */
#ifndef PRESENT_SUMS_H
#define PRESENT_SUMS_H

#include "present/stacks.h"

/* Is everything in it where it says? Totals are numbers that JSON has. */
int stacks_check(const struct stacks *s, struct hark_err *err);

/* Flushes, and says what went wrong with the stream, if anything did. */
int stacks_written(FILE *out, struct hark_err *err);

/* The samples of thread t, in order of time, are
 * order[first[t]] ... order[first[t + 1] - 1]. groups: for each thread the one
 * that stands for it; NULL: itself. */
struct stacks_order {
	size_t *order; /* owned */
	size_t *first; /* owned */
};

int stacks_order_init(struct stacks_order *o, const struct stacks *s,
		      const uint32_t *groups, struct hark_err *err);
void stacks_order_fini(struct stacks_order *o);

/* Every stack of every thread once, by thread, then by first appearance. */
struct stacks_sum {
	uint32_t thread, node;
	uint64_t weight, n_samples;
};

struct stacks_sums {
	struct stacks_sum *at; /* owned */
	size_t n;
};

int stacks_sums_init(struct stacks_sums *sums, const struct stacks *s,
		     const uint32_t *groups, struct hark_err *err);
void stacks_sums_fini(struct stacks_sums *sums);

/* The nodes from the root's child to the given one. The buffer grows as it
 * must, and is the caller's to free. */
struct stacks_path {
	uint32_t *nodes; /* owned */
	size_t n, room;
};

int stacks_path_to(struct stacks_path *p, const struct stacks *s, uint32_t node,
		   struct hark_err *err);
void stacks_path_fini(struct stacks_path *p);

/* A frame's name; of an empty one "[unknown]". */
const char *stacks_name(const struct stacks_frame *f);

#endif
