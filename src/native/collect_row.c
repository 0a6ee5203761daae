/* native/collect_row.c - aggregations, as one thread has them.
 *
 * Each area has its own rows, so nothing is shared while it is counted; hark
 * puts the rows of all areas together (board_rows.c). Rows are only added, and
 * published by .used; a row's cells change under .sequence, so that hark does
 * not see half of an average. The hot paths of collect.c change single cells
 * and need no sequence.
 *
 * What is cleared is mostly hark's business: it remembers what there was and
 * subtracts it. min and max cannot be subtracted. They have two sets of cells
 * and a generation on the board:
 *
 *   R1  A value goes into the set of the generation that is current; a set
 *       that was of an older one is made empty first. So the set of the
 *       generation before stays as it was until there is a second clear().
 *   R2  After the value is in, the generation is looked at again, and if it
 *       has changed the value goes into the new set, too. So hark, which
 *       changes the generation and then looks at the old set once more, misses
 *       no value: it is in the set that hark looks at, or in the new one. */
#include "native/collect_board.h"

#include "script/aggregate.h"

static uint32_t hash_of(uint32_t aggregation, const uint8_t *key, uint32_t len)
{
	uint64_t hash = aggregation + 1;

	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word;

		__builtin_memcpy(&word, key + i, sizeof word);
		hash = (hash ^ word) * COLLECT_HASH;
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash ^ hash >> 32);
}

static bool is_key(const struct collect_row *row, const uint8_t *key,
		   uint32_t len)
{
	const uint8_t *has = (const uint8_t *)(row + 1);

	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t a, b;

		__builtin_memcpy(&a, key + i, sizeof a);
		__builtin_memcpy(&b, has + i, sizeof b);
		if (a != b)
			return false;
	}
	return true;
}

static uint8_t *rows_begin(const struct collect_work *w)
{
	return (uint8_t *)&w->rows->bucket[w->n_buckets];
}

/* Can a row of that many bytes be there? */
static bool is_row(const struct collect_work *w, uint32_t offset, uint64_t size)
{
	return offset % 8 == 0 && offset + size <= w->rows_size;
}

static struct collect_row *row_at(const struct collect_work *w, uint32_t offset)
{
	return (struct collect_row *)(void *)(rows_begin(w) + offset);
}

static uint32_t n_sets(const struct probe_aggregation *a)
{
	return collect_takes_turns(a) ? 2 : 1;
}

static uint64_t size_of(const struct probe_aggregation *a, uint32_t len)
{
	return sizeof(struct collect_row) + len +
	       (uint64_t)a->n_cells * n_sets(a) * sizeof(uint64_t);
}

static uint32_t *bucket_of(const struct collect_work *w, uint32_t hash)
{
	return &w->rows->bucket[hash & (w->n_buckets - 1)];
}

/* NULL: no room. */
static struct collect_row *add_row(struct collect_work *w, uint32_t aggregation,
				   const uint8_t *key, uint32_t len,
				   uint32_t hash)
{
	uint32_t *bucket = bucket_of(w, hash);
	const struct probe_aggregation *a =
	    &probe_aggregations(w->h.program)[aggregation];
	uint32_t used = __atomic_load_n(&w->rows->used, __ATOMIC_RELAXED);
	uint64_t size = size_of(a, len);
	struct collect_row *row = row_at(w, used);

	if (!is_row(w, used, size)) {
		collect_lack(w, COLLECT_NO_ROW);
		return NULL;
	}
	row->size = (uint32_t)size;
	row->aggregation = aggregation;
	row->key_len = len;
	row->next = *bucket;
	row->hash = hash;
	row->generation[0] = row->generation[1] = UINT32_MAX;
	row->zero = 0;
	row->sequence = 0;
	if (len > 0)
		__builtin_memcpy(row + 1, key, len);
	for (uint32_t i = 0; i < n_sets(a); i++)
		aggregate_init(a, collect_cells(row, len) +
				      (size_t)i * a->n_cells);
	/* In this order: whoever is killed between leaves a row that nobody
	 * finds, never one that is found twice. */
	__atomic_store_n(&w->rows->used, used + (uint32_t)size,
			 __ATOMIC_RELEASE);
	*bucket = used + 1;
	return row;
}

