/* probe/board_drain.c - records of all threads, by time.
 *
 * Each ring is emptied into a queue of hark's own at once, so that its thread
 * goes on, in memory that it has touched already; then the queues are merged.
 * Whoever rings the bell meanwhile is not kept waiting: hark takes long to show
 * a record, and a thread little to write one. The records of one ring stay in
 * their order, whatever their times say. */
#include "probe/board_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- From a ring to a queue -- */

static struct collect_ring *ring_of(const struct board *b, uint32_t number)
{
	return collect_in(board_part(b, number), b->l.ring);
}

static void break_off(struct board *b, struct board_reader *r)
{
	r->is_broken = true;
	b->n_damaged++;
}

static struct board_block *new_block(size_t len, struct hark_err *err)
{
	struct board_block *block = malloc(sizeof *block + len);

	if (block == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "no memory for records");
		return NULL;
	}
	block->next = NULL;
	block->len = len;
	return block;
}

static void append(struct board_reader *r, struct board_block *block)
{
	if (r->first == NULL)
		r->first = block;
	else
		r->last->next = block;
	r->last = block;
	r->queued += block->len;
}

static void drop_first(struct board_reader *r)
{
	struct board_block *gone = r->first;

	r->first = gone->next;
	r->from = 0;
	r->queued -= gone->len;
	free(gone);
}

void board_reader_free(struct board_reader *r)
{
	while (r->first != NULL)
		drop_first(r);
}

/* Where [tail, head) of a ring is; false: it cannot be. */
static bool find_bytes(const struct board *b, const struct board_reader *r,
		       const struct collect_ring *ring, uint64_t *tail,
		       uint64_t *head)
{
	bool is_ring = b->plan.geometry.policy == COLLECT_RING;

	*tail =
	    is_ring ? __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) : r->tail;
	*head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	return *head - *tail <= b->l.ring_size && *head % 8 == 0 &&
	       *tail % 8 == 0;
}

/* False: the thread says that they are where nothing is. */
static bool copy_bytes(const struct board *b, const struct collect_ring *ring,
		       uint64_t tail, size_t len, uint8_t *out)
{
	const uint8_t *bytes = (const uint8_t *)(ring + 1);
	size_t chunk = b->l.ring_size / b->l.n_chunks, n;

	for (; len > 0; tail += n, out += n, len -= n) {
		size_t at = tail % chunk;
		uint32_t which =
		    __atomic_load_n(&ring->order[tail / chunk % b->l.n_chunks],
				    __ATOMIC_RELAXED);

		if (which >= b->l.n_chunks)
			return false;
		n = chunk - at < len ? chunk - at : len;
		memcpy(out, bytes + which * chunk + at, n);
	}
	return true;
}

/* The thread may have moved the tail of a COLLECT_RING meanwhile: what was
 * before it may be torn. */
static size_t torn(const struct board *b, const struct collect_ring *ring,
		   uint64_t tail, size_t len)
{
	uint64_t moved;

	if (b->plan.geometry.policy != COLLECT_RING)
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	moved = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) - tail;
	if ((int64_t)moved <= 0)
		return 0;
	return moved <= len && moved % 8 == 0 ? moved : len;
}

/* r->size is one that can be. */
static bool is_sample(const struct collect_record *r)
{
	const struct collect_sample *s =
	    (const struct collect_sample *)(const void *)(r + 1);

	return r->size >= sizeof *r + sizeof *s && s->map < UNWIND_MAPS &&
	       s->n == (r->size - sizeof *r - sizeof *s) / sizeof(uint64_t) &&
	       s->kept <= s->from && s->from <= s->depth &&
	       s->n <= s->depth - s->from;
}

