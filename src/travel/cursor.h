/* travel/cursor.h - accesses of one thread to a range of memory, or its visits
 * to an address, found piece by piece.
 *
 * A list of all threads has one cursor for each, and takes from the one that is
 * first in the order of turns. A cursor keeps what it has found and not given
 * away yet: a thousand accesses at most, and the log of one segment. It uses
 * the thread's scout (timeline.h), which may be used for other things in
 * between. Hosted. */
#ifndef TRAVEL_CURSOR_H
#define TRAVEL_CURSOR_H

#include "travel/segment_log.h"

enum { FOUND_BYTES = 64 };

struct found {
	struct hit hit;
	unsigned segment;
	struct walker_place place; /* if has_place */
	bool has_place;
	/* Of an access: */
	bool reads_all; /* all bytes that it touches, itself */
	bool is_left;	/* to the CPU: what it found is not in the log */
	/* Bits of bytes that the thread itself knew, before and after. */
	uint64_t own_known, after_known;
	uint8_t own[FOUND_BYTES], after[FOUND_BYTES];
};

/* Callers allocate it; the fields are its own. */
struct cursor {
	struct timeline *t; /* borrowed */
	struct lane *l;	    /* borrowed */
	struct stretch range;
	/* What is looked for; borrowed, or with_returns. */
	const struct stop *stops;
	/* Owned: the stops, and addresses that were seen on top of the stack at
	 * one of the first n_entries. */
	struct stop *with_returns;
	unsigned n_stops, n_entries;

	struct scan_place at;
	int64_t complete_to; /* what is not found yet has no turn before it */
	struct found *found; /* owned */
	unsigned first, n, room;
	bool is_segment_done; /* of at.segment nothing is left */
	bool has_found;	      /* there was something in it */
	bool is_over;	      /* nor of the range */
	bool is_pending;      /* the last one was not executed yet */
	uint64_t last_count, last_pc;
	bool has_last;
	bool no_memory;
	bool wants_log;
	bool has_log;		/* `log` is of at.segment */
	struct segment_log log; /* owned */
	size_t next_fill;
};

/* What a list is of. */
struct cursor_what {
	const struct stop *stops; /* borrowed; an access list has one */
	unsigned n_stops;
	bool wants_log;
	/* The first stops that are functions' first instructions: visits to
	 * where they return are found, too. */
	unsigned n_entries;
};

int cursor_init(struct cursor *c, struct timeline *t, struct lane *l,
		const struct cursor_what *what, const struct stretch *range,
		struct hark_err *err);
void cursor_fini(struct cursor *c);

/* Looks for more, in the next segment that may have any; not far beyond the
 * turn `horizon`. Everything that was found must have been passed. `x`: NULL if
 * there is no index. 1: a segment was looked through in vain. */
int cursor_look(struct cursor *c, int64_t horizon, struct index *x,
		struct hark_err *err);

/* What is next: one that was found, or something that the log filled in before
 * it; or neither. */
const struct log_fill *cursor_fill(const struct cursor *c);
const struct found *cursor_found(const struct cursor *c);
/* It is done with. */
void cursor_pass_fill(struct cursor *c);
void cursor_pass_found(struct cursor *c);
/* The turn of what is next; if that is not known, a turn that it does not come
 * before. INT64_MAX: there is nothing more. */
int64_t cursor_turn(const struct cursor *c);

/* The span of one that was found, if the log was wanted. */
struct last_touch cursor_touch(const struct cursor *c, const struct found *f);

#endif