/* D1: a list leads from new rows to old ones, which lie before them; one that
 * leads elsewhere is damaged, and ends there. */
static uint32_t next_of(const struct collect_work *w, uint32_t at)
{
	uint32_t next;

	if (!is_row(w, at - 1, sizeof(struct collect_row)))
		return 0;
	next = __atomic_load_n(&row_at(w, at - 1)->next, __ATOMIC_RELAXED);
	return next < at ? next : 0;
}

/* Is there the row of that key? */
static inline bool is_that(const struct collect_work *w, uint32_t at,
			   uint32_t aggregation, const uint8_t *key,
			   uint32_t len, uint32_t hash)
{
	const struct probe_aggregation *a =
	    &probe_aggregations(w->h.program)[aggregation];
	const struct collect_row *row = row_at(w, at - 1);

	return is_row(w, at - 1, size_of(a, len)) && row->hash == hash &&
	       row->aggregation == aggregation && row->key_len == len &&
	       is_key(row, key, len);
}

/* It is not the newest of its bucket. */
static __attribute__((noinline)) struct collect_row *
other_row(struct collect_work *w, uint32_t aggregation, const uint8_t *key,
	  uint32_t len, uint32_t hash)
{
	uint32_t at = __atomic_load_n(bucket_of(w, hash), __ATOMIC_RELAXED);

	for (; at != 0; at = next_of(w, at))
		if (is_that(w, at, aggregation, key, len, hash))
			return row_at(w, at - 1);
	return add_row(w, aggregation, key, len, hash);
}

static struct collect_row *keyed_row(struct collect_work *w,
				     uint32_t aggregation, const uint8_t *key,
				     uint32_t len)
{
	uint32_t hash = hash_of(aggregation, key, len);
	uint32_t at = __atomic_load_n(bucket_of(w, hash), __ATOMIC_RELAXED);

	return at != 0 && is_that(w, at, aggregation, key, len, hash)
		   ? row_at(w, at - 1)
		   : other_row(w, aggregation, key, len, hash);
}

struct collect_row *collect_row(struct collect_work *w, uint32_t aggregation,
				const uint8_t *key, uint32_t len)
{
	struct collect_row *row;

	if (len > 0)
		return keyed_row(w, aggregation, key, len);
	if (w->singles[aggregation] != 0)
		return (struct collect_row *)(uintptr_t)w->singles[aggregation];
	row = keyed_row(w, aggregation, key, len);
	if (row != NULL)
		w->singles[aggregation] = (uint64_t)(uintptr_t)row;
	return row;
}

/* R1 */
static void update_turn(const struct probe_aggregation *a,
			struct collect_row *row, uint32_t len,
			uint32_t generation, int64_t value)
{
	uint64_t *cells =
	    collect_cells(row, len) + (size_t)(generation & 1) * a->n_cells;

	if (row->generation[generation & 1] != generation) {
		aggregate_init(a, cells);
		__atomic_store_n(&row->generation[generation & 1], generation,
				 __ATOMIC_RELEASE);
	}
	aggregate_update(a, cells, value, 1);
}

/* R2 */
static void update_turns(const struct probe_aggregation *a,
			 struct collect_row *row, uint32_t len,
			 const uint32_t *current, int64_t value)
{
	uint32_t seen = __atomic_load_n(current, __ATOMIC_ACQUIRE), now;

	/* hark clears now and then; whoever writes this word all the time has
	 * damaged the board. */
	for (unsigned i = 0; i < 8; i++) {
		update_turn(a, row, len, seen, value);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		now = __atomic_load_n(current, __ATOMIC_ACQUIRE);
		if (now == seen)
			return;
		seen = now;
	}
}

void collect_aggregate(struct machine_host *h, uint32_t aggregation,
		       const uint8_t *key, uint32_t len, int64_t value,
		       int64_t weight)
{
	struct collect_work *w = (struct collect_work *)h;
	const struct probe_aggregation *a =
	    &probe_aggregations(h->program)[aggregation];
	struct collect_row *row = collect_row(w, aggregation, key, len);

	if (row == NULL)
		return;
	__atomic_store_n(&row->sequence, row->sequence | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (collect_takes_turns(a))
		update_turns(a, row, len, &w->generations[aggregation], value);
	else
		aggregate_update(a, collect_cells(row, len), value, weight);
	__atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELEASE);
}
