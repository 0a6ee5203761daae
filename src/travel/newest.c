/* travel/newest.c - which thread knows best what is at an address.
 *
 * Several threads have touched it and do not agree. The one is right that did
 * so last: by an instruction, which a scout looks for, or because the log said
 * what memory held, which the records tell without a replay. latest.h says how
 * touches of different threads are put in order. */
#include "travel/timeline.h"

#include "travel/events.h"
#include "travel/latest.h"

#include <errno.h>
#include <stdlib.h>

enum { WORD = 8 };

/* A word, or a byte. */
struct bytes_of {
	uint64_t address;
	uint32_t len;
};

/* The last one of the first n records of a segment that speaks of the index.
 * What was found in memory has the time that was told right before; what was
 * kept over a key was known before. */
static struct last_touch fill_touch(struct timeline *t, struct lane *l,
				    unsigned segment, uint32_t index,
				    uint32_t len, uint64_t n,
				    struct hark_err *err)
{
	uint64_t turns = order_turns_before(t->order, segment), clock = 0;
	const struct record_event *e;
	struct last_touch found = LAST_TOUCH_NEVER;
	struct events events;
	int was_seen = 0;

	found.segment = segment;
	if (events_open(&events, t->rec->r, segment, segment + 1, err) < 0)
		return found;
	while (n-- > 0 && events_peek(&events, &e, err) > 0) {
		const int is_fill =
		    e->type == WIRE_REC_GRANULE ||
		    (e->type == WIRE_REC_BYTES && !(e->info & WIRE_BYTES_KEPT));
		uint32_t skip = index - (uint32_t)e->index;
		int is_here =
		    is_fill && (skip < e->len ||
				(uint32_t)((uint32_t)e->index - index) < len);

		latest_tick(&clock, e);
		turns += e->type == WIRE_REC_ORDER;
		if (is_here && turns > 0 && turns <= l->n_turns) {
			found.turn = l->turns[turns - 1];
			found.count = e->count;
			found.pc = e->pc;
			found.is_logged = 1;
			found.is_partial =
			    skip >= e->len || e->len - skip < len;
			found.from = clock;
			found.to = was_seen ? clock : UINT64_MAX;
		}
		was_seen = e->type == WIRE_REC_ORDER &&
			   e->order.line == WIRE_ORDER_SEEN;
		events_pass(&events);
	}
	events_close(&events);
	return found;
}

/* By an instruction, the last time. */
static struct last_touch touched_last(struct timeline *t, struct lane *l,
				      const struct walker_place *end,
				      const struct bytes_of *b, unsigned on,
				      struct hark_err *err)
{
	const struct stop what = {.kind = HARK_STOP_WATCH,
				  .address = b->address,
				  .len = b->len,
				  .on = on};
	const struct stretch range = {0, 0, end->count, end->step, 0};
	struct last_touch touch = LAST_TOUCH_NEVER;
	struct hit hit = {0};
	struct walker *w;

	if (travel_scan_last(t, l, &range, &what, 1, &hit, err) <= 0)
		return LAST_TOUCH_NEVER;
	w = travel_scout(t, l, err);
	if (w == NULL || walker_goto_pc(w, hit.count, hit.pc, err) < 0)
		return LAST_TOUCH_NEVER;
	touch.turn = travel_turn_of(t, l, w);
	touch.segment = walker_segment(w);
	touch.count = hit.count;
	touch.pc = hit.pc;
	touch.is_partial = hit.address > b->address ||
			   hit.address + hit.size < b->address + b->len;
	return touch;
}

/* By the log, from segment `last` on and before: of that one it is known. */
static struct last_touch told_last(struct timeline *t, struct lane *l,
				   struct last_touch last,
				   const struct bytes_of *b,
				   struct hark_err *err)
{
	uint32_t index = (uint32_t)(b->address + WIRE_SHADOW_SKEW);
	struct index *x = travel_index(t, last.segment - l->first, err);
	unsigned i = last.segment;

	while (last.turn < 0 && i > l->first) {
		i--;
		if (x == NULL ||
		    index_may(x, i, INDEX_READ, b->address, b->len))
			last =
			    fill_touch(t, l, i, index, b->len, UINT64_MAX, err);
	}
	return last;
}

static int is_behind(struct last_touch a, struct last_touch b)
{
	return a.turn >= 0 &&
	       (b.turn < 0 || a.segment > b.segment ||
		(a.segment == b.segment &&
		 latest_is_reached(a.count, a.pc, b.count, b.pc)));
}

/* -- Times -- */

/* Between which times of its thread a touch lies, unless that is known. */
static int find_span(struct timeline *t, const struct lane *l,
		     struct last_touch *a, struct hark_err *err)
{
	unsigned end = a->segment + 2 < l->end ? a->segment + 2 : l->end;
	const struct record_event *e;
	struct events events;
	uint64_t clock = 0;
	int rc = 0, n_keys = 0;

