/* travel/list.c - all accesses to a range of memory, or all visits to an
 * address, in the order that all threads agree with.
 *
 * Each thread has a cursor; the list takes from the one whose next item has the
 * earliest turn, and has it look for more when it has given all that it found.
 * So lists begin at once, end when the caller has enough, and take the same
 * memory however long they are.
 *
 * What an instruction found in memory: one that reads what it writes has found
 * what its own thread holds then. One that only writes has looked at nothing;
 * what was there is the last of all values that threads have stored, or that
 * their logs filled in, before it (last_values.h). Nothing can have changed the
 * bytes in between but the kernel, or another process, unseen by any thread.
 *
 * That is not used where the log's fills cannot be told from those of other
 * addresses, or where bytes may have been touched by way of fs (memory.c, M1
 * and M2), nor for bytes that nothing in the list has touched yet. There memory
 * is read as at any moment; unless the last write of all was the same thread's:
 * then its own view is right. */
#include "travel/cursor.h"
#include "travel/last_values.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Looks of the first cursors go so many turns ahead, later ones further. */
enum { AHEAD_FIRST = 64, AHEAD_MOST = 1 << 20 };
/* Segments that were looked through in vain, until it seems worth to make an
 * index. */
enum { VAIN_MOST = 2 };

/* -- Merging threads -- */

struct merge {
	struct timeline *t;
	struct cursor *cursors; /* owned: one for each lane */
	struct index *index;	/* borrowed; NULL: none */
	int64_t ahead;
	unsigned n_vain;
	/* Called with NULL before it takes a while to find more; not 0: enough.
	 * One of them is set. */
	timeline_each_access *pause;
	timeline_each_visit *pause_visits;
	void *ctx;
};

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

/* Where a lane's part of the list begins. Others than the thread of `from`
 * begin with the turn that they are in then. */
static void set_begin(const struct timeline *t, const struct lane *l,
		      const struct hark_position *from, struct stretch *range)
{
	const struct lane *of = travel_lane((struct timeline *)t, from->thread);
	int64_t turn;
	uint32_t low = 0, high = l->n_turns;

	if (l == of) {
		range->count = from->count;
		range->step = from->step;
	}
	if (l == of || of == NULL || t->order == NULL)
		return;
	turn = travel_turn_near(t, of, from);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((int64_t)l->turns[middle] <= turn)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		range->count = order_turn(t->order, l->turns[low - 1])->count;
}

static int merge_init(struct merge *m, struct timeline *t,
		      const struct cursor_what *what,
		      const struct hark_position *from,
		      const struct hark_position *to, struct hark_err *err)
{
	*m = (struct merge){.t = t, .ahead = AHEAD_FIRST};
	m->index = travel_index(t, 0, err);
	m->cursors = calloc(t->n_lanes, sizeof *m->cursors);
	if (m->cursors == NULL)
		return out_of_memory(err);
	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct stretch range = {0, 0, UINT64_MAX, UINT64_MAX, 0};
		struct lane *l = &t->lanes[i];

		if (from != NULL)
			set_begin(t, l, from, &range);
		if (to != NULL && to->thread == l->about.number) {
			range.end_count = to->count;
			range.end_step = to->step;
		}
		if (cursor_init(&m->cursors[i], t, l, what, &range, err) < 0)
			return -1;
	}
	return 0;
}

static void merge_fini(struct merge *m)
{
	for (unsigned i = 0; m->cursors != NULL && i < m->t->n_lanes; i++)
		cursor_fini(&m->cursors[i]);
	free(m->cursors);
}

/* Of segments, of all lanes. */
static void note_progress(struct merge *m)
{
	struct timeline *t = m->t;

	t->done = t->total = 0;
	for (unsigned i = 0; i < t->n_lanes; i++) {
		t->done += m->cursors[i].at.segment - t->lanes[i].first;
		t->total += t->lanes[i].end - t->lanes[i].first;
	}
}

/* The cursor that has what is next, or must look for it; and the earliest turn
 * that any other may have. */
static struct cursor *first_cursor(struct merge *m, int64_t *others)
{
	struct cursor *first = &m->cursors[0];
	int64_t turn = cursor_turn(first);

	*others = INT64_MAX;
	for (unsigned i = 1; i < m->t->n_lanes; i++) {
		int64_t of = cursor_turn(&m->cursors[i]);

		if (of < turn) {
			*others = turn;
			first = &m->cursors[i];
			turn = of;
		} else if (of < *others) {
			*others = of;
		}
	}
	return first;
}

