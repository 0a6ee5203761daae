/* travel/races_values.c - what may a word hold at a moment?
 *
 * The moment is in a region of its thread. A region that has stored there is
 * before it, behind it, or neither (races_clock.c says how one knows). The last
 * store of a region before it may have been the last one of all, unless another
 * region before the moment is behind it; and so may be any store of a region
 * that is neither. What was stored before something else was mapped there
 * (fresh.c) does not count. */
#include "travel/races.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEN_MOST = 64, STORES_MOST = 64, WRITERS_MOST = 1 << 16 };

/* A region that has stored there. */
struct writer {
	struct region r;
	uint32_t *clock; /* owned: one for each lane */
	int is_split;	 /* the moment is within */
};

struct store {
	uint64_t count, pc, address;
	uint64_t index; /* touch.h */
	uint32_t size;
};

struct values {
	struct races races;
	struct timeline *t;
	uint64_t address, len;
	unsigned lane; /* of the moment */
	struct walker_place here;
	const struct fresh_event *since; /* it is what it is; NULL: ever */
	uint32_t *clock; /* owned: of the moment's region, or the last one */
	int is_found;	 /* it */
	struct writer *writers; /* owned */
	size_t n, room;
	/* Stores of the region that is looked through. */
	struct store stores[STORES_MOST];
	unsigned n_stores;
	unsigned looked_through; /* its lane */
	int only_last, is_split;
	uint64_t told;
	int is_over;
	hark_each_possible *each;
	void *ctx;
};

/* -- Regions -- */

/* Is (count, pc) of the moment's lane behind the moment? */
static int is_behind(struct values *v, uint64_t count, uint64_t pc,
		     struct hark_err *err)
{
	struct walker *w;
	struct walker_place at;

	if (count != v->here.count)
		return count > v->here.count;
	w = travel_scout(v->t, &v->t->lanes[v->lane], err);
	if (w == NULL || walker_observe(w, NULL, err) < 0 ||
	    walker_goto_pc(w, count, pc, err) < 0 ||
	    walker_place(w, &at, err) < 0)
		return -1;
	return at.step > v->here.step;
}

/* Was something else there, when the lane was at this place? */
static int is_of_other(const struct values *v, unsigned lane, uint64_t count,
		       uint64_t pc)
{
	return v->since != NULL &&
	       travel_fresh_is_behind(v->t, &v->t->lanes[lane], count, pc,
				      v->since);
}

/* Has it stored to any of the bytes? */
static int has_stored(const struct values *v, const struct mark *marks,
		      size_t n)
{
	uint32_t from = (uint32_t)v->address, len = (uint32_t)v->len;

	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < GRANULE; k++)
			if (marks[i].bytes[1] >> k & 1 &&
			    (marks[i].granule << GRANULE_BITS) + k - from < len)
				return 1;
	return 0;
}

static uint32_t *copy_of(const struct values *v, const uint32_t *clock)
{
	size_t size = v->t->n_lanes * sizeof *clock;
	uint32_t *copy = malloc(size);

	return copy == NULL ? NULL : memcpy(copy, clock, size);
}

static int add_writer(struct values *v, const struct region *r,
		      const uint32_t *clock, int is_split, struct hark_err *err)
{
	struct writer *w;

	if (v->n == WRITERS_MOST)
		return err_set(err, HARK_EREFUSE, 0,
			       "it is written too often to say what it may be");
	if (v->n == v->room) {
		size_t room = v->room == 0 ? 64 : 2 * v->room;
		struct writer *more =
		    reallocarray(v->writers, room, sizeof *more);

		if (more == NULL)
			return races_no_memory(err);
		v->writers = more;
		v->room = room;
	}
	w = &v->writers[v->n];
	*w = (struct writer){*r, copy_of(v, clock), is_split};
	if (w->clock == NULL)
		return races_no_memory(err);
	v->n++;
	return 0;
}

static int note_region(void *ctx, const struct region *r, const uint32_t *clock,
		       const struct mark *marks, size_t n, struct hark_err *err)
{
	struct values *v = ctx;

	if (r->lane == v->lane && v->is_found)
		return 0; /* behind it */
	if (r->lane == v->lane) {
		int is_split = is_behind(v, r->end_count, r->end_pc, err);

		if (is_split < 0)
			return -1;
		v->is_found = is_split;
		memcpy(v->clock, clock, v->t->n_lanes * sizeof *clock);
	}
	return has_stored(v, marks, n) &&
		       !is_of_other(v, r->lane, r->end_count, r->end_pc)
		   ? add_writer(v, r, clock, r->lane == v->lane && v->is_found,
				err)
		   : 0;
}

/* -- Before, and behind -- */

static int is_before(const struct writer *w, const uint32_t *clock)
{
	return w->clock[w->r.lane] <= clock[w->r.lane];
}

static int comes_before_moment(const struct values *v, const struct writer *w)
{
	return w->r.lane == v->lane || is_before(w, v->clock);
}