static bool is_sound(const struct board *b, const struct collect_record *r,
		     size_t len)
{
	if (len < 8 || r->size < 8 || r->size % 8 != 0 || r->size > len)
		return false;
	if (r->kind == COLLECT_PAD)
		return true;
	if (r->size < sizeof *r || r->site >= b->plan.geometry.max_sites ||
	    r->clause >= b->program->clauses.n)
		return false;
	if (r->kind == COLLECT_SAMPLE)
		return is_sample(r);
	if (r->kind == COLLECT_DIFFERENCE)
		return r->size == sizeof *r + sizeof(struct collect_difference);
	return r->kind == COLLECT_RECORD ||
	       (r->kind == COLLECT_FAULT && r->size == sizeof *r + 40);
}

/* Of a block's bytes from `from` on, those that are records stay. */
static void check_new(struct board *b, struct board_reader *r,
		      struct board_block *block, size_t lost)
{
	uint8_t *to = block->bytes;
	const uint8_t *from = to + lost, *end = to + block->len;
	uint64_t now = collect_time(&b->plan.clock);

	while (from < end) {
		struct collect_record *record =
		    (struct collect_record *)(void *)from;
		uint32_t size = record->size;

		if (!is_sound(b, record, (size_t)(end - from))) {
			break_off(b, r);
			break;
		}
		if (record->kind != COLLECT_PAD) {
			/* None waits for a time that does not come. */
			if (record->time_ns > now)
				record->time_ns = now;
			if (to != from)
				memmove(to, from, size);
			to += size;
		}
		from += size;
	}
	block->len = (size_t)(to - block->bytes);
}

/* What there is of [tail, head) joins the queue. */
static int take_bytes(struct board *b, struct board_reader *r,
		      const struct collect_ring *ring, uint64_t tail,
		      uint64_t head, struct hark_err *err)
{
	size_t len = (size_t)(head - tail);
	struct board_block *block = new_block(len, err);

	if (block == NULL)
		return -1;
	if (copy_bytes(b, ring, tail, len, block->bytes)) {
		check_new(b, r, block, torn(b, ring, tail, len));
	} else {
		block->len = 0;
		break_off(b, r);
	}
	if (block->len > 0)
		append(r, block);
	else
		free(block);
	return 0;
}

/* As much as one may wait in hark as in the ring: then the ring fills up. */
static bool is_for_later(const struct board *b, const struct board_reader *r,
			 bool is_last)
{
	if (is_last)
		return false;
	return b->plan.geometry.policy == COLLECT_RING ||
	       r->queued >= b->l.ring_size;
}

static int take_ring(struct board *b, uint32_t number, bool is_last,
		     struct hark_err *err)
{
	struct board_reader *r = &b->readers[number];
	struct collect_ring *ring = ring_of(b, number);
	uint64_t tail, head;

	if (r->is_broken || b->l.ring_size == 0 || is_for_later(b, r, is_last))
		return 0;
	if (!find_bytes(b, r, ring, &tail, &head)) {
		break_off(b, r);
		return 0;
	}
	/* A second last time: only what is new. */
	if (b->plan.geometry.policy == COLLECT_RING && r->tail > tail &&
	    r->tail <= head)
		tail = r->tail;
	if (head == tail)
		return 0;
	if (take_bytes(b, r, ring, tail, head, err) < 0)
		return -1;
	r->tail = head;
	if (b->plan.geometry.policy == COLLECT_SWITCH)
		__atomic_store_n(&ring->tail, head, __ATOMIC_RELEASE);
	return 0;
}

/* What the next owner has written is not there before this one says so. */
bool board_is_left(const struct board *b, uint32_t area, uint32_t owner)
{
	const struct board_reader *r = &b->readers[area];
	uint32_t now =
	    __atomic_load_n(&board_part(b, area)->owner, __ATOMIC_ACQUIRE);

	return now != owner && r->first == NULL &&
	       (r->is_broken || __atomic_load_n(&ring_of(b, area)->head,
						__ATOMIC_ACQUIRE) == r->tail);
}

/* -- Merging: a heap of readers, the oldest record first -- */

static const struct collect_record *first_of(const struct board_reader *r)
{
	return (const struct collect_record *)(const void *)(r->first->bytes +
							     r->from);
}

