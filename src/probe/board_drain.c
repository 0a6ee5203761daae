/* probe/board_drain.c - records of all threads, by time.
 *
 * Each ring is emptied into a queue of hark's own at once, so that its thread
 * goes on; then the queues are merged. The records of one ring stay in their
 * order, whatever their times say. */
#include "probe/board_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- From a ring to a queue -- */

static struct collect_ring *ring_of(const struct board *b, uint32_t number)
{
	return collect_in(board_area_at(b, number), b->l.ring);
}

static void break_off(struct board *b, struct board_reader *r)
{
	r->is_broken = true;
	b->n_damaged++;
}

static int queue_room(struct board_reader *r, size_t more, struct hark_err *err)
{
	uint8_t *grown;

	if (r->from > 0) {
		memmove(r->queue, r->queue + r->from, r->len - r->from);
		r->len -= r->from;
		r->from = 0;
	}
	if (more <= r->room - r->len)
		return 0;
	grown = realloc(r->queue, r->len + more);
	if (grown == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory for records");
	r->queue = grown;
	r->room = r->len + more;
	return 0;
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

static void copy_bytes(const struct board *b, const struct collect_ring *ring,
		       uint64_t tail, size_t len, uint8_t *out)
{
	const uint8_t *bytes = (const uint8_t *)(ring + 1);
	size_t at = tail % b->l.ring_size, first = b->l.ring_size - at;

	if (first > len)
		first = len;
	memcpy(out, bytes + at, first);
	memcpy(out + first, bytes, len - first);
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
	return r->kind == COLLECT_RECORD ||
	       (r->kind == COLLECT_FAULT && r->size == sizeof *r + 40);
}

/* Of `len` new bytes at the end of the queue, those that are records stay. */
static void check_new(struct board *b, struct board_reader *r, size_t len)
{
	uint8_t *to = r->queue + r->len;
	const uint8_t *from = to, *end = to + len;
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
			memmove(to, from, size);
			to += size;
		}
		from += size;
	}
	r->len = (size_t)(to - r->queue);
}

static int take_ring(struct board *b, uint32_t number, bool is_last,
		     struct hark_err *err)
{
	struct board_reader *r = &b->readers[number];
	struct collect_ring *ring = ring_of(b, number);
	uint64_t tail, head;
	size_t len, lost;

	if (r->is_broken || b->l.ring_size == 0 ||
	    (b->plan.geometry.policy == COLLECT_RING && !is_last))
		return 0;
	if (!find_bytes(b, r, ring, &tail, &head)) {
		break_off(b, r);
		return 0;
	}
	/* A second last time: only what is new. */
	if (b->plan.geometry.policy == COLLECT_RING && r->tail > tail &&
	    r->tail <= head)
		tail = r->tail;
	len = (size_t)(head - tail);
	if (len == 0)
		return 0;
	if (queue_room(r, len, err) < 0)
		return -1;
	copy_bytes(b, ring, tail, len, r->queue + r->len);
	lost = torn(b, ring, tail, len);
	if (lost > 0)
		memmove(r->queue + r->len, r->queue + r->len + lost,
			len - lost);
	check_new(b, r, len - lost);
	r->tail = head;
	if (b->plan.geometry.policy == COLLECT_SWITCH)
		__atomic_store_n(&ring->tail, head, __ATOMIC_RELEASE);
	return 0;
}

/* -- Merging: a heap of readers, the oldest record first -- */

static const struct collect_record *first_of(const struct board_reader *r)
{
	return (const struct collect_record *)(const void *)(r->queue +
							     r->from);
}

static bool look_at_first(struct board_reader *r)
{
	if (r->from == r->len)
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

int board_drain(struct board *b, int last,
		int (*visit)(void *ctx, const struct board_record *r,
			     struct hark_err *err),
		void *ctx, struct hark_err *err)
{
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
		r->from += first_of(r)->size;
		if (!look_at_first(r))
			b->heap[0] = b->heap[--b->n_heap];
		sink(b, 0);
		rc = visit(ctx, &record, err);
	}
	return rc;
}
