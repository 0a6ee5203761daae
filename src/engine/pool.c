/* engine/pool.c - chunks of mapped memory. */
#include "engine/pool.h"

#include "inside/sys.h"

enum { PAGE = 4096, BYTES_CHUNK = 1 << 20, GAP = 1 << 16 };

static uint64_t page_up(uint64_t v)
{
	return (v + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

void *engine_map(uint64_t *hint, uint64_t len)
{
	enum { TRIES = 64 };
	int64_t at;

	len = page_up(len);
	for (int i = 0; i < TRIES && *hint > len + GAP; i++) {
		*hint -= len;
		at = sys_map(*hint, len, SYS_PROT_READ | SYS_PROT_WRITE,
			     SYS_MAP_FIXED_NOREPLACE | SYS_MAP_NORESERVE);
		if (at == (int64_t)*hint)
			return (void *)at;
		if (!sys_failed(at)) /* an old kernel took it for a hint */
			return (void *)at;
		*hint -= (uint64_t)GAP << i / 8;
	}
	at = sys_map(0, len, SYS_PROT_READ | SYS_PROT_WRITE, SYS_MAP_NORESERVE);
	return sys_failed(at) ? 0 : (void *)at;
}

void pool_init(struct pool *p, uint32_t size, uint32_t shift, uint64_t *hint)
{
	p->size = size;
	p->shift = shift;
	p->n = 0;
	p->hint = hint;
}

uint32_t pool_add(struct pool *p)
{
	uint32_t chunk = p->n >> p->shift;
	uint8_t *at;

	if (chunk >= POOL_CHUNKS)
		return 0;
	if (!p->chunks[chunk])
		p->chunks[chunk] = engine_map(
		    p->hint, (uint64_t)p->size << p->shift);
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
	struct bytes_chunk *c = engine_map(a->hint, BYTES_CHUNK);

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
