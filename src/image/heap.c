/* image/heap.c - malloc with a budget. */
#include "image/heap_priv.h"

#include <stdlib.h>

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	struct budget *b = ctx;
	void *block;

	if (len == 0) {
		free(old);
		b->used -= old_len;
		return NULL;
	}
	if (len > old_len && len - old_len > b->limit - b->used)
		return NULL;
	block = realloc(old, len);
	if (block != NULL)
		b->used += len - old_len;
	return block;
}

void budget_init(struct budget *b, uint64_t limit)
{
	*b = (struct budget){.heap = {resize, b}, .limit = limit};
}