static int look_on(struct merge *m, struct cursor *c, int64_t others,
		   struct hark_err *err)
{
	int64_t from = others > c->complete_to ? others : c->complete_to;
	int64_t horizon =
	    from < INT64_MAX - m->ahead ? from + m->ahead : INT64_MAX;
	int rc;

	note_progress(m);
	rc = cursor_look(c, horizon, m->index, err);
	if (rc < 0)
		return -1;
	if (m->ahead < AHEAD_MOST)
		m->ahead += m->ahead / 4;
	m->n_vain += rc > 0;
	if (m->n_vain == VAIN_MOST) {
		m->n_vain++; /* once */
		m->index = travel_index(
		    m->t, (unsigned)(m->t->total - m->t->done), err);
	}
	return err->code == HARK_OK ? 0 : -1;
}

static int merge_pause(struct merge *m)
{
	if (m->pause != NULL)
		return m->pause(m->ctx, NULL);
	assert(m->pause_visits != NULL);
	return m->pause_visits(m->ctx, m->t, NULL);
}

/* The cursor with the next item; NULL: there are no more, or *err. */
static struct cursor *merge_next(struct merge *m, struct hark_err *err)
{
	for (;;) {
		int64_t others;
		struct cursor *c = first_cursor(m, &others);

		if (cursor_fill(c) != NULL || cursor_found(c) != NULL)
			return c;
		if (c->is_over || merge_pause(m) != 0 ||
		    look_on(m, c, others, err) < 0)
			return NULL;
	}
}

/* -- Positions -- */

static int find_place(struct timeline *t, struct lane *l, struct found *f,
		      struct hark_err *err)
{
	struct walker *w;

	if (f->has_place)
		return 0;
	w = travel_ferry(t, l, err);
	if (w == NULL || walker_goto_pc(w, f->hit.count, f->hit.pc, err) < 0 ||
	    walker_place(w, &f->place, err) < 0)
		return -1;
	f->has_place = true;
	return 0;
}

static bool is_within(struct timeline *t, const struct hark_position *at,
		      const struct hark_position *from,
		      const struct hark_position *to)
{
	return (from == NULL || timeline_position_compare(t, from, at) <= 0) &&
	       (to == NULL || timeline_position_compare(t, at, to) < 0);
}

/* Do all items of this turn, and of later ones, lie after `to`? */
static bool is_after(struct timeline *t, int64_t turn,
		     const struct hark_position *to)
{
	const struct lane *l = to != NULL ? travel_lane(t, to->thread) : NULL;

	return l != NULL && t->order != NULL &&
	       turn > travel_turn_near(t, l, to);
}

/* -- Accesses -- */

struct access_list {
	struct timeline *t;
	const struct hark_position *from, *to; /* borrowed */
	timeline_each_access *each;
	void *ctx;
	struct merge merge;
	/* NULL: not used. */
	struct last_values *values; /* owned */
	size_t next_fresh;	    /* of travel_fresh_event */
	/* The last write of all, as far as its bytes are listed, and its lane:
	 */
	uint64_t written, written_end;
	const struct lane *writer;
};

/* May what the log says of the range be used? */
static bool is_log_clear(const struct timeline *t, uint64_t address,
			 uint64_t len)
{
	const uint64_t reach = WALKER_FS_REACH;

	return t->n_lanes > 1 && len < 1u << 31 &&
	       (uint32_t)(address + reach) >= 2 * reach &&
	       (uint32_t)(address + len + reach) >= 2 * reach &&
	       !maps_has_alias(t->maps, address, len);
}

/* From here on it may not. */
static void give_up_values(struct access_list *a)
{
	last_values_free(a->values);
	a->values = NULL;
}

static void pass_fresh(struct access_list *a, int64_t turn, uint64_t count,
		       uint64_t pc)
{
	const struct fresh_event *e;

	while ((e = travel_fresh_event(a->t, a->next_fresh)) != NULL &&
	       travel_fresh_is_before(e, turn, count, pc)) {
		last_values_forget(a->values, e->start, e->end);
		a->next_fresh++;
	}
}

static unsigned lane_number(const struct timeline *t, const struct lane *l)
{
	return (unsigned)(l - t->lanes);
}

static int note_fill(struct access_list *a, struct cursor *c,
		     struct hark_err *err)
{
	const struct log_fill *fill = cursor_fill(c);
	int rc = 0;

