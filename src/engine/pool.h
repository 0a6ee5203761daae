/* engine/pool.h - memory that the engine maps for itself.
 *
 * Pools hold elements of one size, named by number from 1 (0 is none), which
 * never move. struct bytes holds what is freed together. Both take memory in
 * chunks. */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include "engine/memory.h"

#include <stdint.h>

enum { POOL_CHUNKS = 1024 };

struct pool {
	uint32_t size;	/* of an element */
	uint32_t shift; /* 1 << shift elements in a chunk */
	uint32_t n;	/* elements in use: numbers 1 to n */
	uint32_t pad;
	struct memory *memory;	      /* borrowed */
	uint8_t *chunks[POOL_CHUNKS]; /* owned */
};

void pool_init(struct pool *p, uint32_t size, uint32_t shift,
	       struct memory *memory);
/* A new zeroed element's number; 0: no memory. */
uint32_t pool_add(struct pool *p);
/* Forgets all elements; their memory stays for the next ones. */
void pool_clear(struct pool *p);

static inline void *pool_at(const struct pool *p, uint32_t number)
{
	uint32_t i = number - 1;

	return p->chunks[i >> p->shift] +
	       (uint64_t)(i & ((1u << p->shift) - 1)) * p->size;
}

struct bytes_chunk {
	struct bytes_chunk *next; /* owned */
	uint64_t used, size;
};

struct bytes {
	struct bytes_chunk *first, *last; /* owned */
	struct memory *memory;		  /* borrowed */
};

/* len bytes (at most 64 KiB), 8-aligned; NULL: no memory. */
void *bytes_take(struct bytes *a, uint64_t len);
/* Forgets all; the memory stays for the next ones. */
void bytes_clear(struct bytes *a);

#endif
