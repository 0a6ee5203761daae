/* travel/cursor.c - accesses of one thread, found piece by piece. */
#include "travel/cursor.h"

#include "travel/touch.h"
#include "x86/decode.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 16, ROOM_MOST = 1024 };

static void *no_memory(struct hark_err *err)
{
	err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	return NULL;
}

/* -- Life -- */

/* So many turns the lane had begun before a segment; the last of them. */
static int64_t turn_before(const struct cursor *c, unsigned segment)
{
	uint64_t k;

	if (c->t->order == NULL)
		return 0;
	k = order_turns_before(c->t->order, segment);
	if (k == 0 || c->l->n_turns == 0)
		return -1;
	return c->l->turns[(k < c->l->n_turns ? k : c->l->n_turns) - 1];
}

int cursor_init(struct cursor *c, struct timeline *t, struct lane *l,
		const struct cursor_what *what, const struct stretch *range,
		struct hark_err *err)
{
	*c = (struct cursor){.t = t,
			     .l = l,
			     .stops = what->stops,
			     .n_stops = what->n_stops,
			     .n_entries = what->n_entries,
			     .range = *range,
			     .wants_log = what->wants_log,
			     .at = {.segment = l->first},
			     .room = ROOM_FIRST};
	c->complete_to = turn_before(c, l->first);
	c->found = calloc(c->room, sizeof *c->found);
	return c->found == NULL && no_memory(err) == NULL ? -1 : 0;
}

void cursor_fini(struct cursor *c)
{
	free(c->found);
	free(c->with_returns);
	segment_log_free(&c->log);
	c->found = NULL;
}

/* -- What is next -- */

const struct found *cursor_found(const struct cursor *c)
{
	const struct log_fill *fill = cursor_fill(c);

	return fill == NULL && c->first < c->n ? &c->found[c->first] : NULL;
}

/* A fill at the place of an access comes before it. Fills of turns that are not
 * complete wait: an access may come before them. */
const struct log_fill *cursor_fill(const struct cursor *c)
{
	const struct found *f = c->first < c->n ? &c->found[c->first] : NULL;
	const struct log_fill *fill;

	if (!c->has_log || c->next_fill == c->log.n_fills)
		return NULL;
	fill = &c->log.fills[c->next_fill];
	if (f != NULL)
		return latest_is_reached(f->hit.count, f->hit.pc,
					 fill->touch.count, fill->touch.pc)
			   ? fill
			   : NULL;
	return c->is_segment_done || fill->touch.turn < c->complete_to ? fill
								       : NULL;
}

void cursor_pass_fill(struct cursor *c)
{
	assert(cursor_fill(c) != NULL);
	c->next_fill++;
}

void cursor_pass_found(struct cursor *c)
{
	assert(cursor_found(c) != NULL);
	c->first++;
}

int64_t cursor_turn(const struct cursor *c)
{
	const struct log_fill *fill = cursor_fill(c);
	const struct found *f = cursor_found(c);

	return fill != NULL ? fill->touch.turn
	       : f != NULL  ? f->hit.turn
	       : c->is_over ? INT64_MAX
			    : c->complete_to;
}

struct last_touch cursor_touch(const struct cursor *c, const struct found *f)
{
	struct last_touch touch = {.turn = f->hit.turn,
				   .segment = f->segment,
				   .count = f->hit.count,
				   .pc = f->hit.pc,
				   .to = UINT64_MAX};

	if (c->has_log && c->log.segment == f->segment)
		segment_log_span(&c->log, &touch);
	return touch;
}

/* -- Finding -- */

static uint64_t own_bytes(struct walker *w, const struct found *f, uint8_t *out)
{
	uint64_t known = 0;

	for (uint32_t i = 0; i < f->hit.size && i < FOUND_BYTES; i++)
		known |=
		    (uint64_t)(walker_byte(w, f->hit.index + i, &out[i]) != 0)
		    << i;
	return known;
}

