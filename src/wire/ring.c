/* wire/ring.c - a single-producer, single-consumer ring of chunks. */
#include "wire/ring.h"

/* Acquire here pairs with the release of the same name on the other side:
 * head: ring_reserve -> ring_peek;  committed: ring_commit -> ring_peek;
 * tail: ring_take -> ring_reserve;  state: ring_open/close -> the drain. */
#define LOAD(p)	    __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

static struct wire_chunk *chunk_at(const struct ring_view *v, uint32_t number)
{
	return (void *)(v->chunks + (size_t)(number % v->n) * v->chunk_size);
}

static void chunk_begin(const struct ring_view *v, uint32_t number)
{
	struct wire_chunk *c = chunk_at(v, number);

	c->number = number;
	STORE(&c->committed, 0);
}

/* -- The producer's side -- */

void ring_open(const struct ring_view *v, uint32_t tid)
{
	__atomic_store_n(&v->ring->tid, tid, __ATOMIC_RELAXED);
	v->ring->lost = 0;
	v->ring->waiting = 0;
	STORE(&v->ring->tail, 0);
	chunk_begin(v, 0);
	STORE(&v->ring->head, 0);
	STORE(&v->ring->state, WIRE_RING_OPEN);
}

void *ring_reserve(const struct ring_view *v, uint32_t len)
{
	uint32_t head = v->ring->head;
	struct wire_chunk *c = chunk_at(v, head);

	if (len > ring_room(v))
		return NULL;
	if (c->committed + len > ring_room(v)) {
		if (head + 1 - LOAD(&v->ring->tail) >= v->n)
			return NULL;
		chunk_begin(v, head + 1);
		STORE(&v->ring->head, head + 1);
		c = chunk_at(v, head + 1);
	}
	return (uint8_t *)(c + 1) + c->committed;
}

struct wire_chunk *ring_chunk(const struct ring_view *v)
{
	return chunk_at(v, v->ring->head);
}

void ring_commit(const struct ring_view *v, uint32_t len)
{
	ring_commit_to(ring_chunk(v), len);
}

void ring_lose(const struct ring_view *v, uint64_t bytes)
{
	__atomic_fetch_add(&v->ring->lost, bytes, __ATOMIC_RELAXED);
}

void ring_close(const struct ring_view *v)
{
	STORE(&v->ring->state, WIRE_RING_CLOSED);
}

/* -- The consumer's side -- */

void ring_reader_init(struct ring_reader *r, const struct ring_view *v)
{
	*r = (struct ring_reader){.view = *v};
}

enum ring_status ring_peek(const struct ring_reader *r, const uint8_t **bytes,
			   uint32_t *len)
{
	const struct ring_view *v = &r->view;
	const struct wire_chunk *c = chunk_at(v, r->tail);
	uint32_t head = LOAD(&v->ring->head), committed = LOAD(&c->committed);

	if (head - r->tail >= v->n)
		return RING_DAMAGED;
	if (committed > ring_room(v) || committed < r->used ||
	    c->number != r->tail)
		return RING_DAMAGED;
	if (committed == r->used)
		return RING_EMPTY;
	*bytes = (const uint8_t *)(c + 1) + r->used;
	*len = committed - r->used;
	return RING_BYTES;
}

/* A published chunk that has been taken whole is done. head is read before
 * committed: a chunk that was published by then has its final length. */
static int chunk_done(const struct ring_reader *r)
{
	const struct ring_view *v = &r->view;
	uint32_t head = LOAD(&v->ring->head);
	const struct wire_chunk *c = chunk_at(v, r->tail);

	return head != r->tail && head - r->tail < v->n &&
	       LOAD(&c->committed) == r->used;
}

void ring_take(struct ring_reader *r, uint32_t len)
{
	r->used += len;
}

int ring_release(struct ring_reader *r)
{
	const struct ring_view *v = &r->view;
	int moved = 0;

	while (chunk_done(r)) {
		r->tail++;
		r->used = 0;
		moved = 1;
	}
	if (!moved)
		return 0;
	/* Sequentially consistent, like the producer's waiting/tail pair:
	 * either it sees the new tail or we see that it waits. */
	__atomic_store_n(&v->ring->tail, r->tail, __ATOMIC_SEQ_CST);
	return __atomic_exchange_n(&v->ring->waiting, 0, __ATOMIC_SEQ_CST) != 0;
}