	if (a->values != NULL) {
		pass_fresh(a, fill->touch.turn, fill->touch.count,
			   fill->touch.pc);
		rc = last_values_note(a->values, lane_number(a->t, c->l),
				      fill->address, c->log.bytes + fill->bytes,
				      fill->len, &fill->touch);
	}
	cursor_pass_fill(c);
	return rc < 0 ? out_of_memory(err) : 0;
}

static bool is_near_fs(const struct cursor *c, const struct found *f)
{
	const uint64_t reach = WALKER_FS_REACH;

	return f->hit.index != f->hit.address ||
	       (c->has_log &&
		f->hit.address - c->log.fs_base + reach < 2 * reach);
}

static void note_write(struct access_list *a, const struct cursor *c,
		       const struct found *f)
{
	const struct stop *of = c->stops;
	uint64_t end = f->hit.address + f->hit.size;

	a->written =
	    f->hit.address > of->address ? f->hit.address : of->address;
	a->written_end =
	    end < of->address + of->len ? end : of->address + of->len;
	a->writer = c->l;
}

static uint32_t shown_size(const struct found *f)
{
	return f->hit.size < FOUND_BYTES ? f->hit.size : FOUND_BYTES;
}

static uint64_t all_bytes(uint32_t size)
{
	return size < 64 ? (1ull << size) - 1 : UINT64_MAX;
}

/* By the values of all threads so far. false: something there was not touched
 * yet. */
static bool find_by_values(struct access_list *a, const struct cursor *c,
			   const struct found *f, struct hark_access *out)
{
	struct last_touch here = cursor_touch(c, f);
	uint64_t touched;

	here.is_selected = true;
	out->before_known =
	    last_values_ask(a->values, lane_number(a->t, c->l), f->hit.address,
			    shown_size(f), &here, out->before, &touched);
	return touched == all_bytes(shown_size(f));
}

/* What was there before. */
static int find_before(struct access_list *a, const struct cursor *c,
		       const struct found *f, struct hark_access *out,
		       struct hark_err *err)
{
	uint64_t all = all_bytes(shown_size(f));
	bool is_own = a->writer == c->l && a->written <= f->hit.address &&
		      f->hit.address + f->hit.size <= a->written_end &&
		      f->own_known == all;

	bool was_loaded = f->reads_all && !f->is_left;

	if (was_loaded || is_own) {
		memcpy(out->before, f->own, sizeof out->before);
		out->before_known =
		    f->own_known | (was_loaded ? f->after_known : 0);
		return 0;
	}
	if (a->values != NULL && find_by_values(a, c, f, out))
		return 0;
	out->before_known = 0;
	return travel_look_at_all(a->t, c->l, &f->place, shown_size(f), out,
				  err);
}

static int note_store(struct access_list *a, const struct cursor *c,
		      const struct found *f, struct hark_err *err)
{
	struct last_touch touch = cursor_touch(c, f);

	if (!f->hit.is_write)
		return 0;
	note_write(a, c, f);
	if (a->values == NULL)
		return 0;
	/* What is not shown is not known here either. */
	if (f->hit.size > FOUND_BYTES ||
	    f->after_known != all_bytes(shown_size(f)))
		last_values_forget(a->values, f->hit.address,
				   f->hit.address + f->hit.size);
	if (f->after_known != all_bytes(shown_size(f)))
		return 0;
	return last_values_note(a->values, lane_number(a->t, c->l),
				f->hit.address, f->after, shown_size(f),
				&touch) < 0
		   ? out_of_memory(err)
		   : 0;
}

/* 1: it was enough. */
static int tell_access(struct access_list *a, struct cursor *c,
		       struct hark_err *err)
{
	struct found *f = &c->found[c->first];
	struct hark_access out = {.pc = f->hit.pc,
				  .address = f->hit.address,
				  .size = f->hit.size,
				  .is_write = f->hit.is_write};
	int rc = 0;

	if (find_place(a->t, c->l, f, err) < 0)
		return -1;
	if (a->values != NULL && is_near_fs(c, f))
		give_up_values(a);
	if (a->values != NULL)
		pass_fresh(a, f->hit.turn, f->hit.count, f->hit.pc);
	out.at = (struct hark_position){a->t->process, c->l->about.number,
					f->place.count, f->place.step};
	memcpy(out.after, f->after, sizeof out.after);
	out.after_known = f->after_known;
	if (find_before(a, c, f, &out, err) < 0 || note_store(a, c, f, err) < 0)
		return -1;
	out.known = (uint32_t)__builtin_popcountll(out.before_known);
	if (is_within(a->t, &out.at, a->from, a->to))
		rc = a->each(a->ctx, &out) != 0;
	cursor_pass_found(c);
	return rc;
}