/* Does the next instruction read all bytes of the hit? */
static bool does_read(struct walker *w, const struct hit *hit)
{
	struct touch touches[TOUCHES_MAX];
	unsigned n;

	if (!hit->is_write)
		return true;
	n = touches_of(w, touches);
	for (unsigned i = 0; i < n; i++)
		if (!touches[i].is_write &&
		    touches[i].address <= hit->address &&
		    touches[i].address + touches[i].size >=
			hit->address + hit->size)
			return true;
	return false;
}

/* Where a segment ends, the next one begins: what is met there is met twice. */
static bool is_again(const struct cursor *c, const struct hit *hit)
{
	return c->has_last && hit->count == c->last_count &&
	       hit->pc == c->last_pc;
}

static bool is_looked_for(const struct cursor *c, uint64_t address)
{
	for (unsigned i = 0; i < c->n_stops; i++)
		if (c->stops[i].address == address)
			return true;
	return false;
}

/* The thread is at a function's first instruction. true: it returns to an
 * address that was not looked for yet. */
static bool add_return(struct cursor *c, struct walker *w)
{
	struct found top = {.hit = {.size = sizeof(uint64_t)}};
	uint8_t bytes[FOUND_BYTES];
	struct stop *more;
	uint64_t address;

	top.hit.index = walker_state(w)->gpr[X86_RSP];
	if (own_bytes(w, &top, bytes) != 0xff)
		return false;
	memcpy(&address, bytes, sizeof address);
	if (is_looked_for(c, address))
		return false;
	more = reallocarray(c->with_returns, c->n_stops + 1, sizeof *more);
	if (more == NULL) {
		c->no_memory = true;
		return true;
	}
	if (c->with_returns == NULL)
		memcpy(more, c->stops, c->n_stops * sizeof *more);
	more[c->n_stops++] =
	    (struct stop){.kind = HARK_STOP_BREAKPOINT, .address = address};
	c->stops = c->with_returns = more;
	return true;
}

/* 1: the room is full, or the scan has to begin again here with one more
 * stop. */
static int find_visit(struct cursor *c, struct walker *w, const struct stop *at)
{
	bool is_entry = (size_t)(at - c->stops) < c->n_entries;

	c->n++;
	return (is_entry && add_return(c, w)) || c->n == c->room;
}

static int find_each(void *ctx, struct walker *w, const struct hit *hit)
{
	struct cursor *c = ctx;
	struct found *f = &c->found[c->n];

	if (is_again(c, hit))
		return 0;
	if (c->n == c->room) /* its turn comes with the next piece */
		return 1;
	c->has_found = true;
	c->has_last = true;
	c->last_count = hit->count;
	c->last_pc = hit->pc;
	*f = (struct found){.hit = *hit, .segment = walker_segment(w)};
	f->hit.turn = travel_turn_of(c->t, c->l, w); /* settles the walker */
	if (hit->stop->kind != HARK_STOP_WATCH)
		return find_visit(c, w, hit->stop);
	f->is_left = walker_is_left(w);
	f->reads_all = does_read(w, hit);
	f->own_known = own_bytes(w, f, f->own);
	c->is_pending = true;
	return 0;
}

/* After an instruction. A repeated one is executed in parts, and stays where it
 * is in between; a scan does not end there, for it could not go on there. */
static int find_done(void *ctx, struct walker *w)
{
	struct cursor *c = ctx;
	struct found *f = &c->found[c->n];

	if (c->is_pending) {
		f->after_known = own_bytes(w, f, f->after);
		c->is_pending = false;
		c->n++;
	}
	return c->n == c->room &&
	       (walker_count(w) != c->last_count || walker_pc(w) != c->last_pc);
}

/* -- Looking -- */

/* The part of the range up to where the lane's next turn after the horizon
 * begins; *next is that turn. false: it is all of the range. */
static bool cut_range(const struct cursor *c, int64_t horizon,
		      struct stretch *part, int64_t *next)
{
	const struct lane *l = c->l;
	const struct order_turn *turn;
	uint32_t low = 0, high = l->n_turns;

	*part = c->range;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((int64_t)l->turns[middle] <= horizon)
			low = middle + 1;
		else
			high = middle;
	}
	if (c->t->order == NULL || low == l->n_turns)
		return false;
	turn = order_turn(c->t->order, l->turns[low]);
	if (turn->count >= part->end_count)
		return false;
	part->end_count = turn->count;
	part->end_step = UINT64_MAX;
	*next = l->turns[low];
	return true;
}

