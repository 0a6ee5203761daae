/* profile/tags.c - a hash table of halves of hashes. */
#include "profile/tags.h"

#include <assert.h>
#include <stdlib.h>

enum { SIZE_LEAST = 64 };

void tags_fini(struct tags *t)
{
	free(t->slots);
	*t = (struct tags){0};
}

static void put(struct tags *t, struct tags_slot s)
{
	size_t i = s.tag;

	while (t->slots[i & (t->size - 1)].value != 0)
		i++;
	t->slots[i & (t->size - 1)] = s;
	t->n++;
}

int tags_reserve(struct tags *t, size_t n)
{
	struct tags more = {.size = t->size == 0 ? SIZE_LEAST : t->size};

	while (more.size < 2 * n)
		more.size *= 2;
	if (more.size == t->size)
		return 0;
	more.slots = calloc(more.size, sizeof *more.slots);
	if (more.slots == NULL)
		return -1;
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].value != 0)
			put(&more, t->slots[i]);
	free(t->slots);
	*t = more;
	return 0;
}

int tags_add(struct tags *t, uint32_t tag, uint32_t value)
{
	assert(value != TAGS_NONE);
	if (tags_reserve(t, t->n + 1) < 0)
		return -1;
	put(t, (struct tags_slot){tag, value + 1});
	return 0;
}