static int tell_all(struct access_list *a, struct hark_err *err)
{
	struct cursor *c;
	int rc = 0;

	while (rc == 0 && (c = merge_next(&a->merge, err)) != NULL) {
		if (is_after(a->t, cursor_turn(c), a->to))
			break;
		rc = cursor_fill(c) != NULL ? note_fill(a, c, err)
					    : tell_access(a, c, err);
	}
	return err->code == HARK_OK ? 0 : -1;
}

int timeline_accesses(struct timeline *t, uint64_t address, uint64_t len,
		      unsigned on, const struct hark_position *from,
		      const struct hark_position *to,
		      timeline_each_access *each, void *ctx,
		      struct hark_error *err)
{
	const struct stop watch = {
	    .kind = HARK_STOP_WATCH, .address = address, .len = len, .on = on};
	struct cursor_what what = {.stops = &watch, .n_stops = 1};
	struct access_list a = {
	    .t = t, .from = from, .to = to, .each = each, .ctx = ctx};
	struct travel_stay here = travel_stay(t);
	struct hark_err why = {0};
	bool uses_log = on & HARK_ON_WRITE && is_log_clear(t, address, len);
	int rc = 0;

	if (uses_log)
		a.values = last_values_new();
	what.wants_log = a.values != NULL;
	if (merge_init(&a.merge, t, &what, from, to, &why) < 0)
		rc = -1;
	a.merge.pause = each;
	a.merge.ctx = ctx;
	if (rc == 0)
		rc = tell_all(&a, &why);
	merge_fini(&a.merge);
	last_values_free(a.values);
	travel_come_back(t, &here);
	return rc < 0 ? travel_failed(&why, err) : 0;
}

/* -- Visits -- */

/* The moment is that of the visit while the caller looks. 1: it was enough. */
static int tell_visit(struct timeline *t, struct cursor *c,
		      const struct hark_position *from,
		      const struct hark_position *to, timeline_each_visit *each,
		      void *ctx, struct hark_err *err)
{
	const struct hit *hit = &c->found[c->first].hit;
	struct walker *w = travel_walker(t, c->l, err);
	struct hark_position at;

	if (w == NULL || walker_goto_pc(w, hit->count, hit->pc, err) < 0 ||
	    walker_place(w, &t->here, err) < 0)
		return -1;
	t->selected = lane_number(t, c->l);
	t->in_window = -1;
	at = timeline_where(t);
	cursor_pass_found(c);
	return is_within(t, &at, from, to) && each(ctx, t, &at) != 0;
}

static struct stop *breakpoints(const uint64_t *addresses, unsigned n)
{
	struct stop *stops = calloc(n + 1u, sizeof *stops);

	for (unsigned i = 0; stops != NULL && i < n; i++)
		stops[i] = (struct stop){.kind = HARK_STOP_BREAKPOINT,
					 .address = addresses[i]};
	return stops;
}

int timeline_visits(struct timeline *t, const uint64_t *addresses, unsigned n,
		    unsigned n_functions, const struct hark_position *from,
		    const struct hark_position *to, timeline_each_visit *each,
		    void *ctx, struct hark_error *err)
{
	struct stop *stops = breakpoints(addresses, n);
	const struct cursor_what what = {.stops = stops,
					 .n_stops = n,
					 .n_entries =
					     n_functions < n ? n_functions : n};
	struct travel_stay here = travel_stay(t);
	struct hark_err why = {0};
	struct merge m = {.t = t};
	struct cursor *c;
	int rc = stops == NULL ? out_of_memory(&why)
			       : merge_init(&m, t, &what, from, to, &why);

	m.pause_visits = each;
	m.ctx = ctx;
	while (rc == 0 && (c = merge_next(&m, &why)) != NULL &&
	       !is_after(t, cursor_turn(c), to))
		rc = tell_visit(t, c, from, to, each, ctx, &why);
	merge_fini(&m);
	free(stops);
	travel_come_back(t, &here);
	return why.code != HARK_OK ? travel_failed(&why, err) : 0;
}
