/* probe/board_rows.c - aggregations of all threads together.
 *
 * Threads only ever add (collect_row.c). What hark clears it remembers, and
 * subtracts it from then on; a row that it truncates is not shown until it has
 * changed. min and max cannot be subtracted: their generation is changed, and
 * what came between the look at the old set and the change is carried over.
 *
 *	.raw	what the threads have, all together
 *	.past	what is cleared; of min and max what is carried over
 *	.shown	the difference, or both together */
#include "probe/board_priv.h"

#include "probe/namesake.h"
#include "script/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	RETRIES = 64,
	TABLE_MIN = 64,
	NAP_NS = 50 * 1000,
	NAPS = 1000, /* of one look: 50 ms and more */
};

static const struct probe_aggregation *how_of(const struct board *b,
					      uint32_t aggregation)
{
	return &probe_aggregations(b->program)[aggregation];
}

void board_aggregation_free(struct board_aggregation *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->rows[i].raw);
	free(a->rows);
	free(a->table);
}

/* -- Rows by key -- */

static uint32_t hash_of(const uint8_t *key, uint32_t len)
{
	uint64_t hash = len;

	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ key[i]) * COLLECT_HASH;
	return (uint32_t)(hash >> 32);
}

static int grow_table(struct board_aggregation *a, struct hark_err *err)
{
	size_t size = a->table_size == 0 ? TABLE_MIN : a->table_size * 2;
	uint32_t *table = calloc(size, sizeof *table);

	if (table == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory for aggregations");
	for (size_t i = 0; i < a->n; i++) {
		size_t at = a->rows[i].hash & (size - 1);

		while (table[at] != 0)
			at = (at + 1) & (size - 1);
		table[at] = (uint32_t)i + 1;
	}
	free(a->table);
	a->table = table;
	a->table_size = size;
	return 0;
}

static int grow_rows(struct board_aggregation *a, struct hark_err *err)
{
	size_t room = a->room == 0 ? TABLE_MIN / 2 : a->room * 2;
	struct board_row *rows = reallocarray(a->rows, room, sizeof *rows);

	if (rows == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory for aggregations");
	a->rows = rows;
	a->room = room;
	return 0;
}

static struct board_row *add_row(struct board_aggregation *a,
				 const struct probe_aggregation *how,
				 const uint8_t *key, uint32_t len,
				 uint32_t hash, struct hark_err *err)
{
	size_t cells = how->n_cells * sizeof(uint64_t);
	struct board_row *row;
	uint8_t *block;

	if (a->n == a->room && grow_rows(a, err) < 0)
		return NULL;
	block = calloc(1, 3 * cells + len + 1);
	if (block == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "no memory for aggregations");
		return NULL;
	}
	row = &a->rows[a->n++];
	*row = (struct board_row){.key_len = len, .hash = hash};
	row->raw = (uint64_t *)(void *)block;
	row->past = (uint64_t *)(void *)(block + cells);
	row->shown = (uint64_t *)(void *)(block + 2 * cells);
	row->key = block + 3 * cells;
	memcpy(row->key, key, len);
	aggregate_init(how, row->raw);
	aggregate_init(how, row->past);
	if (!collect_takes_turns(how))
		memset(row->past, 0, cells);
	return row;
}

/* Made if it is new; NULL: no memory. */
static struct board_row *find_row(struct board_aggregation *a,
				  const struct probe_aggregation *how,
				  const uint8_t *key, uint32_t len,
				  struct hark_err *err)
{
	uint32_t hash = hash_of(key, len);
	struct board_row *row;
	size_t at;

	if ((a->n + 1) * 2 > a->table_size && grow_table(a, err) < 0)
		return NULL;
	for (at = hash & (a->table_size - 1); a->table[at] != 0;
	     at = (at + 1) & (a->table_size - 1)) {
		row = &a->rows[a->table[at] - 1];
		if (row->hash == hash && row->key_len == len &&
		    memcmp(row->key, key, len) == 0)
			return row;
	}
	row = add_row(a, how, key, len, hash, err);
	if (row != NULL)
		a->table[at] = (uint32_t)a->n;
	return row;
}

/* -- Reading the areas -- */

/* One row of an area. */
struct source {
	const struct collect_row *at;
	struct collect_row head; /* a copy, checked */
};

static bool is_sound(const struct board *b, const struct collect_row *row,
		     uint64_t left)
{
	const struct probe_aggregation *how;
	uint64_t cells;

	if (row->aggregation >= b->program->aggregations.n ||
	    row->key_len % 8 != 0 || row->size > left)
		return false;
	how = how_of(b, row->aggregation);
	cells = how->n_cells * (collect_takes_turns(how) ? 2ULL : 1ULL);
	return row->size ==
	       sizeof *row + (uint64_t)row->key_len + cells * sizeof(uint64_t);
}

/* Is that the row at one moment? */
static bool copy_once(const struct source *s, const uint64_t *cells, uint32_t n,
		      uint64_t *out, uint64_t *sequence)
{
	*sequence = __atomic_load_n(&s->at->sequence, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		out[i] = __atomic_load_n(&cells[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return *sequence % 2 == 0 &&
	       *sequence == __atomic_load_n(&s->at->sequence, __ATOMIC_RELAXED);
}

/* All cells of a row, as they were at one moment. A thread that is in the
 * middle of it may have lost its CPU, and is waited for; one that was killed or
 * stopped there is not, for long: then it is what there is. */
static void copy_cells(struct board *b, const struct source *s, uint32_t n,
		       uint64_t *sequence)
{
	const uint64_t *cells =
	    (const uint64_t *)(const void *)((const uint8_t *)(s->at + 1) +
					     s->head.key_len);
	const struct timespec nap = {.tv_nsec = NAP_NS};

	for (;;) {
		for (unsigned k = 0; k < RETRIES; k++)
			if (copy_once(s, cells, n, b->cells, sequence))
				return;
		if (b->naps == 0)
			return;
		b->naps--;
		nanosleep(&nap, NULL);
	}
}

/* A generation of min or max; 0: all others. */
static void merge(struct board *b, const struct source *s,
		  const struct probe_aggregation *how, uint32_t generation,
		  struct board_row *row)
{
	uint32_t set = collect_takes_turns(how) ? generation & 1 : 0;
	uint32_t n = how->n_cells, all = collect_takes_turns(how) ? 2 * n : n;
	uint64_t sequence;

	copy_cells(b, s, all, &sequence);
	row->sequence += sequence;
	if (collect_takes_turns(how) &&
	    __atomic_load_n(&s->at->generation[set], __ATOMIC_ACQUIRE) !=
		generation)
		return;
	aggregate_merge(how, row->raw, b->cells + (size_t)set * n);
}

static bool is_by_name(const struct probe_part *p)
{
	return p->kind == PROBE_SYMBOL || p->kind == PROBE_FUNCTION ||
	       p->kind == PROBE_MODULE;
}

/* Bytes of a part of a key; 0: it is damaged. */
static uint32_t part_len(const struct probe_part *p, const uint8_t *at,
			 uint32_t left)
{
	uint64_t len = 8, n = 0;

	if (p->kind == PROBE_STRING && left >= 8) {
		memcpy(&n, at, 4);
		len = (4 + n + 1 + 7) & ~7ull;
	} else if (p->kind == PROBE_STACK && left >= 8) {
		memcpy(&n, at, 8);
		len = n <= PROBE_FRAMES_MAX ? 8 + 8 * n : 0;
	}
	return len <= left ? (uint32_t)len : 0;
}

static int unite_names(struct board *b, const struct probe_aggregation *how,
		       uint32_t key_len, struct hark_err *err)
{
	const struct probe_part *part =
	    probe_parts(b->program) + how->first_key;
	uint32_t at = 0, len;

	for (unsigned i = 0; b->names != NULL && i < how->n_keys; i++) {
		len = part_len(&part[i], b->key + at, key_len - at);
		if (len == 0)
			return 0;
		if (is_by_name(&part[i])) {
			uint64_t addr;

			memcpy(&addr, b->key + at, sizeof addr);
			if (namesake_find(b->names, part[i].kind, &addr, err) <
			    0)
				return -1;
			memcpy(b->key + at, &addr, sizeof addr);
		}
		at += len;
	}
	return 0;
}

void board_name_by(struct board *b, struct namesake *n)
{
	b->names = n;
}

static struct board_row *row_of(struct board *b, const struct source *s,
				struct hark_err *err)
{
	const struct probe_aggregation *how = how_of(b, s->head.aggregation);

	memcpy(b->key, s->at + 1, s->head.key_len);
	if (unite_names(b, how, s->head.key_len, err) < 0)
		return NULL;
	return find_row(&b->aggregations[s->head.aggregation], how, b->key,
			s->head.key_len, err);
}

static int read_row(struct board *b, const struct source *s,
		    uint32_t generation, struct hark_err *err)
{
	struct board_row *row = row_of(b, s, err);

	if (row == NULL)
		return -1;
	merge(b, s, how_of(b, s->head.aggregation), generation, row);
	return 0;
}

/* Bytes of rows that there are; too many: none. */
static uint64_t used_of(struct board *b, const struct collect_rows *rows)
{
	uint64_t used = __atomic_load_n(&rows->used, __ATOMIC_ACQUIRE);

	if (used <= b->plan.geometry.aggregation_size && used % 8 == 0)
		return used;
	b->n_damaged++;
	return 0;
}

/* The row at an offset of the area, which the area says. */
static bool find_source(struct board *b, struct collect_part *area,
			uint64_t offset, struct source *s)
{
	const struct collect_rows *rows = collect_in(area, b->l.rows);
	const uint8_t *begin = (const uint8_t *)&rows->bucket[b->l.n_buckets];
	uint64_t used = used_of(b, rows);
	uint64_t at = offset - (uint64_t)(begin - (const uint8_t *)area);

	if (at % 8 != 0 || at >= used || used - at < sizeof s->head)
		return false;
	s->at = (const struct collect_row *)(const void *)(begin + at);
	memcpy(&s->head, s->at, sizeof s->head);
	return is_sound(b, &s->head, used - at) &&
	       how_of(b, s->head.aggregation)->how == PROBE_COUNT;
}

/* What slots have counted is not in the cells of their rows. */
static int read_slots(struct board *b, struct collect_part *area,
		      uint32_t aggregation, struct hark_err *err)
{
	const struct collect_slot *slots = collect_in(area, b->l.slots);

	for (uint32_t i = 0; i < b->plan.geometry.max_sites; i++) {
		uint64_t counted = board_counted(&slots[i]);
		struct board_row *row;
		struct source s;

		if (counted == 0)
			continue;
		if (!find_source(b, area, slots[i].cell, &s)) {
			b->n_damaged++;
			continue;
		}
		if (s.head.aggregation != aggregation)
			continue;
		row = row_of(b, &s, err);
		if (row == NULL)
			return -1;
		row->raw[0] += counted;
	}
	return 0;
}

static int read_area(struct board *b, struct collect_part *area,
		     uint32_t aggregation, uint32_t generation,
		     struct hark_err *err)
{
	const struct collect_rows *rows = collect_in(area, b->l.rows);
	const uint8_t *begin = (const uint8_t *)&rows->bucket[b->l.n_buckets];
	uint64_t used = used_of(b, rows);
	struct source s;

	for (uint64_t at = 0; at < used; at += s.head.size) {
		s.at = (const struct collect_row *)(const void *)(begin + at);
		if (used - at < sizeof s.head)
			s.head.size = 0;
		else
			memcpy(&s.head, s.at, sizeof s.head);
		if (s.head.size == 0 || !is_sound(b, &s.head, used - at)) {
			b->n_damaged++;
			break;
		}
		if (s.head.aggregation == aggregation &&
		    read_row(b, &s, generation, err) < 0)
			return -1;
	}
	return how_of(b, aggregation)->how == PROBE_COUNT
		   ? read_slots(b, area, aggregation, err)
		   : 0;
}

static int read_all(struct board *b, uint32_t aggregation, uint32_t generation,
		    struct hark_err *err)
{
	struct board_aggregation *a = &b->aggregations[aggregation];
	uint32_t n = board_areas(b);

	b->naps = NAPS;
	for (size_t i = 0; i < a->n; i++) {
		aggregate_init(how_of(b, aggregation), a->rows[i].raw);
		a->rows[i].sequence = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		if (read_area(b, board_part(b, board_reader_of(b, i, n)),
			      aggregation, generation, err) < 0)
			return -1;
	return 0;
}

/* -- What is shown -- */

static void subtract(const struct probe_aggregation *how, uint64_t *from,
		     const uint64_t *what)
{
	uint64_t borrow = from[how->how == PROBE_STDDEV ? 2 : 0] <
			  what[how->how == PROBE_STDDEV ? 2 : 0];

	for (uint32_t i = 0; i < how->n_cells; i++)
		from[i] -= what[i];
	if (how->how == PROBE_STDDEV)
		from[3] -= borrow;
}

static void show(const struct probe_aggregation *how, struct board_row *row)
{
	size_t len = how->n_cells * sizeof(uint64_t);

	memcpy(row->shown, row->raw, len);
	if (collect_takes_turns(how))
		aggregate_merge(how, row->shown, row->past);
	else
		subtract(how, row->shown, row->past);
	if (row->is_hidden && (row->sequence != row->past_sequence ||
			       (!collect_takes_turns(how) &&
				memcmp(row->raw, row->past, len) != 0)))
		row->is_hidden = false;
}

static int by_key(const void *left, const void *right)
{
	return show_by_key(left, right);
}

/* Reads an aggregation, unless it was read just now, and makes b->show. */
static int look(struct board *b, uint32_t aggregation, bool is_new, size_t *n,
		struct hark_err *err)
{
	struct board_aggregation *a = &b->aggregations[aggregation];
	struct show_row *rows;

	if (is_new || !a->is_fresh) {
		a->is_fresh = false;
		if (read_all(b, aggregation, a->generation, err) < 0)
			return -1;
		for (size_t i = 0; i < a->n; i++)
			show(how_of(b, aggregation), &a->rows[i]);
		a->is_fresh = true;
	}
	rows = reallocarray(b->show, a->n + 1, sizeof *rows);
	if (rows == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory for aggregations");
	b->show = rows;
	*n = 0;
	for (size_t i = 0; i < a->n; i++)
		if (!a->rows[i].is_hidden)
			rows[(*n)++] =
			    (struct show_row){.key = a->rows[i].key,
					      .key_len = a->rows[i].key_len,
					      .cells = a->rows[i].shown};
	qsort(rows, *n, sizeof *rows, by_key);
	return 0;
}

static int check_number(const struct board *b, uint32_t aggregation,
			struct hark_err *err)
{
	if (aggregation < b->program->aggregations.n)
		return 0;
	return err_set(err, HARK_EINPUT, 0, "there is no aggregation %u",
		       aggregation);
}

int board_rows(struct board *b, uint32_t aggregation, struct show_row **rows,
	       size_t *n, struct hark_err *err)
{
	if (check_number(b, aggregation, err) < 0 ||
	    look(b, aggregation, true, n, err) < 0)
		return -1;
	*rows = b->show;
	return 0;
}

/* -- Clearing -- */

/* min and max: what the old set has beyond what was shown counts for the new
 * one (collect_row.c, R2). Rows that are kept whole count for it, too. */
static int next_generation(struct board *b, uint32_t aggregation,
			   bool keeps_shown, struct hark_err *err)
{
	const struct probe_aggregation *how = how_of(b, aggregation);
	struct board_aggregation *a = &b->aggregations[aggregation];
	uint32_t *shared =
	    (uint32_t *)(void *)((uint8_t *)b->base + b->l.generations);
	uint32_t old = a->generation;
	size_t n_before = a->n;

	a->generation = (old + 1) & INT32_MAX;
	__atomic_store_n(&shared[aggregation], a->generation, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (read_all(b, aggregation, old, err) < 0)
		return -1;
	for (size_t i = 0; i < a->n; i++) {
		struct board_row *row = &a->rows[i];

		aggregate_merge(how, row->raw, row->past);
		if (i >= n_before || row->raw[0] != row->shown[0] ||
		    (keeps_shown && !row->is_hidden))
			memcpy(row->past, row->raw, sizeof row->past[0]);
		else
			aggregate_init(how, row->past);
		/* It came between: it is not hidden. */
		if (i < n_before && row->raw[0] == row->shown[0])
			row->past_sequence = row->sequence;
		else
			row->is_hidden = false;
	}
	return 0;
}

static void forget(const struct probe_aggregation *how, struct board_row *row)
{
	memcpy(row->past, row->raw, how->n_cells * sizeof(uint64_t));
	row->past_sequence = row->sequence;
}

int board_clear(struct board *b, uint32_t aggregation, struct hark_err *err)
{
	const struct probe_aggregation *how;
	struct board_aggregation *a;
	size_t n;

	if (check_number(b, aggregation, err) < 0 ||
	    look(b, aggregation, false, &n, err) < 0)
		return -1;
	how = how_of(b, aggregation);
	a = &b->aggregations[aggregation];
	a->is_fresh = false;
	if (collect_takes_turns(how))
		return next_generation(b, aggregation, false, err);
	for (size_t i = 0; i < a->n; i++)
		forget(how, &a->rows[i]);
	return 0;
}

/* Which rows go: all but some of those that are shown. */
static int choose(struct board *b, uint32_t aggregation, size_t first, size_t n,
		  struct hark_err *err)
{
	struct board_aggregation *a = &b->aggregations[aggregation];

	for (size_t i = 0; i < a->n; i++)
		a->rows[i].goes = true;
	for (size_t i = first; i < first + n; i++) {
		struct board_row *row =
		    find_row(a, how_of(b, aggregation), b->show[i].key,
			     b->show[i].key_len, err);

		if (row == NULL)
			return -1;
		row->goes = false;
	}
	return 0;
}

int board_trunc(struct board *b, uint32_t aggregation, int64_t keep,
		struct hark_err *err)
{
	uint64_t wanted = keep < 0 ? 0 - (uint64_t)keep : (uint64_t)keep;
	const struct probe_aggregation *how;
	struct board_aggregation *a;
	size_t n = 0, kept;

	if (check_number(b, aggregation, err) < 0 ||
	    look(b, aggregation, false, &n, err) < 0)
		return -1;
	how = how_of(b, aggregation);
	a = &b->aggregations[aggregation];
	a->is_fresh = false;
	kept = wanted < n ? (size_t)wanted : n;
	show_sort(b->program, aggregation, (struct show_order){0}, b->show, n);
	if (choose(b, aggregation, keep > 0 ? n - kept : 0, kept, err) < 0)
		return -1;
	for (size_t i = 0; i < a->n; i++) {
		struct board_row *row = &a->rows[i];

		if (!row->goes)
			continue;
		row->is_hidden = true;
		row->past_sequence = row->sequence;
		if (!collect_takes_turns(how))
			forget(how, row);
	}
	return collect_takes_turns(how)
		   ? next_generation(b, aggregation, true, err)
		   : 0;
}
