/* travel/events.h - what a recorded thread says, from any of its key frames on.
 *
 * The records of a thread, one by one, over the borders of segments. Hosted. */
#ifndef TRAVEL_EVENTS_H
#define TRAVEL_EVENTS_H

#include "engine/replay.h"
#include "record/recording.h"
#include "record/stream.h"

enum { EVENTS_FILLS = 64 };

/* A place before a record. */
struct events_spot {
	unsigned segment;
	uint32_t pieces; /* of the segment that were read */
	size_t offset;	 /* in the last of them */
	struct record_stream records;
};
struct events_mark {
	struct events_spot spot;
	uint64_t n_orders, n_passed;
};

/* Callers allocate it; the fields are its own. */
struct events {
	struct recording *r;	     /* borrowed */
	unsigned segment;	     /* that is read */
	unsigned end;		     /* behind the thread's last */
	struct recording_stream *in; /* owned */
	uint32_t pieces;	     /* that were read of the segment */
	const uint8_t *piece;	     /* the last of them; borrowed */
	struct record_stream records;
	struct record_event next;
	struct events_spot before; /* next */
	int has_next;
	uint64_t n_orders; /* passed since the segment began */
	uint64_t n_passed; /* of all kinds; its KEY is the first */
	/* Fills that were read ahead, and come before next. */
	unsigned first, n;
	struct replay_fill fills[EVENTS_FILLS];
	uint8_t bytes[EVENTS_FILLS][WIRE_GRANULE];
	struct events_spot spots[EVENTS_FILLS];
	struct record_event fill; /* the first of them */
};

/* The first record is then the KEY of segment i (a START is passed over); `end`
 * is behind the thread's last segment. */
int events_open(struct events *e, struct recording *r, unsigned i, unsigned end,
		struct hark_err *err);
void events_close(struct events *e);
/* Where it is; and from there on once more. */
void events_mark(const struct events *e, struct events_mark *out);
int events_open_at(struct events *e, struct recording *r,
		   const struct events_mark *mark, unsigned end,
		   struct hark_err *err);
/* The next one, which stays: 1; 0: there are no more; -1: damaged. Its bytes
 * live until events_pass. */
int events_peek(struct events *e, const struct record_event **out,
		struct hark_err *err);
/* It is done with. */
void events_pass(struct events *e);
/* If fills of the shadow come next: as many as there are below this count (or
 * as is convenient), for replay_run_fills. They stay; those that are done with
 * are to be passed. */
int events_fills(struct events *e, uint64_t count,
		 const struct replay_fill **out, unsigned *n,
		 struct hark_err *err);

#endif
