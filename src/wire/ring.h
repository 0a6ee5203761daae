/* wire/ring.h - one thread's bytes on their way out of the target.
 *
 * A ring is a header and n chunks of equal size in memory that target and
 * hark share. The target's thread (the only producer) appends to the open
 * chunk; when a chunk is full it is published and the next one opened. hark
 * (the only consumer) takes published chunks, and also what stands in the
 * open one.
 *
 *   chunk:    k      k+1     k+2     k+3
 *           [full]  [full]  [open..        ]
 *             ^tail           ^head, committed bytes in its first word
 *
 * W1  Bytes below `committed` of a chunk never change until it is released.
 * W2  head and tail only grow; head - tail <= n; chunk k lies at k % n.
 * W3  Whatever was committed is there for the consumer though the producer is
 *     killed, for the memory is shared and the commit is one release store.
 * W4  The producer never waits here: a full ring returns NULL, and its owner
 *     waits (lossless) or counts what it drops (ring_lose).
 * W5  The consumer believes nothing: all it reads is checked against the
 *     geometry it made itself; a damaged ring is an error, never a wild read.
 *
 * Pure: producer inside the target, consumer in hark, both in tests. */
#ifndef WIRE_RING_H
#define WIRE_RING_H

#include <stddef.h>
#include <stdint.h>

enum wire_ring_state {
	WIRE_RING_FREE,
	WIRE_RING_OPEN,	  /* a thread writes to it */
	WIRE_RING_CLOSED, /* its thread is gone; free once it is drained */
};

/* In shared memory; head and tail on lines of their own. */
struct wire_ring {
	uint32_t state; /* enum wire_ring_state */
	uint32_t tid;
	uint64_t lost; /* bytes that the producer dropped, all counted */
	uint8_t pad0[48];
	uint32_t head; /* chunks published; the open chunk's number */
	uint8_t pad1[60];
	uint32_t tail; /* chunks released; a futex the producer may wait on */
	uint32_t waiting; /* the producer sleeps on tail */
	uint8_t pad2[56];
};
_Static_assert(sizeof(struct wire_ring) == 192, "three cache lines");
_Static_assert(offsetof(struct wire_ring, head) == 64, "shared layout");
_Static_assert(offsetof(struct wire_ring, tail) == 128, "shared layout");

/* Each chunk begins with this. */
struct wire_chunk {
	uint32_t committed; /* bytes after this header */
	uint32_t number;    /* low bits of the chunk's number: a check */
};
_Static_assert(sizeof(struct wire_chunk) == 8, "shared layout");

/* What both sides agree on; each keeps its own copy, outside the memory that
 * a wild store of the target may reach. */
struct ring_view {
	struct wire_ring *ring; /* borrowed */
	uint8_t *chunks;	/* borrowed: n * chunk_size bytes */
	uint32_t n, chunk_size;
};

static inline uint32_t ring_room(const struct ring_view *v)
{
	return v->chunk_size - (uint32_t)sizeof(struct wire_chunk);
}

/* -- The producer's side -- */

/* Makes the ring empty and open for tid. */
void ring_open(const struct ring_view *v, uint32_t tid);
/* Room for len bytes (at most ring_room) in one piece, or NULL: full. */
void *ring_reserve(const struct ring_view *v, uint32_t len);
/* The len bytes at the last ring_reserve are written: hand them over. */
void ring_commit(const struct ring_view *v, uint32_t len);
/* The chunk that is open, as long as no ring_reserve opens another; and the
 * same for who has it at hand. */
struct wire_chunk *ring_chunk(const struct ring_view *v);
static inline void ring_commit_to(struct wire_chunk *c, uint32_t len)
{
	__atomic_store_n(&c->committed, c->committed + len, __ATOMIC_RELEASE);
}
void ring_lose(const struct ring_view *v, uint64_t bytes);
void ring_close(const struct ring_view *v);

/* -- The consumer's side -- */

struct ring_reader {
	struct ring_view view;
	uint32_t tail; /* chunk being read */
	uint32_t used; /* bytes of it already taken */
};

enum ring_status {
	RING_BYTES,   /* *bytes, *len say what is next */
	RING_EMPTY,   /* nothing now */
	RING_DAMAGED, /* breaks W2 or its geometry: read no further */
};

void ring_reader_init(struct ring_reader *r, const struct ring_view *v);
/* What is next, not yet taken. Points into shared memory: copy, then check. */
enum ring_status ring_peek(const struct ring_reader *r, const uint8_t **bytes,
			   uint32_t *len);
/* Take len bytes of what ring_peek showed. */
void ring_take(struct ring_reader *r, uint32_t len);
/* Give chunks that are published and taken whole back to the producer.
 * Returns 1 when it sleeps on ring->tail and should be woken. Call it before
 * each ring_peek: only then does the reader move on to the next chunk. */
int ring_release(struct ring_reader *r);

#endif
