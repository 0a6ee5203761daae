/* native/collect_layout.c - what is where on a board.
 *
 * A function of the geometry and of the program alone: hark and the threads
 * come to the same result, and neither has to believe the other. Memory that
 * nobody touches costs nothing, so there is no thrift here. */
#include "native/collect_board.h"

enum { LINE = 64, PAGE = 4096, BUCKETS_MIN = 16, BYTES_PER_BUCKET = 128 };

static uint64_t take(uint64_t *end, uint64_t len, uint64_t align)
{
	uint64_t at = (*end + align - 1) & -align;

	*end = at + len;
	return at;
}

static uint32_t buckets_for(uint32_t size)
{
	uint32_t n = BUCKETS_MIN;

	while (n < (1U << 24) && n < size / BYTES_PER_BUCKET)
		n *= 2;
	return n;
}

/* The longest record of the program, with its head. */
static uint32_t longest_record(const struct probe_program *p)
{
	uint32_t most = 5 * sizeof(uint64_t); /* a fault */

	for (uint32_t i = 0; i < p->clauses.n; i++)
		if (probe_clauses(p)[i].output_max > most)
			most = probe_clauses(p)[i].output_max;
	return most + (uint32_t)sizeof(struct collect_record);
}

/* Chunks are for hark to empty and for the thread to use again, before the
 * others have been touched. What is left at their ends is little. */
static void layout_ring(const struct collect_geometry *g,
			const struct probe_program *p, struct collect_layout *l)
{
	enum { FEW = 4, RECORDS = 8 };
	uint32_t least = RECORDS * longest_record(p);
	uint32_t n;

	if (least < COLLECT_CHUNK_MIN)
		least = COLLECT_CHUNK_MIN;
	n = g->ring_size / least;
	if (n > COLLECT_CHUNKS)
		n = COLLECT_CHUNKS;
	if (n < FEW || g->policy != COLLECT_SWITCH)
		n = 1;
	l->n_chunks = n;
	l->ring_size = (g->ring_size / n & ~7U) * n;
}

static void layout_part(const struct collect_geometry *g,
			const struct probe_program *p, struct collect_layout *l)
{
	uint64_t end = sizeof(struct collect_part);

	l->slots = take(&end, g->max_sites * sizeof(struct collect_slot), LINE);
	l->n_buckets = buckets_for(g->aggregation_size);
	l->rows =
	    take(&end,
		 sizeof(struct collect_rows) + l->n_buckets * sizeof(uint32_t) +
		     g->aggregation_size,
		 PAGE);
	layout_ring(g, p, l);
	l->ring = take(&end, sizeof(struct collect_ring) + l->ring_size, PAGE);
	l->ring_bytes = l->ring + sizeof(struct collect_ring);
	l->part_stride = (end + PAGE - 1) & -(uint64_t)PAGE;
}

static void layout_area(const struct collect_geometry *g,
			const struct probe_program *p, struct collect_layout *l)
{
	uint64_t end = sizeof(struct collect_area);
	uint64_t text = machine_text_slot(p);

	l->ways = take(&end, g->max_sites * sizeof(struct collect_way), LINE);
	l->singles = take(&end, p->aggregations.n * sizeof(uint64_t), LINE);
	l->lean = take(&end,
		       p->code.n <= COLLECT_LEAN
			   ? p->code.n * sizeof(struct collect_lean)
			   : 0,
		       LINE);
	l->self_numbers =
	    take(&end, p->n_slots[PROBE_SELF][0] * sizeof(uint64_t), LINE);
	l->self_texts = take(&end, p->n_slots[PROBE_SELF][1] * text, LINE);
	l->this_numbers =
	    take(&end, p->n_slots[PROBE_THIS][0] * sizeof(uint64_t), LINE);
	l->this_texts = take(&end, p->n_slots[PROBE_THIS][1] * text, LINE);
	l->this_end = end;
	l->work = take(&end, sizeof(struct collect_work), LINE);
	l->scratch = take(&end, COLLECT_SCRATCH, PAGE);
	l->side =
	    take(&end, sizeof(struct collect_record) + PROBE_OUTPUT_MAX, PAGE);
	l->area_stride = (end + PAGE - 1) & -(uint64_t)PAGE;
}

void collect_layout(const struct collect_geometry *g,
		    const struct probe_program *p, struct collect_layout *out)
{
	uint64_t end = sizeof(struct collect_board);
	uint64_t text = machine_text_slot(p);

	layout_part(g, p, out);
	layout_area(g, p, out);
	out->generations =
	    take(&end, p->aggregations.n * sizeof(uint32_t), LINE);
	out->nobody =
	    take(&end, g->max_sites * sizeof(struct collect_account), LINE);
	out->numbers =
	    take(&end, p->n_slots[PROBE_GLOBAL][0] * sizeof(uint64_t), LINE);
	out->texts = take(&end, p->n_slots[PROBE_GLOBAL][1] * text, LINE);
	out->arrays = take(&end, g->array_size, PAGE);
	out->speculation_stride =
	    (sizeof(struct collect_speculation) +
	     (uint64_t)(g->speculation_size & ~7U) + LINE - 1) &
	    -(uint64_t)LINE;
	out->speculations =
	    take(&end, g->n_speculations * out->speculation_stride, PAGE);
	out->parts = take(&end, 0, PAGE);
	out->size = out->parts + g->max_threads * out->part_stride;
}

uint64_t collect_own_size(const struct collect_plan *plan)
{
	struct collect_layout l;

	collect_layout(&plan->geometry, collect_program(plan), &l);
	return plan->geometry.max_threads * l.area_stride;
}

uint64_t collect_board_size(const struct collect_plan *plan)
{
	struct collect_layout l;

	collect_layout(&plan->geometry, collect_program(plan), &l);
	return l.size;
}

void collect_board_init(const struct collect_plan *plan, void *board)
{
	struct collect_board *b = board;

	(void)plan;
	b->magic = COLLECT_BOARD_MAGIC;
	b->version = COLLECT_VERSION;
}
