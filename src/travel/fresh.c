/* travel/fresh.c - memory that is not what it was.
 *
 * When something is mapped, unmapped or emptied, what threads know of the range
 * is of the past. In the thread that did so that is at its system call; in any
 * other where its next turn begins, for what it touches before that comes
 * before, and what it touches from there on, behind:
 *
 *	A	--- turn 3 -- munmap -- mmap --- turn 6 ---
 *	B	-- turn 2 ---------------- turn 5 ---
 *	                                   ^ forgets
 *
 * So walkers forget on their way (walker_forget), wherever they come from.
 *
 * F1  Events stand in the order of turns and, in a turn, of places. All that is
 *     past at a moment is the first so many of them.
 * F2  Of all that are past and have to do with a byte only the last counts.
 * F3  A thread that stands before its next turn has not forgotten yet what
 *     others did since its last one began (travel_fresh_is_unseen).
 * F4  Of what a thread knew at the end of an earlier segment all is forgotten
 *     if the event is in a later one (travel_fresh_segment).
 *
 * Recordings of before pc was in MAP and UNMAP have no events. */
#include "travel/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BITS = 12, N_PAGES = 1 << 20 };

struct fresh {
	struct fresh_event *events; /* owned; F1 */
	size_t n, room;
	uint8_t any[N_PAGES / 8]; /* some event has this page of the shadow */
	/* Of the moment: */
	size_t n_past;
	uint64_t page; /* last asked for; UINT64_MAX: none */
	const struct fresh_event *of_page;
};

/* -- Places -- */

/* Of one thread. In a count pc only grows, and not by gigabytes. */
static int compare(uint64_t count, uint32_t pc, uint64_t other_count,
		   uint32_t other_pc)
{
	if (count != other_count)
		return count < other_count ? -1 : 1;
	return pc == other_pc ? 0 : (int32_t)(pc - other_pc) < 0 ? -1 : 1;
}

