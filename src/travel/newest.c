/* travel/newest.c - which thread knows best what is at an address.
 *
 * Several threads have touched it and do not agree. The one is right that did
 * so last, in the order of turns: by an instruction, which a scout looks for,
 * or because the log said what memory held, which the records tell without a
 * replay. */
#include "travel/timeline.h"

#include "travel/events.h"

enum { WORD = 8 };

/* The turn in which the first n records of a segment last spoke of the index;
 * -1: they never did. */
static int64_t fill_turn(struct hark_timeline *t, struct lane *l,
			 unsigned segment, uint32_t index, uint64_t n,
			 struct hark_err *err)
{
	uint64_t turns = order_turns_before(t->order, segment);
	const struct record_event *e;
	struct events events;
	int64_t found = -1;

	if (events_open(&events, t->rec->r, segment, segment + 1, err) < 0)
		return -1;
	while (n-- > 0 && events_peek(&events, &e, err) > 0) {
		turns += e->type == WIRE_REC_ORDER;
		if ((e->type == WIRE_REC_GRANULE ||
		     e->type == WIRE_REC_BYTES) &&
		    (uint32_t)(index - (uint32_t)e->index) < e->len &&
		    turns > 0 && turns <= l->n_turns)
			found = l->turns[turns - 1];
		events_pass(&events);
	}
	events_close(&events);
	return found;
}

/* The turn in which the lane last touched the word; -1: it never did. */
static int64_t touch_turn(struct hark_timeline *t, struct lane *l,
			  const struct walker_place *end, uint64_t word,
			  struct hark_err *err)
{
	const struct stop what = {.kind = HARK_STOP_WATCH,
				  .address = word,
				  .len = WORD,
				  .on = HARK_ON_READ | HARK_ON_WRITE};
	const struct stretch range = {0, 0, end->count, end->step, 0};
	struct hit hit = {0};
	struct walker *w;

	if (travel_scan_last(t, l, &range, &what, 1, &hit, err) <= 0)
		return -1;
	w = travel_scout(t, l, err);
	if (w == NULL || walker_goto_pc(w, hit.count, hit.pc, err) < 0)
		return -1;
	return travel_turn_of(t, l, w);
}

static int64_t last_turn(struct hark_timeline *t, struct lane *l,
			 struct walker *at, uint64_t word, struct hark_err *err)
{
	uint32_t index = (uint32_t)(word + WIRE_SHADOW_SKEW);
	struct walker_place end;
	struct index *x;
	int64_t touched, told = -1;

	if (l == &t->lanes[t->selected])
		end = t->here;
	else if (walker_place(at, &end, err) < 0)
		return -1;
	touched = touch_turn(t, l, &end, word, err);
	/* In a window the walker is further on: then it is a guess too many. */
	if (l != &t->lanes[t->selected] || t->in_window < 0)
		told = fill_turn(t, l, walker_segment(at), index,
				 walker_passed(at), err);
	x = travel_index(t, walker_segment(at) - l->first, err);
	for (unsigned s = walker_segment(at); told < 0 && s-- > l->first;)
		if (x == NULL || index_may(x, s, INDEX_READ, word, WORD))
			told = fill_turn(t, l, s, index, UINT64_MAX, err);
	return touched > told ? touched : told;
}

int travel_newest(struct hark_timeline *t, struct walker **at, uint64_t address,
		  struct hark_err *err)
{
	uint64_t word = address & ~(uint64_t)(WORD - 1);
	struct newest *n = &t->newest[word / WORD % TRAVEL_NEWEST];
	int64_t best = -1;

	if (n->is_set && n->word == word && n->selected == t->selected &&
	    n->count == t->here.count && n->step == t->here.step)
		return n->lane;
	*n = (struct newest){word, t->here.count, t->here.step, t->selected, -1,
			     1};
	for (unsigned i = 0; i < t->n_lanes; i++) {
		int64_t turn = at[i] == NULL ? -1
					     : last_turn(t, &t->lanes[i], at[i],
							 word, err);

		if (err->code != HARK_OK)
			return -1;
		if (turn > best) {
			best = turn;
			n->lane = (int)i;
		}
	}
	return n->lane;
}
