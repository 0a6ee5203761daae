/* travel/latest.h - which of several threads touched some bytes last.
 *
 * Records have times (KEY, CALL, ORDER), and so a touch lies in a span: not
 * before the last time stamp in its thread's log, nor after the next one. Spans
 * that do not overlap are in order. If two do, a store is later than another
 * thread's logged load of a different value: had the load come afterwards, it
 * would have logged what was stored; unless a third thread stored in between.
 * In all other cases, and if the store may lie after the moment, turns
 * (record/order.h) decide; they stand where they began, however long they are.
 *
 * For that reason other threads may have gone beyond the moment, too: their
 * turn began before it, so they stand at its end. What such a thread touched
 * last, after the moment, says nothing of it. Then the selected thread's own
 * view is what there is; the view of no other thread is used, for it may be
 * older.
 *
 * What the selected thread has accessed since its last branch, without a time
 * stamp in its log since then, it accessed nanoseconds ago: the value that it
 * saw is right, whatever another thread has stored within the same span.
 *
 * Pure functions. */
#ifndef TRAVEL_LATEST_H
#define TRAVEL_LATEST_H

#include "record/stream.h"

#include <stdbool.h>
#include <stdint.h>

/* When a thread touched some bytes last; or the moment itself. */
struct last_touch {
	int64_t turn; /* -1: it never did */
	uint64_t count, pc;
	unsigned segment;
	bool is_logged;	  /* the log said what memory held */
	bool is_selected; /* the touch is of the selected thread */
	bool is_partial;  /* it is of some of the bytes only */
	/* Its span, by the time stamp counter. to is UINT64_MAX as long as it
	 * is not known. */
	uint64_t from, to;
};

#define LAST_TOUCH_NEVER ((struct last_touch){.turn = -1, .to = UINT64_MAX})

/* A thread's clock, by its records: true if this one has a time stamp. */
bool latest_tick(uint64_t *clock, const struct record_event *e);

/* Is place (count, pc) of a thread at the other one, or after it? Within a
 * count pc only grows (wire/record.h). */
static inline bool latest_is_reached(uint64_t count, uint64_t pc,
				     uint64_t of_count, uint64_t of_pc)
{
	return count > of_count || (count == of_count && pc >= of_pc);
}

/* Of n threads' last touches the latest before the moment `here`, which one;
 * -1: there is none, or it cannot be known. */
int latest_choose(const struct last_touch *all, unsigned n,
		  const struct last_touch *here);

#endif
