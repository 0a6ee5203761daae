/* base/arena.c - chunks in a chain, each filled from front to back.
 *
 * A block that would fill a quarter of a chunk gets a chunk of its own, put
 * behind the newest one, so that big blocks do not waste the room left. */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

enum { CHUNK = 16 * 1024, ALIGN = 16 };

struct arena_chunk {
	struct arena_chunk *older; /* owned */
	size_t len;		   /* of the whole chunk */
	_Alignas(ALIGN) char bytes[];
};

void arena_init(struct arena *a, const struct heap *heap)
{
	*a = (struct arena){.heap = heap};
}

void arena_fini(struct arena *a)
{
	while (a->newest != NULL) {
		struct arena_chunk *c = a->newest;

		a->newest = c->older;
		heap_give(a->heap, c, c->len);
	}
	a->left = 0;
}

static struct arena_chunk *chunk_new(struct arena *a, size_t len)
{
	struct arena_chunk *c = heap_take(a->heap, sizeof *c + len);

	if (c != NULL)
		c->len = sizeof *c + len;
	return c;
}

/* A block too big to share a chunk. */
static void *take_alone(struct arena *a, size_t len)
{
	struct arena_chunk *c = chunk_new(a, len);

	if (c == NULL)
		return NULL;
	if (a->newest == NULL) {
		c->older = NULL;
		a->newest = c;
	} else {
		c->older = a->newest->older;
		a->newest->older = c;
	}
	return c->bytes;
}

/* len bytes at a multiple of align, which divides ALIGN. */
static void *take(struct arena *a, size_t len, size_t align)
{
	struct arena_chunk *c;
	size_t left = a->left / align * align; /* chunks end aligned */
	char *at;

	if (len > SIZE_MAX / 2)
		return NULL;
	len = (len + align - 1) / align * align;
	if (len > CHUNK / 4)
		return take_alone(a, (len + ALIGN - 1) / ALIGN * ALIGN);
	if (left < len) {
		c = chunk_new(a, CHUNK);
		if (c == NULL)
			return NULL;
		c->older = a->newest;
		a->newest = c;
		left = CHUNK;
	}
	at = (char *)a->newest + a->newest->len - left;
	a->left = left - len;
	return at;
}

void *arena_take(struct arena *a, size_t len)
{
	return take(a, len, ALIGN);
}

char *arena_text(struct arena *a, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? take(a, len + 1, 1) : NULL;

	if (copy == NULL)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}
