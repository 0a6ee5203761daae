/* profile/keys.c - a hash table from keys to numbers. */
#include "profile/keys.h"

#include <assert.h>
#include <stdlib.h>

enum { SIZE_LEAST = 64 };

void keys_fini(struct keys *k)
{
	free(k->key);
	free(k->value);
	*k = (struct keys){0};
}

static void put(struct keys *k, uint64_t key, uint32_t value)
{
	size_t i = keys_first(k, key);

	assert(k->value != NULL);
	while (k->value[i] != 0)
		i = (i + 1) & (k->size - 1);
	k->key[i] = key;
	k->value[i] = value;
	k->n++;
}

/* Twice as many slots. */
static int rebuild(struct keys *k)
{
	struct keys more = {.size = k->size == 0 ? SIZE_LEAST : 2 * k->size};

	more.key = reallocarray(NULL, more.size, sizeof *more.key);
	more.value = calloc(more.size, sizeof *more.value);
	if (more.key == NULL || more.value == NULL) {
		keys_fini(&more);
		return -1;
	}
	for (size_t i = 0; i < k->size; i++)
		if (k->value[i] != 0)
			put(&more, k->key[i], k->value[i]);
	free(k->key);
	free(k->value);
	k->key = more.key;
	k->value = more.value;
	k->size = more.size;
	return 0;
}

int keys_add(struct keys *k, uint64_t key, uint32_t value)
{
	assert(value != KEYS_NONE);
	if (2 * k->n >= k->size && rebuild(k) < 0)
		return -1;
	put(k, key, value + 1);
	return 0;
}

void keys_replace(struct keys *k, uint64_t key, uint32_t value)
{
	size_t i = keys_first(k, key);

	while (k->key[i] != key || k->value[i] == 0)
		i = (i + 1) & (k->size - 1);
	k->value[i] = value + 1;
}
