/* travel/races_tell.c - which instructions are in conflict?
 *
 * The regions are run over once more, with windows on the granules in question,
 * in the order in which a thread comes to them. */
#include "travel/races.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

/* -- A region, looked through -- */

struct scan {
	struct walker *w;
	const struct region *r;
	const struct range *ranges;
	unsigned n;
	races_each_touch *each;
	void *ctx;
};

static void add_window(struct observe *o, uint32_t address, uint32_t len)
{
	o->windows[o->n_windows++] =
	    (struct observe_window){.index = address + WIRE_SHADOW_SKEW,
				    .len = len,
				    .on = OBSERVE_LOADS | OBSERVE_STORES};
}

static int set_windows(const struct scan *s, struct hark_err *err)
{
	enum { REACH = WALKER_FS_REACH };
	uint32_t fs_base = (uint32_t)walker_state(s->w)->fs_base;
	struct observe o = {0};

	_Static_assert(2 * RACES_AT_ONCE <= OBSERVE_WINDOWS, "races_tell.c");
	for (unsigned i = 0; i < s->n; i++) {
		uint32_t address = s->ranges[i].granule << GRANULE_BITS;
		uint32_t len = s->ranges[i].n << GRANULE_BITS;

		add_window(&o, address, len);
		if (address - fs_base + REACH < 2 * REACH)
			add_window(&o, address - fs_base, len);
	}
	return walker_observe(s->w, &o, err);
}

/* Not 0: enough. */
static int look(const struct scan *s)
{
	struct touch touches[TOUCHES_MAX];
	unsigned n = touches_of(s->w, touches);

	for (unsigned k = 0; k < n; k++)
		for (unsigned i = 0; i < s->n; i++) {
			uint32_t at = s->ranges[i].granule << GRANULE_BITS;
			uint32_t len = s->ranges[i].n << GRANULE_BITS;
			uint32_t from = (uint32_t)touches[k].address;
			int rc = 0;

			if (from - at < len || at - from < touches[k].size)
				rc = s->each(s->ctx, s->w, &touches[k]);
			if (rc != 0)
				return rc;
		}
	return 0;
}

static int is_at_end(const struct scan *s)
{
	uint64_t count = walker_count(s->w);

	return count > s->r->end_count ||
	       (count == s->r->end_count && walker_pc(s->w) == s->r->end_pc);
}

static int scan(const struct scan *s, struct hark_err *err)
{
	while (walker_count(s->w) < s->r->end_count) {
		enum walker_stop why;
		int rc = 0;

		if (walker_run(s->w, s->r->end_count, 0, &why, err) < 0)
			return -1;
		if (why == WALKER_END)
			return 0;
		if (why == WALKER_FS && set_windows(s, err) < 0)
			return -1;
		if (why != WALKER_WATCH)
			continue;
		rc = look(s);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (walker_step(s->w, err) < 0)
			return -1;
	}
	while (!is_at_end(s)) { /* in the last count, step by step */
		int rc = look(s);

		if (rc != 0)
			return rc < 0 ? -1 : 0;
		rc = walker_step(s->w, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
	}
	return 0;
}

int races_scan(struct timeline *t, const struct region *r,
	       const struct range *ranges, unsigned n, races_each_touch *each,
	       void *ctx, struct hark_err *err)
{
	struct scan s = {.w = travel_scout(t, &t->lanes[r->lane], err),
			 .r = r,
			 .ranges = ranges,
			 .n = n,
			 .each = each,
			 .ctx = ctx};

	if (s.w == NULL || walker_observe(s.w, NULL, err) < 0 ||
	    walker_goto_pc(s.w, r->count, r->pc, err) < 0 ||
	    set_windows(&s, err) < 0)
		return -1;
	return scan(&s, err);
}

/* -- What is to be looked for -- */

/* An instruction that touches a granule in a region: the first time. */
struct place {
	uint32_t region, granule;
	uint64_t count, pc, address;
	uint32_t size, is_write;
};

struct wish {
	uint32_t region, granule;
};

struct tell {
	struct timeline *t;
	const struct conflicts *c;
	struct wish *wishes; /* owned */
	size_t n_wishes;
	struct place *places; /* owned */
	size_t n, room;
	size_t first;	    /* of the region that is looked through */
	uint32_t region;    /* it */
	uint32_t since_new; /* touches since the last new place */
	struct hark_err *err;
};

static int by_wish(const void *a, const void *b, void *ctx)
{
	const struct conflicts *c = ctx;
	const struct wish *x = a, *y = b;
	const struct region *r = &c->regions[x->region];
	const struct region *q = &c->regions[y->region];

	if (r->lane != q->lane)
		return r->lane < q->lane ? -1 : 1;
	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return (x->granule > y->granule) - (x->granule < y->granule);
}

/* Regions of a thread are numbered as they come. */
static int list_wishes(struct tell *s)
{
	const struct conflicts *c = s->c;
	size_t n = 0, kept = 0;

	s->wishes = calloc(c->n * RACES_EXAMPLES * 2 + 1, sizeof *s->wishes);
	if (s->wishes == NULL)
		return out_of_memory(s->err);
	for (size_t i = 0; i < c->n; i++)
		for (unsigned k = 0; k < 2 * c->at[i].n_examples; k++)
			s->wishes[n++] = (struct wish){
			    c->at[i].examples[k / 2][k % 2], c->at[i].granule};
	qsort_r(s->wishes, n, sizeof *s->wishes, by_wish, (void *)c);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || by_wish(&s->wishes[i], &s->wishes[kept - 1],
					 (void *)c) != 0)
			s->wishes[kept++] = s->wishes[i];
	s->n_wishes = kept;
	return 0;
}

