/* travel/newest.c - which thread knows best what is at an address.
 *
 * Several threads have touched it and do not agree. The one is right that did
 * so last: by an instruction, which a scout looks for, or because the log said
 * what memory held, which the records tell without a replay.
 *
 * Who was last? Records have times (KEY, CALL, ORDER), and so a touch lies in a
 * span: not before the last time that its thread has told, nor behind the next
 * one. Spans that do not meet are in order. Of two that do, a store is later
 * than what the other thread was told of memory: had it been told afterwards,
 * it would know what was stored; unless a third one has stored in between. In
 * all other cases, and if the store may lie behind the moment, turns decide;
 * they stand where they began, however long they are.
 *
 * For that reason others may have gone beyond the moment, too: their turn began
 * before it, so they stand at its end. What such a lane touched last, behind
 * the moment, says nothing of it. Then the selected thread's own view is what
 * there is; the view of no other thread is used, for it may be older.
 *
 * What the selected thread has accessed since its last branch, without a time
 * stamp in its log since then, it accessed nanoseconds ago: the value that it
 * saw is right, whatever another thread has stored within the same span. */
#include "travel/timeline.h"

#include "travel/events.h"

#include <errno.h>
#include <stdlib.h>

enum { WORD = 8 };

/* When a lane touched a word. */
struct touch {
	int64_t turn; /* -1: it never did */
	unsigned segment;
	uint64_t count, pc;
	int is_told; /* by the log, what it is */
	int is_selected;
	/* By the time stamp counter, when its span is known: */
	uint64_t from, to;
};

static const struct touch never = {.turn = -1, .to = UINT64_MAX};

/* A thread's clock, by its records: true if this one has told the time. */
static int tick(uint64_t *clock, const struct record_event *e)
{
	if (e->type == WIRE_REC_KEY)
		*clock = e->key.tsc;
	else if (e->type == WIRE_REC_CALL)
		*clock += e->call.ticks;
	else if (e->type == WIRE_REC_ORDER)
		*clock += e->order.ticks;
	else
		return 0;
	return 1;
}

/* The last one of the first n records of a segment that speaks of the index.
 * What was found in memory has the time that was told right before; what was
 * kept over a key was known before. */
static struct touch fill_touch(struct timeline *t, struct lane *l,
			       unsigned segment, uint32_t index, uint64_t n,
			       struct hark_err *err)
{
	uint64_t turns = order_turns_before(t->order, segment), clock = 0;
	const struct record_event *e;
	struct touch found = never;
	struct events events;
	int was_seen = 0;