/* The turn that a place of the lane is in. */
static int64_t turn_at(const struct timeline *t, const struct lane *l,
		       uint64_t count, uint32_t pc)
{
	uint32_t low = 0, high = l->n_turns;

	if (t->order == NULL)
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct order_turn *turn =
		    order_turn(t->order, l->turns[middle]);

		if (compare(turn->count, (uint32_t)turn->pc, count, pc) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? -1 : (int64_t)l->turns[low - 1];
}

/* How many of the lane's turns are not behind this one. */
static uint32_t turns_up_to(const struct lane *l, int64_t turn)
{
	uint32_t low = 0, high = l->n_turns;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((int64_t)l->turns[middle] <= turn)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* -- Events -- */

struct loading {
	struct timeline *t;
	struct fresh *f;
};

static int add(struct fresh *f, const struct fresh_event *e,
	       struct hark_err *err)
{
	if (f->n == f->room) {
		size_t room = f->room == 0 ? 64 : 2 * f->room;
		struct fresh_event *more =
		    reallocarray(f->events, room, sizeof *more);

		if (more == NULL)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
		f->events = more;
		f->room = room;
	}
	f->events[f->n++] = *e;
	return 0;
}

static void mark_pages(struct fresh *f, uint64_t start, uint64_t end)
{
	uint64_t first = start >> PAGE_BITS, n = (end >> PAGE_BITS) - first;

	for (uint64_t i = 0; i < n && i < N_PAGES; i++) {
		uint64_t page = (first + i) % N_PAGES;

		f->any[page / 8] |= (uint8_t)(1u << page % 8);
	}
}

static int see_change(void *ctx, const struct maps_change *c,
		      struct hark_err *err)
{
	struct loading *in = ctx;
	struct lane *l = travel_lane(in->t, c->thread);
	struct fresh_event e = {.start = c->start,
				.end = c->end,
				.count = c->count,
				.thread = c->thread,
				.pc = c->pc};

	if (l == NULL || c->pc == 0)
		return 0;
	e.turn = turn_at(in->t, l, c->count, c->pc);
	mark_pages(in->f, c->start, c->end);
	return add(in->f, &e, err);
}

static int by_turn(const void *a, const void *b)
{
	const struct fresh_event *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return compare(x->count, x->pc, y->count, y->pc);
}

int travel_find_fresh(struct timeline *t, struct hark_err *err)
{
	struct fresh *f = calloc(1, sizeof *f);
	struct loading in = {t, f};

	if (f == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	t->fresh = f;
	f->page = UINT64_MAX;
	if (maps_changes(t->maps, see_change, &in, err) < 0)
		return -1;
	if (f->n > 0)
		qsort(f->events, f->n, sizeof *f->events, by_turn);
	return 0;
}

void travel_fresh_free(struct fresh *f)
{
	if (f == NULL)
		return;
	free(f->events);
	free(f);
}

/* How many come before this place of a turn. */
static size_t events_before(const struct fresh *f, int64_t turn, uint64_t count,
			    uint32_t pc)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct fresh_event *e = &f->events[middle];

		if (e->turn < turn || (e->turn == turn &&
				       compare(e->count, e->pc, count, pc) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* -- Walkers forget -- */

static void forget_own(struct timeline *t, const struct lane *l,
		       struct walker *w, const struct record_event *e)
{
	const struct fresh *f = t->fresh;
	uint32_t pc = (uint32_t)e->pc;
	int64_t turn = turn_at(t, l, e->count, pc);

	for (size_t i = events_before(f, turn, e->count, pc);
	     i < f->n && f->events[i].turn == turn &&
	     f->events[i].count == e->count && f->events[i].pc == pc;
	     i++)
		walker_forget(w, f->events[i].start, f->events[i].end);
}

/* The same place is mapped and unmapped again and again: has one of the last
 * few events behind a turn had it already? */
static int is_again(const struct fresh *f, size_t i, int64_t turn)
{
	enum { LAST = 16 };
	const struct fresh_event *e = &f->events[i];

	for (unsigned k = 1; k <= LAST && k <= i; k++) {
		const struct fresh_event *before = e - k;

		if (before->turn <= turn)
			break;
		if (before->start <= e->start && before->end >= e->end)
			return 1;
	}
	return 0;
}

/* A turn has begun: what was done since the one before, by others. */
static void forget_others(struct timeline *t, const struct lane *l,
			  struct walker *w)
{
	const struct fresh *f = t->fresh;
	uint64_t k;
	int64_t last, now;

	if (t->order == NULL)
		return;
	k = order_turns_before(t->order, walker_segment(w)) +
	    walker_turns_begun(w);
	if (k == 0 || k > l->n_turns)
		return;
	now = l->turns[k - 1];
	last = k > 1 ? (int64_t)l->turns[k - 2] : -1;
	for (size_t i = events_before(f, last + 1, 0, 0);
	     i < f->n && f->events[i].turn < now; i++)
		if (!is_again(f, i, last))
			walker_forget(w, f->events[i].start, f->events[i].end);
}

static int is_of_memory(int32_t call)
{
	switch (call) {
	case 9:	  /* mmap */
	case 11:  /* munmap */
	case 12:  /* brk */
	case 25:  /* mremap */
	case 28:  /* madvise */
	case 30:  /* shmat */
	case 67:  /* shmdt */
	case 216: /* remap_file_pages */
		return 1;
	default:
		return 0;
	}
}

static void see_record(void *ctx, struct walker *w,
		       const struct record_event *e)
{
	struct lane *l = ctx;

	if (e->type == WIRE_REC_ORDER)
		forget_others(l->of, l, w);
	else if (e->type == WIRE_REC_CALL && is_of_memory(e->call.number))
		forget_own(l->of, l, w, e);
}

void travel_forget_along(struct timeline *t, struct lane *l, struct walker *w)
{
	l->of = t;
	if (t->fresh != NULL && t->fresh->n > 0)
		walker_on_pass(w, see_record, l);
}

/* -- The moment -- */

void travel_fresh_at(struct timeline *t, int64_t turn)
{
	struct fresh *f = t->fresh;

	f->n_past = events_before(f, turn, t->here.count, (uint32_t)t->here.pc);
	f->page = UINT64_MAX;
}

/* F2 */
static const struct fresh_event *last_of(const struct fresh *f,
					 uint64_t address, uint64_t mask)
{
	for (size_t i = f->n_past; i-- > 0;) {
		const struct fresh_event *e = &f->events[i];

		if (((address - e->start) & mask) < e->end - e->start)
			return e;
	}
	return NULL;
}

static int has_any(const struct fresh *f, uint64_t address)
{
	uint64_t page = address >> PAGE_BITS & (N_PAGES - 1);

	return f->any[page / 8] >> page % 8 & 1;
}

const struct fresh_event *travel_fresh_of_index(struct timeline *t,
						uint64_t address)
{
	struct fresh *f = t->fresh;

	if (!has_any(f, address))
		return NULL;
	if (f->page != address >> PAGE_BITS) {
		f->page = address >> PAGE_BITS;
		f->of_page = last_of(f, address, UINT32_MAX);
	}
	return f->of_page;
}

const struct fresh_event *travel_fresh_of(struct timeline *t, uint64_t address)
{
	const struct fresh_event *e = travel_fresh_of_index(t, address);

	return e == NULL || travel_fresh_has(e, address)
		   ? e
		   : last_of(t->fresh, address, UINT64_MAX);
}

int travel_fresh_is_past(const struct timeline *t, const struct fresh_event *e)
{
	return (size_t)(e - t->fresh->events) < t->fresh->n_past;
}

/* -- An event, and a thread -- */

int travel_fresh_is_unseen(const struct timeline *t, const struct lane *l,
			   const struct walker *at, const struct fresh_event *e)
{
	uint64_t k;

	if (t->order == NULL || e->thread == l->about.number ||
	    l == &t->lanes[t->selected])
		return 0;
	k = order_turns_before(t->order, walker_segment(at)) +
	    walker_turns_begun(at);
	if (k > l->n_turns)
		k = l->n_turns;
	return k == 0 || e->turn > (int64_t)l->turns[k - 1];
}

const struct fresh_event *travel_fresh_event(const struct timeline *t, size_t i)
{
	return i < t->fresh->n ? &t->fresh->events[i] : NULL;
}

int travel_fresh_is_before(const struct fresh_event *e, int64_t turn,
			   uint64_t count, uint64_t pc)
{
	return e->turn < turn ||
	       (e->turn == turn &&
		compare(e->count, e->pc, count, (uint32_t)pc) < 0);
}

int travel_fresh_is_behind(const struct timeline *t, const struct lane *l,
			   uint64_t count, uint64_t pc,
			   const struct fresh_event *e)
{
	const struct order_turn *turn;
	uint32_t next;

	if (t->order == NULL || e->thread == l->about.number)
		return compare(count, (uint32_t)pc, e->count, e->pc) < 0;
	next = turns_up_to(l, e->turn);
	if (next == l->n_turns)
		return 1;
	turn = order_turn(t->order, l->turns[next]);
	return compare(count, (uint32_t)pc, turn->count, (uint32_t)turn->pc) <
	       0;
}

static uint32_t key_pc(struct timeline *t, unsigned segment,
		       struct hark_err *err)
{
	const struct record_event *e;
	struct events events;
	uint32_t pc = 0;

	if (events_open(&events, t->rec->r, segment, segment + 1, err) < 0)
		return 0;
	if (events_peek(&events, &e, err) > 0)
		pc = (uint32_t)e->pc;
	events_close(&events);
	return pc;
}

/* The lane's segment that a place is in: a key frame may stand in the middle of
 * a count. */
static unsigned segment_at(struct timeline *t, const struct lane *l,
			   uint64_t count, uint32_t pc, struct hark_err *err)
{
	struct recording *r = t->rec->r;
	unsigned low = l->first, high = l->end;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (recording_segment(r, middle)->count <= count)
			low = middle;
		else
			high = middle;
	}
	while (low > l->first && recording_segment(r, low)->count == count &&
	       compare(count, key_pc(t, low, err), count, pc) > 0)
		low--;
	return low;
}

/* The segment that the lane's turn number k (from 0) begins in. */
static unsigned segment_of_turn(const struct timeline *t, const struct lane *l,
				uint32_t k)
{
	unsigned low = l->first, high = l->end;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (order_turns_before(t->order, middle) <= k)
			low = middle;
		else
			high = middle;
	}
	return low;
}

unsigned travel_fresh_segment(struct timeline *t, struct lane *l,
			      const struct fresh_event *e, uint64_t *count,
			      struct hark_err *err)
{
	uint32_t k;

	*count = l->fresh_count;
	if (e == l->fresh)
		return l->fresh_segment;
	l->fresh_count = e->count;
	if (t->order == NULL || e->thread == l->about.number) {
		l->fresh_segment = segment_at(t, l, e->count, e->pc, err);
	} else {
		k = turns_up_to(l, e->turn);
		l->fresh_segment =
		    k < l->n_turns ? segment_of_turn(t, l, k) : l->end;
		if (k < l->n_turns)
			l->fresh_count =
			    order_turn(t->order, l->turns[k])->count;
	}
	*count = l->fresh_count;
	l->fresh = e;
	return l->fresh_segment;
}
