/* probe/collect_array.c - associative arrays: one table for all threads.
 *
 * Entries are found by hash; their memory is of a few sizes, each with a list
 * of free ones. The lock is held from the look-up until the machine is done
 * with the cell. Entries of self-> arrays belong to one owner of one area:
 * when he is gone nobody finds them, and when there is no more room they are
 * swept out.
 *
 * The table is damaged if a process is killed while it holds the lock; then
 * the lock stays taken, and nobody sees the damage. */
#include "probe/collect_priv.h"

enum { CLASSES = 12, CLASS_MIN = 64, BUCKET_SHARE = 16 };

struct collect_arrays {
	uint32_t size; /* bytes of all, from here on */
	uint32_t used;
	uint32_t n_buckets;	/* a power of two */
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

void collect_arrays_init(struct collect_arrays *arrays, uint32_t size)
{
	uint32_t n = 1;

	if (size < sizeof *arrays + CLASS_MIN)
		return;
	while (n < (1U << 24) &&
	       n * 2 * sizeof(uint32_t) * BUCKET_SHARE <= size)
		n *= 2;
	arrays->size = size;
	arrays->n_buckets = n;
	arrays->used =
	    (uint32_t)(sizeof *arrays + n * sizeof(uint32_t) + 7) & ~7U;
}

/* -- Entries -- */

static struct entry *entry_at(struct collect_arrays *arrays, uint32_t offset)
{
	return (struct entry *)(void *)((uint8_t *)arrays + offset);
}

static uint32_t offset_of(struct collect_arrays *arrays,
			  const struct entry *entry)
{
	return (uint32_t)((const uint8_t *)entry - (const uint8_t *)arrays);
}

static uint8_t *value_of(struct entry *entry)
{
	return (uint8_t *)(entry + 1) + entry->key_len;
}

/* Whose it is, and which: what is compared. */
struct wanted {
	struct entry head;
	const uint8_t *key;
	uint32_t value_size;
};

static struct wanted want(struct collect_work *w, uint32_t variable,
			  const uint8_t *key, uint32_t len)
{
	const struct probe_variable *v =
	    &probe_variables(w->h.program)[variable];
	struct wanted want = {.head = {.variable = variable, .key_len = len},
			      .key = key};
	uint64_t hash;

	want.value_size = v->kind == PROBE_STRING
			      ? machine_text_slot(w->h.program)
			      : (uint32_t)sizeof(uint64_t);
	if (v->scope != PROBE_GLOBAL) {
		want.head.area = w->area->number + 1;
		want.head.owner =
		    __atomic_load_n(&w->area->owner, __ATOMIC_RELAXED);
	}
	hash = variable + 1 + ((uint64_t)want.head.area << 32);
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word;

		__builtin_memcpy(&word, key + i, sizeof word);
		hash = (hash ^ word) * COLLECT_HASH;
		hash ^= hash >> 29;
	}
	want.head.hash = (uint32_t)(hash ^ hash >> 32);
	return want;
}

static bool is_wanted(const struct entry *e, const struct wanted *want)
{
	return e->hash == want->head.hash &&
	       e->variable == want->head.variable &&
	       e->area == want->head.area && e->owner == want->head.owner &&
	       e->key_len == want->head.key_len &&
	       __builtin_memcmp(e + 1, want->key, e->key_len) == 0;
}

/* Where the offset of the wanted entry is kept; of 0 if it is not there. */
static uint32_t *find(struct collect_arrays *arrays, const struct wanted *want)
{
	uint32_t *at =
	    &arrays->bucket[want->head.hash & (arrays->n_buckets - 1)];

	while (*at != 0 && !is_wanted(entry_at(arrays, *at), want))
		at = &entry_at(arrays, *at)->next;
	return at;
}

static void take_out(struct collect_arrays *arrays, uint32_t *at)
{
	struct entry *e = entry_at(arrays, *at);

	*at = e->next;
	e->next = arrays->free[e->class];
	arrays->free[e->class] = offset_of(arrays, e);
}

/* -- Room -- */

/* Does its thread live? */
static bool has_owner(const struct collect_work *w,
		      const struct collect_layout *l, const struct entry *e)
{
	const uint8_t *area = (const uint8_t *)w->board + l->areas +
			      (e->area - 1) * l->area_stride;

	return e->area == 0 ||
	       e->owner ==
		   __atomic_load_n(
		       &((const struct collect_area *)(const void *)area)
			    ->owner,
		       __ATOMIC_RELAXED);
}

/* What belongs to threads that are no more. */
static void sweep(const struct collect_work *w)
{
	uint32_t ended = __atomic_load_n(&w->board->ended, __ATOMIC_RELAXED);
	struct collect_arrays *arrays = w->arrays;
	struct collect_layout l;

	if (arrays->swept == ended)
		return;
	arrays->swept = ended;
	collect_layout(&w->plan->geometry, w->h.program, &l);
	for (uint32_t i = 0; i < arrays->n_buckets; i++) {
		uint32_t *at = &arrays->bucket[i];

		while (*at != 0) {
			struct entry *e = entry_at(arrays, *at);

			if (has_owner(w, &l, e))
				at = &e->next;
			else
				take_out(arrays, at);
		}
	}
}

static struct entry *take(struct collect_arrays *arrays, uint32_t class)
{
	uint32_t size = CLASS_MIN << class, at = arrays->free[class];

	if (at != 0) {
		arrays->free[class] = entry_at(arrays, at)->next;
		return entry_at(arrays, at);
	}
	if (size > arrays->size - arrays->used)
		return NULL;
	at = arrays->used;
	arrays->used += size;
	return entry_at(arrays, at);
}

static struct entry *create(struct collect_work *w, const struct wanted *want)
{
	struct collect_arrays *arrays = w->arrays;
	uint64_t size = sizeof(struct entry) + want->head.key_len +
			(uint64_t)want->value_size;
	uint32_t class = 0, *bucket;
	struct entry *e;

	while (class < CLASSES && size > (uint64_t)CLASS_MIN << class)
		class ++;
	if (class == CLASSES)
		return NULL;
	e = take(arrays, class);
	if (e == NULL) {
		sweep(w);
		e = take(arrays, class);
	}
	if (e == NULL)
		return NULL;
	bucket = &arrays->bucket[want->head.hash & (arrays->n_buckets - 1)];
	*e = want->head;
	e->class = class;
	e->next = *bucket;
	__builtin_memcpy(e + 1, want->key, want->head.key_len);
	__builtin_memset(value_of(e), 0, want->value_size);
	*bucket = offset_of(arrays, e);
	return e;
}

/* -- For the machine -- */

static bool take_lock(struct collect_work *w)
{
	if (w->arrays->n_buckets == 0) {
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
	struct wanted wanted = want(w, variable, key, len);
	struct entry *e = NULL;
	uint32_t at;

	if (!take_lock(w))
		return NULL;
	w->has_cell = true;
	at = *find(w->arrays, &wanted);
	if (at != 0) {
		e = entry_at(w->arrays, at);
	} else if (is_new) {
		e = create(w, &wanted);
		if (e == NULL)
			collect_lack(w, COLLECT_NO_CELL);
	}
	return e != NULL ? value_of(e) : NULL;
}

void collect_forget(struct machine_host *h, uint32_t variable,
		    const uint8_t *key, uint32_t len)
{
	struct collect_work *w = (struct collect_work *)h;
	struct wanted wanted = want(w, variable, key, len);
	uint32_t *at;

	if (!take_lock(w))
		return;
	at = find(w->arrays, &wanted);
	if (*at != 0)
		take_out(w->arrays, at);
	collect_unlock(&w->board->arrays);
}
