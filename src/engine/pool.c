/* engine/pool.c - chunks of mapped memory. */
#include "engine/pool.h"

enum { BYTES_CHUNK = 1 << 20 };

void pool_init(struct pool *p, uint32_t size, uint32_t shift,
	       struct memory *memory)
{
	p->size = size;
	p->shift = shift;
	p->n = 0;
	p->memory = memory;
}

uint32_t pool_add(struct pool *p)
{
	uint32_t chunk = p->n >> p->shift;
	uint8_t *at;

	if (chunk >= POOL_CHUNKS)
		return 0;
	if (!p->chunks[chunk])
		p->chunks[chunk] =
		    memory_map(p->memory, (uint64_t)p->size << p->shift);
	if (!p->chunks[chunk])
		return 0;
	p->n++;
	at = pool_at(p, p->n);
	__builtin_memset(at, 0, p->size);
	return p->n;
}

void pool_clear(struct pool *p)
{
	p->n = 0;
}

static struct bytes_chunk *new_chunk(struct bytes *a)
{
	struct bytes_chunk *c = memory_map(a->memory, BYTES_CHUNK);

	if (!c)
		return 0;
	c->size = BYTES_CHUNK;
	c->used = sizeof *c;
	if (a->last)
		a->last->next = c;
	else
		a->first = c;
	return c;
}

void *bytes_take(struct bytes *a, uint64_t len)
{
	struct bytes_chunk *c = a->last;
	uint8_t *at;

	len = (len + 7) & ~7ull;
	if (!c || c->size - c->used < len) {
		c = c && c->next ? c->next : new_chunk(a);
		if (!c)
			return 0;
		a->last = c;
	}
	at = (uint8_t *)c + c->used;
	c->used += len;
	return at;
}

void bytes_clear(struct bytes *a)
{
	for (struct bytes_chunk *c = a->first; c; c = c->next)
		c->used = sizeof *c;
	a->last = a->first;
}
