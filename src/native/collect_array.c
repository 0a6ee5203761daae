/* native/collect_array.c - associative arrays: one table for all threads.
 *
 * Entries are found by hash; their memory is of a few sizes, each with a list
 * of free ones. The lock is held from the look-up until the machine is done
 * with the cell. Entries of self-> arrays belong to one owner of one area:
 * when he is gone nobody finds them, and when there is no more room they are
 * swept out.
 *
 * A1  No offset is followed that does not lead to a whole entry, and no list
 *     is gone through for longer than it can be: the program may write here,
 *     and hark uses the table, too.
 * A2  If a process is killed while it holds the lock, the lock stays taken,
 *     and nobody meets a table that is half changed. */
#include "native/collect_board.h"

enum { CLASSES = 12, CLASS_MIN = 64, BUCKET_SHARE = 16 };

struct collect_arrays {
	uint32_t used;		/* bytes, from here on */
	uint32_t swept;		/* board.ended when it was swept last */
	uint32_t free[CLASSES]; /* offsets of entries; 0: none */
	uint32_t bucket[];
};

struct entry {
	uint32_t next; /* in its bucket, or in the list of free ones */
	uint32_t hash;
	uint32_t variable;
	uint32_t area, owner; /* of self-> arrays; else 0 */
	uint32_t key_len;
	uint32_t class;
	uint32_t zero;
	/* key, value */
};

uint32_t collect_array_buckets(uint32_t size)
{
	uint32_t n = 1;

	if (size < 16 * CLASS_MIN)
		return 0;
	while (n < (1U << 24) &&
	       2 * sizeof(uint32_t) * BUCKET_SHARE * n <= size)
		n *= 2;
	return n;
}

static uint32_t first_entry(const struct collect_work *w)
{
	return (uint32_t)(sizeof *w->arrays +
			  w->n_array_buckets * sizeof(uint32_t) + CLASS_MIN -
			  1) &
	       ~(CLASS_MIN - 1U);
}

/* -- Entries -- */

static bool fits(const struct collect_work *w, uint32_t offset, uint32_t class)
{
	return class < CLASSES &&
	       (uint32_t)CLASS_MIN << class <= w->arrays_size - offset;
}

/* A1. NULL: there is none, or it cannot be one. */
static struct entry *entry_at(const struct collect_work *w, uint32_t offset)
{
	struct entry *e;

	if (offset == 0 || offset % 8 != 0 ||
	    offset > w->arrays_size - CLASS_MIN)
		return NULL;
	e = (struct entry *)(void *)((uint8_t *)w->arrays + offset);
	return fits(w, offset, __atomic_load_n(&e->class, __ATOMIC_RELAXED))
		   ? e
		   : NULL;
}

static uint32_t offset_of(const struct collect_work *w, const struct entry *e)
{
	return (uint32_t)((const uint8_t *)e - (const uint8_t *)w->arrays);
}

/* Whose it is, and which: what is compared. */
struct wanted {
	struct entry head;
	const uint8_t *key;
	uint32_t value_size;
};

static uint32_t hash_of(uint64_t hash, const uint8_t *key, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word;

		__builtin_memcpy(&word, key + i, sizeof word);
		hash = (hash ^ word) * COLLECT_HASH;
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash ^ hash >> 32);
}

/* False: it is larger than any entry can be. */
static bool want(const struct collect_work *w, uint32_t variable,
		 const uint8_t *key, uint32_t len, struct wanted *out)
{
	const struct probe_variable *v =
	    &probe_variables(w->h.program)[variable];
	uint64_t size;

	*out = (struct wanted){.head = {.variable = variable, .key_len = len},
			       .key = key};
	out->value_size = v->kind == PROBE_STRING
			      ? machine_text_slot(w->h.program)
			      : (uint32_t)sizeof(uint64_t);
	if (v->scope != PROBE_GLOBAL) {
		out->head.area = w->area->number + 1;
		out->head.owner = w->area->owner;
	}
	out->head.hash =
	    hash_of(variable + 1 + ((uint64_t)out->head.area << 32), key, len);
	size = sizeof(struct entry) + len + (uint64_t)out->value_size;
	while (out->head.class < CLASSES && size > (uint64_t)CLASS_MIN
						       << out->head.class)
		out->head.class ++;
	return out->head.class < CLASSES;
}

static bool is_wanted(const struct collect_work *w, const struct entry *e,
		      const struct wanted *want)
{
	return e->hash == want->head.hash && e->class == want->head.class &&
	       e->variable == want->head.variable &&
	       e->area == want->head.area && e->owner == want->head.owner &&
	       e->key_len == want->head.key_len &&
	       fits(w, offset_of(w, e), want->head.class) &&
	       __builtin_memcmp(e + 1, want->key, want->head.key_len) == 0;
}

/* NULL: it is not there; else *from is where its offset is kept. */
static struct entry *find(const struct collect_work *w,
			  const struct wanted *want, uint32_t **from)
{
	uint32_t *at =
	    &w->arrays->bucket[want->head.hash & (w->n_array_buckets - 1)];

	for (uint32_t i = 0; i < w->arrays_size / CLASS_MIN; i++) {
		struct entry *e = entry_at(w, *at);

		if (e == NULL)
			return NULL;
		if (is_wanted(w, e, want)) {
			*from = at;
			return e;
		}
		at = &e->next;
	}
	return NULL;
}

