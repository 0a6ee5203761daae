/* profile/keys.h - numbers by key: a hash table that only grows.
 *
 * A key is any 64 bits, and may have several numbers: whoever uses a hash as a
 * key looks at each of them. Slots are probed one after the other; at most half
 * of them are full. Hosted. */
#ifndef PROFILE_KEYS_H
#define PROFILE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Empty if zeroed. */
struct keys {
	uint64_t *key;	 /* owned */
	uint32_t *value; /* owned; a number + 1; 0: the slot is empty */
	size_t size, n;	 /* slots, a power of two; full ones */
};
void keys_fini(struct keys *k);

enum { KEYS_NONE = UINT32_MAX };

static inline size_t keys_first(const struct keys *k, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	return (size_t)(h ^ h >> 32) & (k->size - 1);
}

/* The next number of key, from slot *at on (see keys_first), which goes behind
 * it; KEYS_NONE: there is no more. */
static inline uint32_t keys_next(const struct keys *k, uint64_t key, size_t *at)
{
	while (k->size != 0 && k->value[*at] != 0) {
		size_t i = *at;

		*at = (i + 1) & (k->size - 1);
		if (k->key[i] == key)
			return k->value[i] - 1;
	}
	return KEYS_NONE;
}

/* The first one. */
static inline uint32_t keys_find(const struct keys *k, uint64_t key)
{
	size_t at = k->size == 0 ? 0 : keys_first(k, key);

	return keys_next(k, key, &at);
}

/* One more; less than KEYS_NONE. -1: no memory. */
int keys_add(struct keys *k, uint64_t key, uint32_t value);
/* In the place of the first one, which there is. */
void keys_replace(struct keys *k, uint64_t key, uint32_t value);

#endif
