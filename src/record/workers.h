/* record/workers.h - many pieces of work, done by processes that may crash.
 *
 * Pieces are numbered from 0. They come in groups of neighbours (the segments
 * of one process, say), and a worker stays with a group as long as it can: it
 * keeps what it learned there. A worker that dies, whatever of, costs only the
 * piece that it was at; another takes its place. Hosted. */
#ifndef RECORD_WORKERS_H
#define RECORD_WORKERS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
	WORKERS_MAX = 256,
	WORKERS_TEXTS = 20,  /* complaints that are kept */
	WORKERS_DEATHS = 64, /* then the rest is given up */
};

struct workers_plan {
	unsigned jobs;		  /* processes at a time */
	unsigned n;		  /* pieces */
	const uint32_t *group_of; /* borrowed: of each piece */
	/* Borrowed: in which order those of a group are done, at the places
	 * that it has; NULL: as they are numbered. */
	const uint32_t *order;
	void *ctx; /* borrowed; handed to all below */
	/* In a new process, before its first piece. */
	int (*begin)(void *ctx, struct hark_err *err);
	/* One piece: 0 and something to be added up; or -1. */
	int (*run)(void *ctx, unsigned piece, uint64_t *sum,
		   struct hark_err *err);
	/* In the caller's process, some times a second; may be NULL. Not 0:
	 * the rest is given up. */
	int (*progress)(void *ctx, unsigned done);
};

struct workers_text {
	unsigned piece;
	enum hark_code code; /* HARK_EGONE: the worker died */
	char text[512];
};

struct workers_result {
	unsigned good, bad;
	unsigned not_done; /* given up, or no worker could begin */
	uint64_t sum;
	unsigned n_texts;
	struct workers_text texts[WORKERS_TEXTS]; /* in order of pieces */
};

/* -1: nothing could be done at all, or it was given up (HARK_ETIME). */
int workers_run(const struct workers_plan *plan, struct workers_result *out,
		struct hark_err *err);

#endif
