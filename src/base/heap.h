/* base/heap.h - where memory comes from.
 *
 * Code that must run in more than one world does not call malloc: whoever
 * uses it says how memory is had. One function does all: it takes a block
 * (old == NULL), resizes one, or gives one back (len == 0), and is always
 * told how long the old block is, so that a heap need not remember. Pure. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>

struct heap {
	/* NULL means no memory (or, with len == 0, nothing). On failure the
	 * old block stays as it was. */
	void *(*resize)(void *ctx, void *old, size_t old_len, size_t len);
	void *ctx; /* borrowed; handed to resize */
};

static inline void *heap_take(const struct heap *h, size_t len)
{
	return h->resize(h->ctx, NULL, 0, len);
}

static inline void heap_give(const struct heap *h, void *block, size_t len)
{
	if (block != NULL)
		h->resize(h->ctx, block, len, 0);
}

#endif