/* -- Places -- */

static int new_place(struct tell *s, const struct place *p)
{
	if (s->n == s->room) {
		size_t room = s->room == 0 ? 64 : 2 * s->room;
		struct place *more =
		    reallocarray(s->places, room, sizeof *more);

		if (more == NULL)
			return out_of_memory(s->err);
		s->places = more;
		s->room = room;
	}
	s->places[s->n++] = *p;
	s->since_new = 0;
	return 0;
}

static int note_granule(struct tell *s, const struct place *p)
{
	for (size_t i = s->first; i < s->n; i++) {
		struct place *q = &s->places[i];

		if (q->pc != p->pc || q->granule != p->granule)
			continue;
		if (p->is_write && !q->is_write) {
			*q = *p;
			s->since_new = 0;
		}
		return 0;
	}
	return new_place(s, p);
}

/* Enough, if nothing new has come for long. */
static int note_touch(void *ctx, struct walker *w, const struct touch *touch)
{
	enum { PATIENCE = 16384, MOST = 4096, GRANULES_MOST = 512 };
	struct tell *s = ctx;
	uint32_t first = (uint32_t)touch->address >> GRANULE_BITS;
	uint32_t last =
	    (uint32_t)(touch->address + touch->size - 1) >> GRANULE_BITS;
	struct place p = {.region = s->region,
			  .count = walker_count(w),
			  .pc = walker_pc(w),
			  .address = touch->address,
			  .size = touch->size,
			  .is_write = touch->is_write};

	if (last - first > GRANULES_MOST)
		last = first + GRANULES_MOST;
	for (uint32_t g = first; g != last + 1; g++) {
		p.granule = g;
		if (note_granule(s, &p) < 0)
			return -1;
	}
	return s->since_new++ > PATIENCE || s->n - s->first > MOST;
}

/* One region: granules in a row are looked for together. */
static int look_through(struct tell *s, size_t from, size_t to)
{
	const struct region *r = &s->c->regions[s->wishes[from].region];
	struct range ranges[RACES_AT_ONCE];
	unsigned n = 0;

	s->first = s->n;
	s->region = s->wishes[from].region;
	s->since_new = 0;
	for (size_t i = from; i < to; i++) {
		uint32_t g = s->wishes[i].granule;

		if (n > 0 && ranges[n - 1].granule + ranges[n - 1].n == g) {
			ranges[n - 1].n++;
			continue;
		}
		if (n == RACES_AT_ONCE) {
			if (races_scan(s->t, r, ranges, n, note_touch, s,
				       s->err) < 0)
				return -1;
			n = 0;
		}
		ranges[n++] = (struct range){g, 1};
	}
	return races_scan(s->t, r, ranges, n, note_touch, s, s->err);
}

static int by_region(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	if (x->granule != y->granule)
		return x->granule < y->granule ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static uint32_t lane_of(const struct tell *s, size_t wish)
{
	return s->c->regions[s->wishes[wish].region].lane;
}

static int find_places(struct tell *s)
{
	size_t from = 0;

	s->t->done = 0;
	s->t->total = s->n_wishes;
	for (size_t i = 1; i <= s->n_wishes; i++) {
		if (i < s->n_wishes &&
		    s->wishes[i].region == s->wishes[from].region)
			continue;
		if (look_through(s, from, i) < 0)
			return -1;
		if (i == s->n_wishes || lane_of(s, i) != lane_of(s, from))
			races_leave(s->t, lane_of(s, from));
		from = i;
		s->t->done = i;
	}
	if (s->n > 0)
		qsort(s->places, s->n, sizeof *s->places, by_region);
	return 0;
}

/* Those of a region and granule: the first, and behind the last. */
static void places_of(const struct tell *s, uint32_t region, uint32_t granule,
		      size_t out[2])
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct place *p = &s->places[middle];

		if (p->region < region ||
		    (p->region == region && p->granule < granule))
			low = middle + 1;
		else
			high = middle;
	}
	out[0] = low;
	while (low < s->n && s->places[low].region == region &&
	       s->places[low].granule == granule)
		low++;
	out[1] = low;
}

/* -- Pairs -- */

struct pair {
	uint64_t pcs[2]; /* the lower one first */
	const struct place *first, *second;
	uint64_t times;	   /* of pairs of threads before */
	uint64_t here;	   /* of this one: the most of any granule */
	uint32_t lanes[2]; /* it */
};
struct pairs {
	struct pair *at; /* owned */
	size_t n, room;
};

