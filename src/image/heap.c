/* image/heap.c - malloc with a budget. */
#include "image/heap_priv.h"

#include <stdbool.h>
#include <stdlib.h>

static bool has_room(const struct budget *b, size_t more)
{
	return b->used <= b->limit && more <= b->limit - b->used;
}

static void count(struct budget *b, size_t old_len, size_t len)
{
	b->used += len - old_len;
	if (b->all != NULL)
		b->all->used += len - old_len;
}

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	struct budget *b = ctx;
	void *block;

	if (len == 0) {
		free(old);
		count(b, old_len, 0);
		return NULL;
	}
	if (len > old_len &&
	    (!has_room(b, len - old_len) ||
	     (b->all != NULL && !has_room(b->all, len - old_len))))
		return NULL;
	block = realloc(old, len);
	if (block != NULL)
		count(b, old_len, len);
	return block;
}

void budget_init(struct budget *b, uint64_t limit)
{
	*b = (struct budget){.heap = {resize, b}, .limit = limit};
}

void budget_join(struct budget *b, struct budget *all, uint64_t adds)
{
	b->all = all;
	b->adds = adds;
	if (all != NULL)
		all->limit += adds;
}

void budget_leave(struct budget *b)
{
	if (b->all != NULL)
		b->all->limit -= b->adds;
	b->all = NULL;
}