static int is_behind_moment(const struct values *v, const struct writer *w)
{
	return w->r.lane != v->lane && v->clock[v->lane] <= w->clock[v->lane];
}

/* Another one is before the moment, and behind this one. Writers of a lane
 * stand as they came. */
static int is_covered(const struct values *v, const struct writer *w)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct writer *o = &v->writers[i];

		if (o == w || !comes_before_moment(v, o))
			continue;
		if (o->r.lane == w->r.lane ? o > w : is_before(w, o->clock))
			return 1;
	}
	return 0;
}

/* -- Stores -- */

static int note_store(void *ctx, struct walker *w, const struct touch *touch)
{
	struct values *v = ctx;
	struct walker_place at;
	struct hark_err ignored = {0};

	if (!touch->is_write || touch->address >= v->address + v->len ||
	    v->address >= touch->address + touch->size)
		return 0;
	if (v->is_split && walker_count(w) >= v->here.count &&
	    (walker_count(w) > v->here.count ||
	     walker_place(w, &at, &ignored) < 0 || at.step >= v->here.step))
		return 1;
	if (is_of_other(v, v->looked_through, walker_count(w), walker_pc(w)))
		return 0;
	if (v->only_last)
		v->n_stores = 0;
	v->stores[v->n_stores].count = walker_count(w);
	v->stores[v->n_stores].pc = walker_pc(w);
	v->stores[v->n_stores].address = touch->address;
	v->stores[v->n_stores].index = touch->index;
	v->stores[v->n_stores].size = touch->size;
	return ++v->n_stores == STORES_MOST;
}

/* What others knew, where the writer does not know it itself: the timeline is
 * put there, and back. */
static void ask_others(const struct values *v, struct lane *l,
		       const struct walker_place *at, uint8_t *bytes,
		       uint8_t *known)
{
	struct timeline *t = v->t;
	unsigned selected = t->selected;
	struct walker_place here = t->here;
	struct hark_err ignored = {0};

	if (travel_set(t, l, at->count, at->step, &ignored) == 0)
		travel_read(t, v->address, v->len, bytes, known, &ignored);
	t->selected = selected;
	t->here = here;
	t->in_window = -1;
}

/* The store has just been made: what it has stored is at its own index. Next to
 * it bytes near the base of fs may be at either of two. */
static int own_byte(const struct walker *w, const struct store *s,
		    uint64_t address, uint8_t *out)
{
	if (address - s->address < s->size)
		return walker_byte(w, s->index + (address - s->address), out);
	return !walker_is_near_fs(w, address) && walker_byte(w, address, out);
}

static void read_bytes(const struct values *v, struct lane *l, struct walker *w,
		       const struct store *s, uint8_t *bytes, uint8_t *known)
{
	struct hark_err ignored = {0};
	struct walker_place at;
	uint64_t n = 0;

	for (uint64_t i = 0; i < v->len; i++) {
		known[i] = (uint8_t)own_byte(w, s, v->address + i, &bytes[i]);
		n += known[i];
	}
	if (n < v->len && walker_place(w, &at, &ignored) == 0)
		ask_others(v, l, &at, bytes, known);
}

static int tell_store(struct values *v, const struct writer *of, unsigned i,
		      struct hark_err *err)
{
	struct lane *l = &v->t->lanes[of->r.lane];
	struct walker *w = travel_scout(v->t, l, err);
	uint8_t bytes[LEN_MOST], known[LEN_MOST];
	struct walker_place at;
	struct hark_access by = {.pc = v->stores[i].pc,
				 .address = v->stores[i].address,
				 .size = v->stores[i].size,
				 .is_write = 1};

	if (w == NULL || walker_observe(w, NULL, err) < 0 ||
	    walker_goto_pc(w, v->stores[i].count, v->stores[i].pc, err) < 0 ||
	    walker_place(w, &at, err) < 0)
		return -1;
	walker_settle(w); /* what memory held is there now */
	by.at = (struct hark_position){v->t->process, l->about.number, at.count,
				       at.step};
	if (walker_step(w, err) < 0)
		return -1;
	read_bytes(v, l, w, &v->stores[i], bytes, known);
	v->told++;
	v->is_over = v->each(v->ctx, &by, bytes, known) != 0;
	return 0;
}

static int find_stores(struct values *v, const struct writer *w,
		       struct hark_err *err)
{
	uint32_t first = (uint32_t)v->address >> GRANULE_BITS;
	uint32_t last = (uint32_t)(v->address + v->len - 1) >> GRANULE_BITS;
	const struct range range = {first, last - first + 1};

	v->n_stores = 0;
	v->looked_through = w->r.lane;
	v->is_split = w->is_split;
	return races_scan(v->t, &w->r, &range, 1, note_store, v, err);
}

static int tell_writer(struct values *v, const struct writer *w,
		       struct hark_err *err)
{
	v->only_last = comes_before_moment(v, w);
	if (find_stores(v, w, err) < 0)
		return -1;
	for (unsigned i = 0; !v->is_over && i < v->n_stores; i++)
		if (tell_store(v, w, i, err) < 0)
			return -1;
	return 0;
}

