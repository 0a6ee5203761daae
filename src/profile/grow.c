/* profile/grow.c - a heap that is malloc's. */
#include "profile/grow_priv.h"

#include <stdlib.h>

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	(void)ctx, (void)old_len;
	if (len == 0) {
		free(old);
		return NULL;
	}
	return realloc(old, len);
}

const struct heap profile_heap = {.resize = resize};