static int conflicts_with(const struct place *a, const struct place *b)
{
	return (a->is_write || b->is_write) &&
	       a->address < b->address + b->size &&
	       b->address < a->address + a->size;
}

static void count_pair(struct pair *p, const struct conflict *c)
{
	if (p->lanes[0] != c->lanes[0] || p->lanes[1] != c->lanes[1]) {
		p->times += p->here;
		p->here = 0;
		memcpy(p->lanes, c->lanes, sizeof p->lanes);
	}
	if (c->times > p->here)
		p->here = c->times;
}

static int add_pair(struct tell *s, struct pairs *out, const struct place *a,
		    const struct place *b, const struct conflict *c)
{
	uint64_t low = a->pc < b->pc ? a->pc : b->pc,
		 high = a->pc ^ b->pc ^ low;
	struct pair *p;
	size_t i = 0;

	while (i < out->n &&
	       (out->at[i].pcs[0] != low || out->at[i].pcs[1] != high))
		i++;
	if (i == out->room) {
		size_t room = i == 0 ? 64 : 2 * i;
		struct pair *more = reallocarray(out->at, room, sizeof *more);

		if (more == NULL)
			return out_of_memory(s->err);
		out->at = more;
		out->room = room;
	}
	p = &out->at[i];
	if (i == out->n) {
		*p = (struct pair){.pcs = {low, high}, .first = a, .second = b};
		out->n++;
	}
	count_pair(p, c);
	return 0;
}

static int pair_up(struct tell *s, const struct conflict *c, struct pairs *out)
{
	for (unsigned k = 0; k < c->n_examples; k++) {
		size_t a[2], b[2];

		places_of(s, c->examples[k][0], c->granule, a);
		places_of(s, c->examples[k][1], c->granule, b);
		for (size_t i = a[0]; i < a[1]; i++)
			for (size_t j = b[0]; j < b[1]; j++)
				if (conflicts_with(&s->places[i],
						   &s->places[j]) &&
				    add_pair(s, out, &s->places[i],
					     &s->places[j], c) < 0)
					return -1;
	}
	return 0;
}

/* -- Telling -- */

static int describe(struct tell *s, const struct place *p,
		    struct hark_access *out)
{
	const struct hit hit = {.count = p->count,
				.pc = p->pc,
				.address = p->address,
				.size = p->size,
				.is_write = p->is_write};

	return travel_access(s->t, &s->t->lanes[s->c->regions[p->region].lane],
			     &hit, out, s->err);
}

static int by_second(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->second->region != y->second->region)
		return x->second->region < y->second->region ? -1 : 1;
	if (x->second->count != y->second->count)
		return x->second->count < y->second->count ? -1 : 1;
	return (x->pcs[0] > y->pcs[0]) - (x->pcs[0] < y->pcs[0]);
}

/* 1: enough. */
static int tell_pair(struct tell *s, const struct pair *p, hark_each_race *each,
		     void *ctx)
{
	const struct place *a = p->first, *b = p->second;
	uint64_t end = a->address + a->size < b->address + b->size
			   ? a->address + a->size
			   : b->address + b->size;
	struct hark_race race = {.times = p->times + p->here};

	race.address = a->address > b->address ? a->address : b->address;
	race.size = (uint32_t)(end - race.address);
	if (describe(s, a, &race.first) < 0 || describe(s, b, &race.second) < 0)
		return -1;
	races_leave(s->t, s->c->regions[a->region].lane);
	races_leave(s->t, s->c->regions[b->region].lane);
	return each(ctx, &race) != 0;
}

static int by_lanes(const void *a, const void *b)
{
	return memcmp(((const struct conflict *)a)->lanes,
		      ((const struct conflict *)b)->lanes,
		      sizeof((const struct conflict *)a)->lanes);
}

static int tell(struct tell *s, hark_each_race *each, void *ctx)
{
	struct pairs pairs = {0};
	int rc = 0;

	qsort(s->c->at, s->c->n, sizeof *s->c->at, by_lanes);
	for (size_t i = 0; rc == 0 && i < s->c->n; i++)
		rc = pair_up(s, &s->c->at[i], &pairs);
	if (pairs.n > 0)
		qsort(pairs.at, pairs.n, sizeof *pairs.at, by_second);
	for (size_t i = 0; rc == 0 && i < pairs.n; i++)
		rc = tell_pair(s, &pairs.at[i], each, ctx);
	if (rc >= 0)
		rc = pairs.n > 0;
	free(pairs.at);
	return rc;
}

int races_tell(struct timeline *t, const struct conflicts *c,
	       hark_each_race *each, void *ctx, struct hark_err *err)
{
	struct tell s = {.t = t, .c = c, .err = err};
	int rc = list_wishes(&s);

	if (rc == 0)
		rc = find_places(&s);
	if (rc == 0)
		rc = tell(&s, each, ctx);
	free(s.wishes);
	free(s.places);
	return rc;
}