/* Does any of the range lie in the segment? */
static bool is_in_range(const struct cursor *c, unsigned segment)
{
	struct recording *r = c->t->rec->r;

	return (segment == c->l->first ||
		recording_segment(r, segment)->count <= c->range.end_count) &&
	       (segment + 1 == c->l->end ||
		recording_segment(r, segment + 1)->count >= c->range.count);
}

static bool may_fill(const struct cursor *c, struct index *x, unsigned segment)
{
	return c->wants_log &&
	       (x == NULL || index_may(x, segment, INDEX_READ,
				       c->stops->address, c->stops->len));
}

/* The next segment that may have anything; the lane's end if there is none. */
static void go_to_next_segment(struct cursor *c, struct index *x)
{
	unsigned s = c->at.segment + 1;

	while (s < c->l->end &&
	       (!is_in_range(c, s) ||
		(!travel_may_have(x, s, c->l, c->stops, c->n_stops) &&
		 !may_fill(c, x, s))))
		s++;
	c->at = (struct scan_place){.segment = s};
	c->is_segment_done = c->has_log = c->has_found = false;
	c->is_over = s >= c->l->end;
	if (!c->is_over)
		c->complete_to = turn_before(c, s);
}

/* Of the segment that it has come to. */
static int load_log(struct cursor *c, struct index *x, struct hark_err *err)
{
	if (c->has_log || !may_fill(c, x, c->at.segment))
		return 0;
	if (segment_log_load(&c->log, c->t, c->l, c->at.segment,
			     c->stops->address, c->stops->len, err) < 0)
		return -1;
	c->has_log = true;
	c->next_fill = 0;
	return 0;
}

/* Room grows with what is taken: who wants a few lines waits for few. */
static int make_room(struct cursor *c, struct hark_err *err)
{
	unsigned room = 4 * c->room < ROOM_MOST ? 4 * c->room : ROOM_MOST;
	struct found *more = reallocarray(c->found, room, sizeof *more);

	if (more == NULL)
		return no_memory(err) == NULL ? -1 : 0;
	c->found = more;
	c->room = room;
	return 0;
}

/* The scan was not stopped: has it come to the end of the part, or of the
 * segment? */
static bool is_at_part_end(const struct cursor *c, const struct stretch *part)
{
	return c->at.is_inside && c->at.count > part->end_count;
}

static int scan_part(struct cursor *c, int64_t horizon, struct hark_err *err)
{
	static const struct scan_calls calls = {find_each, find_done};
	struct stretch part;
	int64_t next = 0;
	bool is_cut = cut_range(c, horizon, &part, &next);
	int rc = travel_scan_on(c->t, c->l, &part, &c->at, c->stops, c->n_stops,
				&calls, c, err);

	c->is_pending = false;
	if (c->no_memory)
		no_memory(err);
	if (rc < 0 || c->no_memory)
		return -1;
	if (rc > 0)
		c->complete_to = c->found[c->n - 1].hit.turn;
	else if (is_cut && is_at_part_end(c, &part))
		c->complete_to = next;
	else
		c->is_segment_done = true;
	return 0;
}

int cursor_look(struct cursor *c, int64_t horizon, struct index *x,
		struct hark_err *err)
{
	bool may;

	assert(cursor_found(c) == NULL && cursor_fill(c) == NULL);
	if (c->n == c->room && make_room(c, err) < 0)
		return -1;
	c->first = c->n = 0;
	if (c->is_segment_done)
		go_to_next_segment(c, x);
	if (c->is_over || c->complete_to > horizon)
		return 0;
	may = is_in_range(c, c->at.segment) &&
	      travel_may_have(x, c->at.segment, c->l, c->stops, c->n_stops);
	if (load_log(c, x, err) < 0)
		return -1;
	c->is_segment_done = !may;
	if (may && scan_part(c, horizon, err) < 0)
		return -1;
	return may && c->is_segment_done && !c->has_found;
}
