/* probe/output.h - records become lines, as DTrace prints them.
 *
 *	   TID     ID                    FUNCTION:NAME
 *	  4711      3                     malloc:entry 16
 *
 * Entries are shown in the order in which records come; those that ask
 * something of hark (printa, clear, trunc, normalize, exit, system, freopen)
 * are done then. What a target says is believed nowhere. Hosted. */
#ifndef PROBE_OUTPUT_H
#define PROBE_OUTPUT_H

#include "probe/board.h"
#include "probe/flow.h"

#include <stdbool.h>
#include <stdio.h>

struct output;

struct output_site {
	const char *function, *name; /* borrowed */
	enum flow_kind kind;
};

/* All borrowed. */
struct output_plan {
	const struct probe_program *program;
	struct board *board;
	const struct output_site *sites;
	size_t n_sites;
	FILE *out;
	bool quiet, flowindent;
	struct show_order order;
	/* As in struct show. */
	void (*name)(void *ctx, enum probe_kind how, uint64_t addr, char *out,
		     size_t size);
	void *name_ctx;
	/* system(). */
	int (*run)(void *ctx, const char *command, struct hark_err *err);
	/* A clause has failed. */
	int (*fault)(void *ctx, const struct board_record *r,
		     struct hark_err *err);
	void *ctx;
};

int output_new(const struct output_plan *p, struct output **out,
	       struct hark_err *err);
void output_free(struct output *o);

/* For board_drain(): ctx is the output. Records behind an exit() are counted,
 * not shown. */
int output_record(void *ctx, const struct board_record *r,
		  struct hark_err *err);
/* What was put out is written. */
int output_flush(struct output *o, struct hark_err *err);

/* Has a clause called exit()? *status is its argument. */
bool output_has_exit(const struct output *o, int *status);
/* END is to be shown all the same: from here on. */
void output_after_exit(struct output *o);

/* Aggregations that no printa() has shown. */
int output_rest(struct output *o, struct hark_err *err);

struct output_totals {
	uint64_t bytes;	  /* of records, seen so far */
	uint64_t late;	  /* records behind exit() */
	uint64_t damaged; /* that were not what they should be */
};
struct output_totals output_totals(const struct output *o);

/* A file to append to, which only its owner can read if it is new. */
FILE *output_open(const char *path, bool replace, struct hark_err *err);

#endif