	if (a->to != UINT64_MAX)
		return 0;
	if (events_open(&events, t->rec->r, a->segment, end, err) < 0)
		return -1;
	while ((rc = events_peek(&events, &e, err)) > 0) {
		int has_time = latest_tick(&clock, e);

		n_keys += e->type == WIRE_REC_KEY;
		if (has_time &&
		    (n_keys > 1 ||
		     !latest_is_reached(a->count, a->pc, e->count, e->pc))) {
			a->to = clock;
			break;
		}
		if (has_time)
			a->from = clock;
		events_pass(&events);
	}
	events_close(&events);
	return rc < 0 ? -1 : 0;
}

/* The selected thread, now. */
static struct last_touch now(const struct timeline *t)
{
	const struct lane *l = &t->lanes[t->selected];
	struct last_touch here = {.segment = l->first,
				  .count = t->here.count,
				  .pc = t->here.pc,
				  .is_selected = 1,
				  .to = UINT64_MAX};

	while (here.segment + 1 < l->end &&
	       recording_segment(t->rec->r, here.segment + 1)->count <=
		   here.count)
		here.segment++;
	return here;
}

/* -- Who was last -- */

static struct last_touch last_touch(struct timeline *t, struct lane *l,
				    struct walker *at, const struct bytes_of *b,
				    struct hark_err *err)
{
	uint32_t index = (uint32_t)(b->address + WIRE_SHADOW_SKEW);
	struct last_touch touched, stored, told = LAST_TOUCH_NEVER;
	struct walker_place end;

	told.segment = walker_segment(at);
	if (l == &t->lanes[t->selected])
		end = t->here;
	else if (walker_place(at, &end, err) < 0)
		return LAST_TOUCH_NEVER;
	touched =
	    touched_last(t, l, &end, b, HARK_ON_READ | HARK_ON_WRITE, err);
	/* In a window the walker is further on: then it is a guess too many. */
	if (l != &t->lanes[t->selected] || t->in_window < 0)
		told = fill_touch(t, l, told.segment, index, b->len,
				  walker_passed(at), err);
	told = told_last(t, l, told, b, err);
	if (!is_behind(touched, told))
		return told;
	/* What it read is what it was told, but for its own stores. */
	if (told.turn >= 0) {
		stored = touched_last(t, l, &end, b, HARK_ON_WRITE, err);
		touched.is_logged = !is_behind(stored, told);
		touched.is_partial |= told.is_partial || stored.is_partial;
	}
	return touched;
}

/* All lanes' last touches; .turn < 0: none. */
struct touches {
	struct last_touch *of; /* owned */
	unsigned n;
	bool is_partial; /* one of them */
};

static int find_touches(struct timeline *t, struct walker **at,
			const struct bytes_of *b, struct touches *out,
			struct hark_err *err)
{
	out->n = t->n_lanes;
	out->of = calloc(t->n_lanes, sizeof *out->of);
	if (out->of == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct last_touch *last = &out->of[i];

		*last = at[i] == NULL
			    ? LAST_TOUCH_NEVER
			    : last_touch(t, &t->lanes[i], at[i], b, err);
		last->is_selected = i == t->selected;
		out->is_partial |= last->turn >= 0 && last->is_partial;
		if (err->code != HARK_OK ||
		    (last->turn >= 0 &&
		     find_span(t, &t->lanes[i], last, err) < 0))
			return -1;
	}
	return 0;
}

/* What was found out of these bytes at this moment, in n. */
static int find_newest(struct timeline *t, struct walker **at,
		       const struct bytes_of *b, struct newest *n,
		       struct hark_err *err)
{
	struct last_touch here = now(t);
	struct touches all = {0};

	if (n->address == b->address && n->len == b->len &&
	    n->selected == t->selected && n->count == t->here.count &&
	    n->step == t->here.step)
		return 0;
	*n = (struct newest){.address = b->address,
			     .len = b->len,
			     .selected = t->selected,
			     .count = t->here.count,
			     .step = t->here.step,
			     .lane = -1};
	if (find_span(t, &t->lanes[t->selected], &here, err) == 0 &&
	    find_touches(t, at, b, &all, err) == 0)
		n->lane = latest_choose(all.of, all.n, &here);
	n->is_partial = all.is_partial;
	free(all.of);
	if (err->code != HARK_OK)
		n->len = 0;
	return err->code == HARK_OK ? 0 : -1;
}

/* One search for a word mostly does for all of its bytes. Not where threads
 * have touched parts of it: neighbours that have nothing to do with each other
 * may lie in one word. */
int travel_newest(struct timeline *t, struct walker **at, uint64_t address,
		  struct hark_err *err)
{
	const struct bytes_of word = {address & ~(uint64_t)(WORD - 1), WORD};
	const struct bytes_of byte = {address, 1};
	uint64_t slot = word.address / WORD;
	struct newest *n = &t->newest[slot % TRAVEL_NEWEST];

	if (find_newest(t, at, &word, n, err) < 0)
		return -1;
	if (n->is_partial) {
		slot += 1 + address % WORD;
		n = &t->newest[slot % TRAVEL_NEWEST];
		if (find_newest(t, at, &byte, n, err) < 0)
			return -1;
	}
	return n->lane;
}
