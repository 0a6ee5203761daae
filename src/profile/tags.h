/* profile/tags.h - numbers of things by half of their hash.
 *
 * For trees of millions of nodes: a slot has 8 bytes, where keys.h has 12 in
 * two places, and the time goes into memory that is not in the cache. Numbers
 * that have a tag are candidates: whoever looks compares the thing itself.
 * Slots are probed one after the other; at most half of them are full. Hosted.
 */
#ifndef PROFILE_TAGS_H
#define PROFILE_TAGS_H

#include <stddef.h>
#include <stdint.h>

struct tags_slot {
	uint32_t tag;
	uint32_t value; /* a number + 1; 0: the slot is empty */
};

/* Empty if zeroed. */
struct tags {
	struct tags_slot *slots; /* owned */
	size_t size, n;		 /* slots, a power of two; full ones */
};
void tags_fini(struct tags *t);
/* Room for so many in all, so that they need not be moved again and again. -1:
 * no memory, and nothing has changed. */
int tags_reserve(struct tags *t, size_t n);

enum { TAGS_NONE = UINT32_MAX };

static inline uint32_t tags_of(uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h ^ h >> 32);
}

/* The next number with that tag, from *at on, which goes behind it and is the
 * tag itself in the beginning; TAGS_NONE: there is no more. */
static inline uint32_t tags_next(const struct tags *t, uint32_t tag, size_t *at)
{
	while (t->size != 0) {
		const struct tags_slot *s = &t->slots[*at & (t->size - 1)];

		if (s->value == 0)
			break;
		++*at;
		if (s->tag == tag)
			return s->value - 1;
	}
	return TAGS_NONE;
}

/* One more; less than TAGS_NONE. -1: no memory. */
int tags_add(struct tags *t, uint32_t tag, uint32_t value);

#endif