	found.segment = segment;
	if (events_open(&events, t->rec->r, segment, segment + 1, err) < 0)
		return found;
	while (n-- > 0 && events_peek(&events, &e, err) > 0) {
		int is_fill =
		    e->type == WIRE_REC_GRANULE ||
		    (e->type == WIRE_REC_BYTES && !(e->info & WIRE_BYTES_KEPT));

		tick(&clock, e);
		turns += e->type == WIRE_REC_ORDER;
		if (is_fill &&
		    (uint32_t)(index - (uint32_t)e->index) < e->len &&
		    turns > 0 && turns <= l->n_turns) {
			found.turn = l->turns[turns - 1];
			found.count = e->count;
			found.pc = e->pc;
			found.is_told = 1;
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
static struct touch touched_last(struct timeline *t, struct lane *l,
				 const struct walker_place *end, uint64_t word,
				 unsigned on, struct hark_err *err)
{
	const struct stop what = {
	    .kind = HARK_STOP_WATCH, .address = word, .len = WORD, .on = on};
	const struct stretch range = {0, 0, end->count, end->step, 0};
	struct touch touch = never;
	struct hit hit = {0};
	struct walker *w;

	if (travel_scan_last(t, l, &range, &what, 1, &hit, err) <= 0)
		return never;
	w = travel_scout(t, l, err);
	if (w == NULL || walker_goto_pc(w, hit.count, hit.pc, err) < 0)
		return never;
	touch.turn = travel_turn_of(t, l, w);
	touch.segment = walker_segment(w);
	touch.count = hit.count;
	touch.pc = hit.pc;
	return touch;
}

/* By the log, from segment `last` on and before: of that one it is known. */
static struct touch told_last(struct timeline *t, struct lane *l,
			      struct touch last, uint64_t word,
			      struct hark_err *err)
{
	uint32_t index = (uint32_t)(word + WIRE_SHADOW_SKEW);
	struct index *x = travel_index(t, last.segment - l->first, err);
	unsigned i = last.segment;

	while (last.turn < 0 && i > l->first) {
		i--;
		if (x == NULL || index_may(x, i, INDEX_READ, word, WORD))
			last = fill_touch(t, l, i, index, UINT64_MAX, err);
	}
	return last;
}

/* Within a count pc only grows (wire/record.h). */
static int is_at_or_behind(uint64_t count, uint64_t pc, uint64_t of_count,
			   uint64_t of_pc)
{
	return count > of_count || (count == of_count && pc >= of_pc);
}

static int is_behind(struct touch a, struct touch b)
{
	return a.turn >= 0 && (b.turn < 0 || a.segment > b.segment ||
			       (a.segment == b.segment &&
				is_at_or_behind(a.count, a.pc, b.count, b.pc)));
}

/* -- Times -- */

/* Between which times of its thread a touch lies, unless that is known. */
static int find_span(struct timeline *t, const struct lane *l, struct touch *a,
		     struct hark_err *err)
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
		int has_time = tick(&clock, e);

		n_keys += e->type == WIRE_REC_KEY;
		if (has_time &&
		    (n_keys > 1 ||
		     !is_at_or_behind(a->count, a->pc, e->count, e->pc))) {
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
static struct touch now(const struct timeline *t)
{
	const struct lane *l = &t->lanes[t->selected];
	struct touch here = {.segment = l->first,
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

static struct touch last_touch(struct timeline *t, struct lane *l,
			       struct walker *at, uint64_t word,
			       struct hark_err *err)
{
	uint32_t index = (uint32_t)(word + WIRE_SHADOW_SKEW);
	struct touch touched, stored, told = never;
	struct walker_place end;

	told.segment = walker_segment(at);
	if (l == &t->lanes[t->selected])
		end = t->here;
	else if (walker_place(at, &end, err) < 0)
		return never;
	touched =
	    touched_last(t, l, &end, word, HARK_ON_READ | HARK_ON_WRITE, err);
	/* In a window the walker is further on: then it is a guess too many. */
	if (l != &t->lanes[t->selected] || t->in_window < 0)
		told = fill_touch(t, l, told.segment, index, walker_passed(at),
				  err);
	told = told_last(t, l, told, word, err);
	if (!is_behind(touched, told))
		return told;
	/* What it read is what it was told, but for its own stores. */
	if (told.turn >= 0) {
		stored = touched_last(t, l, &end, word, HARK_ON_WRITE, err);
		touched.is_told = !is_behind(stored, told);
	}
	return touched;
}

/* May it lie behind the moment? */
static int may_be_behind(const struct touch *a, const struct touch *here)
{
	return a->to > here->to && !a->is_selected;
}

/* All lanes' last touches; .turn < 0: none. */
struct touches {
	struct touch *of; /* owned */
	unsigned n;
};

/* Has a third one stored between the two, by their turns? Then what was told is
 * what that one has left, and need not be older than the store. */
static int is_explained(const struct touches *all, const struct touch *told,
			const struct touch *store)
{
	for (const struct touch *u = all->of; u < all->of + all->n; u++)
		if (u != told && u != store && !u->is_told &&
		    u->turn > store->turn && u->turn <= told->turn)
			return 1;
	return 0;
}

static int is_later(const struct touches *all, const struct touch *a,
		    const struct touch *b, const struct touch *here)
{
	const struct touch *told = a->is_told ? a : b;
	const struct touch *store = a->is_told ? b : a;

	if (a->from > b->to)
		return 1;
	if (b->from > a->to)
		return 0;
	if (a->is_told != b->is_told && !may_be_behind(store, here) &&
	    !is_explained(all, told, store))
		return a == store;
	return a->turn > b->turn;
}

static int find_touches(struct timeline *t, struct walker **at, uint64_t word,
			struct touches *out, struct hark_err *err)
{
	out->n = t->n_lanes;
	out->of = calloc(t->n_lanes, sizeof *out->of);
	if (out->of == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct touch *last = &out->of[i];

		*last = at[i] == NULL
			    ? never
			    : last_touch(t, &t->lanes[i], at[i], word, err);
		last->is_selected = i == t->selected;
		if (err->code != HARK_OK ||
		    (last->turn >= 0 &&
		     find_span(t, &t->lanes[i], last, err) < 0))
			return -1;
	}
	return 0;
}

/* By the selected thread, nanoseconds before the moment? */
static int is_just_now(const struct touch *a, const struct touch *here)
{
	return a->is_selected && a->turn >= 0 && a->segment == here->segment &&
	       a->count == here->count && a->from == here->from;
}

/* The lane; -1: none, or one cannot tell. */
static int choose(const struct touches *all, const struct touch *here)
{
	const struct touch *best = NULL;
	int has_gone_on = 0;

	for (const struct touch *a = all->of; a < all->of + all->n; a++) {
		if (a->turn < 0)
			continue;
		if (is_just_now(a, here))
			return (int)(a - all->of);
		if (!a->is_selected && a->from > here->to)
			has_gone_on = 1;
		else if (best == NULL || is_later(all, a, best, here))
			best = a;
	}
	if (best == NULL || (has_gone_on && !best->is_selected))
		return -1;
	return (int)(best - all->of);
}

int travel_newest(struct timeline *t, struct walker **at, uint64_t address,
		  struct hark_err *err)
{
	uint64_t word = address & ~(uint64_t)(WORD - 1);
	struct newest *n = &t->newest[word / WORD % TRAVEL_NEWEST];
	struct touch here = now(t);
	struct touches all = {0};

	if (n->is_set && n->word == word && n->selected == t->selected &&
	    n->count == t->here.count && n->step == t->here.step)
		return n->lane;
	*n = (struct newest){word, t->here.count, t->here.step, t->selected, -1,
			     1};
	if (find_span(t, &t->lanes[t->selected], &here, err) == 0 &&
	    find_touches(t, at, word, &all, err) == 0)
		n->lane = choose(&all, &here);
	free(all.of);
	return err->code == HARK_OK ? n->lane : -1;
}