static void take_out(const struct collect_work *w, uint32_t *at,
		     struct entry *e, uint32_t class)
{
	*at = e->next;
	e->next = w->arrays->free[class];
	w->arrays->free[class] = offset_of(w, e);
}

/* -- Room -- */

/* Does its thread live? */
static bool has_owner(const struct collect_work *w,
		      const struct collect_layout *l, const struct entry *e)
{
	uint32_t number = e->area;
	const struct collect_part *part;

	/* Everybody's, or hark's. */
	if (number == 0 || number > w->plan->geometry.max_threads)
		return true;
	part = collect_in(w->board, l->parts + (number - 1) * l->part_stride);
	return e->owner == __atomic_load_n(&part->owner, __ATOMIC_RELAXED);
}

static void sweep_bucket(const struct collect_work *w,
			 const struct collect_layout *l, uint32_t *at)
{
	for (uint32_t i = 0; i < w->arrays_size / CLASS_MIN; i++) {
		struct entry *e = entry_at(w, *at);
		uint32_t class = e != NULL ? e->class : CLASSES;

		if (class >= CLASSES)
			return;
		if (has_owner(w, l, e))
			at = &e->next;
		else
			take_out(w, at, e, class);
	}
}

/* What belongs to threads that are no more. */
static void sweep(const struct collect_work *w)
{
	uint32_t ended = __atomic_load_n(&w->board->ended, __ATOMIC_RELAXED);
	struct collect_layout l;

	if (w->arrays->swept == ended)
		return;
	w->arrays->swept = ended;
	collect_layout(&w->plan->geometry, w->h.program, &l);
	for (uint32_t i = 0; i < w->n_array_buckets; i++)
		sweep_bucket(w, &l, &w->arrays->bucket[i]);
}

static struct entry *take(const struct collect_work *w, uint32_t class)
{
	struct entry *e = entry_at(w, w->arrays->free[class]);
	uint32_t size = CLASS_MIN << class, used = w->arrays->used;

	if (e != NULL && fits(w, offset_of(w, e), class)) {
		w->arrays->free[class] = e->next;
		return e;
	}
	if (used == 0)
		used = first_entry(w);
	if (used % 8 != 0 || used > w->arrays_size ||
	    size > w->arrays_size - used)
		return NULL;
	w->arrays->used = used + size;
	return (struct entry *)(void *)((uint8_t *)w->arrays + used);
}

static uint8_t *create(const struct collect_work *w, const struct wanted *want)
{
	uint32_t *bucket =
	    &w->arrays->bucket[want->head.hash & (w->n_array_buckets - 1)];
	struct entry *e = take(w, want->head.class);
	uint8_t *value;

	if (e == NULL) {
		sweep(w);
		e = take(w, want->head.class);
	}
	if (e == NULL)
		return NULL;
	*e = want->head;
	e->next = *bucket;
	__builtin_memcpy(e + 1, want->key, want->head.key_len);
	value = (uint8_t *)(e + 1) + want->head.key_len;
	__builtin_memset(value, 0, want->value_size);
	*bucket = offset_of(w, e);
	return value;
}

/* -- For the machine -- */

static bool take_lock(struct collect_work *w)
{
	if (w->n_array_buckets == 0) {
		collect_lack(w, COLLECT_NO_CELL);
		return false;
	}
	if (collect_lock(&w->board->arrays, w->area->number))
		return true;
	collect_lack(w, COLLECT_LOCKED);
	return false;
}

void collect_cell_done(struct machine_host *h)
{
	struct collect_work *w = (struct collect_work *)h;

	if (w->has_cell)
		collect_unlock(&w->board->arrays);
	w->has_cell = false;
}

void *collect_cell(struct machine_host *h, uint32_t variable,
		   const uint8_t *key, uint32_t len, bool is_new)
{
	struct collect_work *w = (struct collect_work *)h;
	struct wanted wanted;
	struct entry *e;
	uint8_t *value;
	uint32_t *from;

	if (!want(w, variable, key, len, &wanted)) {
		if (is_new)
			collect_lack(w, COLLECT_NO_CELL);
		return NULL;
	}
	if (!take_lock(w))
		return NULL;
	w->has_cell = true;
	e = find(w, &wanted, &from);
	if (e != NULL)
		return (uint8_t *)(e + 1) + len;
	if (!is_new)
		return NULL;
	value = create(w, &wanted);
	if (value == NULL)
		collect_lack(w, COLLECT_NO_CELL);
	return value;
}

void collect_forget(struct machine_host *h, uint32_t variable,
		    const uint8_t *key, uint32_t len)
{
	struct collect_work *w = (struct collect_work *)h;
	struct wanted wanted;
	struct entry *e;
	uint32_t *from;

	if (!want(w, variable, key, len, &wanted) || !take_lock(w))
		return;
	e = find(w, &wanted, &from);
	if (e != NULL)
		take_out(w, from, e, wanted.head.class);
	collect_unlock(&w->board->arrays);
}