static bool look_at_first(struct board_reader *r)
{
	while (r->first != NULL && r->from == r->first->len)
		drop_first(r);
	if (r->first == NULL)
		return false;
	if (first_of(r)->time_ns > r->time)
		r->time = first_of(r)->time_ns;
	return true;
}

static bool is_before(const struct board *b, uint32_t x, uint32_t y)
{
	uint64_t tx = b->readers[x].time, ty = b->readers[y].time;

	return tx != ty ? tx < ty : x < y;
}

static void sink(struct board *b, size_t at)
{
	for (;;) {
		size_t least = at, kid = 2 * at + 1;
		uint32_t swap = b->heap[at];

		if (kid < b->n_heap && is_before(b, b->heap[kid], swap))
			least = kid;
		if (kid + 1 < b->n_heap &&
		    is_before(b, b->heap[kid + 1], b->heap[least]))
			least = kid + 1;
		if (least == at)
			return;
		b->heap[at] = b->heap[least];
		b->heap[least] = swap;
		at = least;
	}
}

static void fill_heap(struct board *b)
{
	b->n_heap = 0;
	for (uint32_t i = 0; i <= b->plan.geometry.max_threads; i++)
		if (look_at_first(&b->readers[i]))
			b->heap[b->n_heap++] = i;
	for (size_t i = b->n_heap; i-- > 0;)
		sink(b, i);
}

static void tell(uint32_t area, const struct collect_record *r,
		 struct board_record *out)
{
	*out = (struct board_record){
	    .time_ns = r->time_ns,
	    .pid = r->pid,
	    .tid = r->tid,
	    .site = r->site,
	    .clause = r->clause,
	    .area = area,
	    .is_fault = r->kind == COLLECT_FAULT,
	    .is_sample = r->kind == COLLECT_SAMPLE,
	    .is_difference = r->kind == COLLECT_DIFFERENCE,
	    .entries = (const uint8_t *)(r + 1),
	    .len = r->size - (uint32_t)sizeof *r,
	};
	if (out->is_fault) {
		memcpy(out->fault, r + 1, sizeof out->fault);
		out->len = 0;
	}
}

/* -- All together -- */

static int take_rings(struct board *b, bool is_last, struct hark_err *err)
{
	uint32_t n = board_areas(b);

	for (uint32_t i = 0; i < n; i++)
		if (take_ring(b, board_reader_of(b, i, n), is_last, err) < 0)
			return -1;
	return 0;
}

/* The bell has been rung since: one that waits writes where nobody has. What is
 * taken now is too young for this time. */
static int take_rung(struct board *b, uint32_t *bell, struct hark_err *err)
{
	uint32_t now = __atomic_load_n(&b->base->bell, __ATOMIC_ACQUIRE);

	if (now == *bell)
		return 0;
	*bell = now;
	return take_rings(b, false, err);
}

int board_drain(struct board *b, int last,
		int (*visit)(void *ctx, const struct board_record *r,
			     struct hark_err *err),
		void *ctx, struct hark_err *err)
{
	uint32_t bell = __atomic_load_n(&b->base->bell, __ATOMIC_ACQUIRE);
	uint64_t limit = collect_time(&b->plan.clock);
	int rc = 0;

	for (uint32_t i = 0; i < b->program->aggregations.n; i++)
		b->aggregations[i].is_fresh = false;
	if (take_rings(b, last != 0, err) < 0)
		return -1;
	fill_heap(b);
	while (rc == 0 && b->n_heap > 0) {
		uint32_t area = b->heap[0];
		struct board_reader *r = &b->readers[area];
		struct board_record record;

		if (!last && r->time > limit)
			break;
		tell(area, first_of(r), &record);
		rc = visit(ctx, &record, err);
		r->from += first_of(r)->size;
		if (rc == 0 && !last)
			rc = take_rung(b, &bell, err);
		if (!look_at_first(r))
			b->heap[0] = b->heap[--b->n_heap];
		sink(b, 0);
	}
	return rc;
}
