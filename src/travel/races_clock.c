/* travel/races_clock.c - what comes before what.
 *
 * Every thread counts what it gives; a thread's clock says how far it knows of
 * each. What threads take from and give to has a clock, too. Of every granule
 * the last touch of each thread is kept, byte by byte, as long as another one
 * might still be found not to be ordered with it.
 *
 * K1  Whatever is before something else is told before it.
 * K2  So a touch that is not known to a thread that touches later is not
 *     ordered with it at all.
 * K3  Whoever is not ordered with a touch is not ordered with a later one that
 *     it is before: a store behind it that covers it may stand for it. */
#include "travel/races.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_MAX (2ull << 30) /* of things' clocks */

struct touched {
	uint32_t next; /* plus 1; 0: none */
	uint32_t thread, time, region;
	uint8_t loads, stores;
};

/* Keys and what belongs to them. */
struct slot {
	uint64_t key; /* plus 1; 0: free */
	uint32_t value;
};
struct table {
	struct slot *slots; /* owned */
	size_t n, size;
};

struct clocks {
	unsigned n;	   /* threads */
	uint32_t *threads; /* owned: n of each */
	uint32_t *things;  /* owned: n of each */
	size_t n_things, room_things;
	struct table by_thing;
	struct table by_granule; /* the first touch, plus 1 */
	struct touched *touches; /* owned */
	size_t n_touches, room_touches;
	uint32_t free; /* plus 1: the first that is not used */
};

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM,
		       "no memory for what threads know of each other");
}

/* -- Tables -- */

static struct slot *slot_of(const struct table *t, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15ull >> 24) & (t->size - 1);

	while (t->slots[at].key != 0 && t->slots[at].key != key)
		at = (at + 1) & (t->size - 1);
	return &t->slots[at];
}

static int grow_table(struct table *t)
{
	struct table more = {.n = t->n,
			     .size = t->size == 0 ? 256 : 2 * t->size};

	more.slots = calloc(more.size, sizeof *more.slots);
	if (more.slots == NULL)
		return -1;
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].key != 0)
			*slot_of(&more, t->slots[i].key) = t->slots[i];
	free(t->slots);
	*t = more;
	return 0;
}

/* Finds or makes; NULL: no memory. */
static struct slot *get_slot(struct table *t, uint64_t key)
{
	struct slot *s;

	if (2 * t->n >= t->size && grow_table(t) < 0)
		return NULL;
	s = slot_of(t, key + 1);
	t->n += s->key == 0;
	s->key = key + 1;
	return s;
}

/* -- Life -- */

struct clocks *clocks_new(unsigned n_threads)
{
	struct clocks *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->n = n_threads;
	c->threads =
	    calloc((size_t)n_threads * n_threads + 1, sizeof *c->threads);
	if (c->threads == NULL) {
		free(c);
		return NULL;
	}
	for (unsigned i = 0; i < n_threads; i++)
		c->threads[(size_t)i * n_threads + i] = 1;
	return c;
}

void clocks_free(struct clocks *c)
{
	if (c == NULL)
		return;
	free(c->threads);
	free(c->things);
	free(c->by_thing.slots);
	free(c->by_granule.slots);
	free(c->touches);
	free(c);
}

/* -- Taking and giving -- */

static uint32_t *clock_of(const struct clocks *c, unsigned thread)
{
	return c->threads + (size_t)thread * c->n;
}

const uint32_t *clocks_of(const struct clocks *c, unsigned thread)
{
	return clock_of(c, thread);
}

/* 1: it was not all known before. */
static int join(const struct clocks *c, uint32_t *to, const uint32_t *from)
{
	int is_new = 0;

	for (unsigned i = 0; i < c->n; i++) {
		is_new |= from[i] > to[i];
		to[i] = from[i] > to[i] ? from[i] : to[i];
	}
	return is_new;
}

int clocks_take(struct clocks *c, unsigned thread, uint64_t thing)
{
	const struct slot *s;

	if (c->by_thing.size == 0)
		return 0;
	s = slot_of(&c->by_thing, thing + 1);
	return s->key != 0 && join(c, clock_of(c, thread),
				   c->things + (size_t)s->value * c->n);
}

/* A new one, which knows nothing; -1: no memory. */
static int add_thing(struct clocks *c, uint32_t *out)
{
	if (c->n_things == c->room_things) {
		size_t room = c->room_things == 0 ? 64 : 2 * c->room_things;
		uint32_t *more;

		if (room * c->n * sizeof *more > MEMORY_MAX)
			return -1;
		more = reallocarray(c->things, room * c->n, sizeof *more);
		if (more == NULL)
			return -1;
		c->things = more;
		c->room_things = room;
	}
	*out = (uint32_t)c->n_things++;
	memset(c->things + (size_t)*out * c->n, 0, c->n * sizeof *c->things);
	return 0;
}

int clocks_give(struct clocks *c, unsigned thread, uint64_t thing,
		struct hark_err *err)
{
	size_t before = c->by_thing.n;
	struct slot *s = get_slot(&c->by_thing, thing);
	uint32_t *own = clock_of(c, thread);

	if (s == NULL ||
	    (c->by_thing.n > before && add_thing(c, &s->value) < 0))
		return out_of_memory(err);
	join(c, c->things + (size_t)s->value * c->n, own);
	own[thread]++;
	return 0;
}

/* -- Touches -- */

static int add_touch(struct clocks *c, struct slot *s,
		     const struct touched *what)
{
	uint32_t at = c->free;

	if (at == 0 && c->n_touches == c->room_touches) {
		size_t room = c->room_touches == 0 ? 256 : 2 * c->room_touches;
		struct touched *more =
		    reallocarray(c->touches, room, sizeof *more);

		if (more == NULL || room >= UINT32_MAX)
			return -1;
		c->touches = more;
		c->room_touches = room;
	}
	if (at == 0)
		at = (uint32_t)++c->n_touches;
	else
		c->free = c->touches[at - 1].next;
	c->touches[at - 1] = *what;
	c->touches[at - 1].next = s->value;
	s->value = at;
	return 0;
}

/* K3: of one that is before it, its own for instance. */
static void stands_for(struct touched *old, const struct touched *what)
{
	old->loads &= (uint8_t)~what->stores;
	old->stores &= (uint8_t)~what->stores;
	if (old->thread == what->thread)
		old->loads &= (uint8_t)~what->loads;
}

int clocks_touch(struct clocks *c, unsigned thread, uint32_t granule,
		 const struct clocks_touch *what, clocks_each *each, void *ctx,
		 struct hark_err *err)
{
	struct touched now = {.thread = thread,
			      .time = clock_of(c, thread)[thread],
			      .region = what->region,
			      .loads = what->loads,
			      .stores = what->stores};
	struct slot *s = get_slot(&c->by_granule, granule);
	uint32_t *at;

	if (s == NULL)
		return out_of_memory(err);
	for (at = &s->value; *at != 0;) {
		struct touched *old = &c->touches[*at - 1];
		uint8_t bytes =
		    (uint8_t)((old->stores & (now.loads | now.stores)) |
			      (old->loads & now.stores));
		uint32_t gone = *at;

		if (old->time <= clock_of(c, thread)[old->thread])
			stands_for(old, &now);
		else if (bytes != 0 &&
			 each(ctx, granule, old->region, bytes) != 0)
			return -1;
		if ((old->loads | old->stores) != 0) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		old->next = c->free;
		c->free = gone;
	}
	return add_touch(c, s, &now) < 0 ? out_of_memory(err) : 0;
}
