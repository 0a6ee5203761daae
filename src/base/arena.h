/* base/arena.h - memory that is given back all at once.
 *
 * Things that die together (the strings of one file, the tables of one
 * module) are taken from one arena and never freed singly. Blocks do not
 * move and begin at multiples of 16. Pure: the heap behind is the caller's. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/heap.h"

struct arena_chunk;

struct arena {
	const struct heap *heap;    /* borrowed */
	struct arena_chunk *newest; /* owned; older ones hang off it */
	size_t left;		    /* free bytes at the end of newest */
};

void arena_init(struct arena *a, const struct heap *heap);
void arena_fini(struct arena *a);

/* NULL when the heap has no more; the arena is then as before. */
void *arena_take(struct arena *a, size_t len);
/* A copy of len bytes with a NUL behind them. */
char *arena_text(struct arena *a, const char *text, size_t len);

#endif