/* Has the moment's own region stored before it? If not it does not count. */
static int split(struct values *v, struct hark_err *err)
{
	for (size_t i = 0; i < v->n; i++) {
		if (!v->writers[i].is_split)
			continue;
		v->only_last = 1;
		if (find_stores(v, &v->writers[i], err) < 0)
			return -1;
		if (v->n_stores > 0)
			return 0;
		free(v->writers[i].clock);
		v->n--;
		memmove(&v->writers[i], &v->writers[i + 1],
			(v->n - i) * sizeof v->writers[i]);
		return 0;
	}
	return 0;
}

/* To where something was mapped there. */
static int go_to_since(const struct values *v, struct walker *w,
		       struct hark_err *err)
{
	int rc = walker_goto(w, v->since->count, 0, err);

	while (rc == 0 && walker_count(w) == v->since->count &&
	       (uint32_t)walker_pc(w) != v->since->pc)
		rc = walker_step(w, err);
	return rc < 0 || walker_step(w, err) < 0 ? -1 : 0;
}

/* None of them may have come yet: then it is what it was when there was only
 * one thread, or when it was mapped. */
static int tell_before(struct values *v, struct hark_err *err)
{
	const struct region *alone = &v->races.alone;
	const int is_later =
	    is_of_other(v, alone->lane, alone->end_count, alone->end_pc);
	struct lane *l = is_later ? travel_lane(v->t, v->since->thread)
				  : &v->t->lanes[alone->lane];
	uint8_t bytes[LEN_MOST] = {0}, known[LEN_MOST] = {0};
	struct walker_place at;
	struct walker *w;

	for (size_t i = 0; i < v->n; i++)
		if (comes_before_moment(v, &v->writers[i]))
			return 0;
	if (v->n == 0 || alone->end_pc == 0)
		return 0;
	w = travel_scout(v->t, l, err);
	if (w == NULL || walker_observe(w, NULL, err) < 0 ||
	    (is_later ? go_to_since(v, w, err)
		      : walker_goto_pc(w, alone->end_count, alone->end_pc,
				       err)) < 0 ||
	    walker_place(w, &at, err) < 0)
		return -1;
	ask_others(v, l, &at, bytes, known);
	v->told++;
	v->is_over = v->each(v->ctx, NULL, bytes, known) != 0;
	return 0;
}

/* -- The question -- */

static int list_granules(struct values *v, struct hark_err *err)
{
	uint64_t n = 0;

	free(v->races.granules);
	v->races.granules =
	    calloc(LEN_MOST / GRANULE + 2, sizeof *v->races.granules);
	if (v->races.granules == NULL)
		return races_no_memory(err);
	for (uint64_t at = races_word(v->address); at < v->address + v->len;
	     at += GRANULE)
		v->races.granules[n++] = (uint32_t)at >> GRANULE_BITS;
	v->races.n_granules = n;
	return 0;
}

static int find(struct values *v, struct hark_err *err)
{
	struct conflicts none = {0};

	v->races.t = v->t;
	v->races.each = note_region;
	v->races.ctx = v;
	travel_fresh_at(v->t, travel_turn(v->t, err));
	v->since = travel_fresh_of(v->t, v->address);
	v->clock = calloc(v->t->n_lanes, sizeof *v->clock);
	if (v->clock == NULL)
		return races_no_memory(err);
	if (races_prepare(&v->races, err) < 0 || list_granules(v, err) < 0 ||
	    races_plain(&v->races, err) < 0 ||
	    races_conflicts(&v->races, &none, err) < 0)
		return -1;
	if (split(v, err) < 0 || tell_before(v, err) < 0)
		return -1;
	for (size_t i = 0; !v->is_over && i < v->n; i++)
		if (!is_behind_moment(v, &v->writers[i]) &&
		    !is_covered(v, &v->writers[i]) &&
		    tell_writer(v, &v->writers[i], err) < 0)
			return -1;
	return 0;
}

int timeline_possible(struct timeline *t, uint64_t address, uint64_t len,
		      hark_each_possible *each, void *ctx,
		      struct hark_error *err)
{
	struct values v = {.t = t,
			   .address = address,
			   .len = len,
			   .lane = t->selected,
			   .here = t->here,
			   .each = each,
			   .ctx = ctx};
	struct hark_err why = {0};
	int rc = 0;

	if (len == 0 || len > LEN_MOST)
		return travel_error(err, HARK_ERROR_ARGUMENT,
				    "1 to %d bytes can be asked for", LEN_MOST);
	if (t->n_lanes > 1)
		rc = find(&v, &why);
	races_finish(&v.races);
	for (size_t i = 0; i < v.n; i++)
		free(v.writers[i].clock);
	free(v.writers);
	free(v.clock);
	return rc < 0 ? travel_failed(&why, err) : (int)v.told;
}
