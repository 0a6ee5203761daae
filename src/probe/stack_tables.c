/* probe/stack_tables.c - tables of call-frame rules on their way into a plan.
 *
 * With each table goes an index of its rows, for blocks much smaller than the
 * table's own pages: a thread that walks its stack spends most of its time
 * searching rows, and memory is cheap here (3 % of the code).
 *
 * Files live as long as their image, so a file's address stands for it. */
#include "probe/stack_tables.h"

#include "image/frames.h"

#include <stdlib.h>
#include <string.h>

/* Some code of a file, by link-time addresses, and what is in the plan. */
struct kept {
	const struct image_file *file; /* borrowed */
	uint64_t low, high;
	uint64_t table, blocks; /* offsets; 0: it has no rules */
};

struct stack_tables {
	struct stack_store store;
	struct kept *kept; /* owned */
	size_t n_kept;
	struct collect_frames *list; /* owned */
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "no memory for call-frame rules");
}

int stack_tables_new(const struct stack_store *store, struct stack_tables **out,
		     struct hark_err *err)
{
	struct stack_tables *s = calloc(1, sizeof *s);

	if (s == NULL)
		return no_memory(err);
	s->store = *store;
	*out = s;
	return 0;
}

void stack_tables_free(struct stack_tables *s)
{
	if (s == NULL)
		return;
	free(s->kept);
	free(s->list);
	free(s);
}

/* -- One piece of code -- */

/* For each block of a page, from the one at `from` on, how many rows begin
 * before it: rows and blocks ascend alike. */
static void fill_page(const struct frame_table *t, uint64_t page, uint32_t from,
		      uint32_t *block, size_t n)
{
	const struct frame_row *row = frame_rows(t);
	uint32_t at = frame_pages(t)[page], end = frame_pages(t)[page + 1];

	for (size_t i = 0; i < n; i++) {
		uint32_t low = from + (uint32_t)i * COLLECT_BLOCK;

		while (at < end && row[at].low < low)
			at++;
		block[i] = at;
	}
}

/* The same for all blocks from low on, whatever page they are in. Before the
 * first page no row begins, and behind the last one all have. */
static void fill_blocks(const struct frame_table *t, uint64_t low,
			uint32_t *block, size_t n)
{
	size_t i = 0;

	while (i < n) {
		uint64_t addr = low + i * COLLECT_BLOCK;
		uint64_t page = (addr - t->base) / FRAME_PAGE;
		uint32_t from = (uint32_t)(addr % FRAME_PAGE);
		size_t more = (FRAME_PAGE - from) / COLLECT_BLOCK;

		more = more < n - i ? more : n - i;
		if (addr >= t->base && page < t->n_pages) {
			fill_page(t, page, from, block + i, more);
		} else {
			more = 1;
			block[i] = addr < t->base ? 0 : t->n_rows;
		}
		i += more;
	}
}

static int put_blocks(struct stack_tables *s, const struct frame_table *t,
		      struct kept *k, struct hark_err *err)
{
	size_t n = (k->high - k->low + COLLECT_BLOCK - 1) / COLLECT_BLOCK + 1;
	uint32_t *block =
	    s->store.take(s->store.ctx, n * sizeof *block, &k->blocks, err);

	if (block == NULL)
		return -1;
	fill_blocks(t, k->low, block, n);
	return 0;
}

/* The table of a file goes to the plan, if it is not there yet. */
static int put_table(struct stack_tables *s, const struct frame_table *t,
		     struct kept *k, struct hark_err *err)
{
	void *to;

	for (size_t i = 0; i < s->n_kept; i++)
		if (s->kept[i].file == k->file && s->kept[i].table != 0) {
			k->table = s->kept[i].table;
			return 0;
		}
	to = s->store.take(s->store.ctx, t->len, &k->table, err);
	if (to == NULL)
		return -1;
	memcpy(to, t, t->len);
	return 0;
}

/* Code is seen for the first time. */
static int put_code(struct stack_tables *s, struct image_file *file,
		    struct kept *k, struct hark_err *err)
{
	const struct frame_table *t;
	struct hark_err why = {0};

	/* Blocks must not lie across the table's pages. */
	if (k->low % COLLECT_BLOCK != 0)
		return 0;
	if (frames_of(file, &t, &why) < 0)
		return why.code == HARK_ENOMEM ? no_memory(err) : 0;
	if (put_table(s, t, k, err) < 0)
		return -1;
	return put_blocks(s, t, k, err);
}

static int keep(struct stack_tables *s, struct image_file *file,
		struct kept *out, struct hark_err *err)
{
	struct kept k = {file, out->low, out->high, 0, 0};
	struct kept *more;

	for (size_t i = 0; i < s->n_kept; i++)
		if (s->kept[i].file == file && s->kept[i].low == k.low &&
		    s->kept[i].high == k.high) {
			*out = s->kept[i];
			return 0;
		}
	more = reallocarray(s->kept, s->n_kept + 1, sizeof k);
	if (more == NULL)
		return no_memory(err);
	s->kept = more;
	if (put_code(s, file, &k, err) < 0)
		return -1;
	s->kept[s->n_kept++] = k;
	*out = k;
	return 0;
}

/* -- All code -- */

static int by_start(const void *a, const void *b)
{
	const struct collect_frames *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t count_ranges(const struct modules *modules)
{
	size_t n = 0;

	for (size_t i = 0; i < modules_count(modules); i++)
		n += modules_get(modules, i)->n_ranges;
	return n;
}

static int add_module(struct stack_tables *s, const struct module *m, size_t *n,
		      struct hark_err *err)
{
	for (size_t i = 0; i < m->n_ranges; i++) {
		const struct module_range *r = &m->ranges[i];
		struct kept k = {.low = r->start - m->bias,
				 .high = r->end - m->bias};

		if (m->file != NULL && keep(s, m->file, &k, err) < 0)
			return -1;
		s->list[(*n)++] = (struct collect_frames){
		    r->start, r->end, m->bias, k.table, k.blocks};
	}
	return 0;
}

int stack_tables_list(struct stack_tables *s, struct modules *modules,
		      const struct collect_frames **out, size_t *n,
		      struct hark_err *err)
{
	struct collect_frames *list =
	    reallocarray(s->list, count_ranges(modules) + 1, sizeof *list);
	size_t k = 0;

	if (list == NULL)
		return no_memory(err);
	s->list = list;
	for (size_t i = 0; i < modules_count(modules); i++)
		if (add_module(s, modules_get(modules, i), &k, err) < 0)
			return -1;
	qsort(list, k, sizeof *list, by_start);
	*out = list;
	*n = k;
	return 0;
}
