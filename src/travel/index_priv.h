/* travel/index_priv.h - what an index is made of. Private to it.
 *
 * A segment's entry, before it is compressed: a head, then pages, ascending by
 * their numbers; first those of data, then those of code. A page is of the
 * shadow's index (wire/record.h): PAGE bytes of it, a bit for each word. */
#ifndef TRAVEL_INDEX_PRIV_H
#define TRAVEL_INDEX_PRIV_H

#include "travel/index.h"

enum {
	INDEX_PAGE = 4096,
	INDEX_WORD = 8,
	INDEX_BITS = INDEX_PAGE / INDEX_WORD / 8, /* bytes of a page's bits */
	INDEX_RAW_MAX = 1 << 30,
	INDEX_CALLS = 512, /* larger numbers are folded */
	INDEX_PAGES = 1 << 20,
	INDEX_FS_REACH = 1 << 16, /* how far from its base fs is used */
};

struct index_head {
	uint64_t fs[2]; /* bases of fs: at its beginning, and end */
	uint32_t n_data, n_code;
	uint32_t knows_code, pad;
	uint64_t signals;		/* with handlers: bit 0 is number 1 */
	uint8_t calls[INDEX_CALLS / 8]; /* a bit for each number */
};

struct index_page {
	uint32_t number;
	uint32_t kinds;		     /* INDEX_* */
	uint8_t bits[2][INDEX_BITS]; /* read, written; executed is the first */
};

struct index_entry {
	uint8_t *stored; /* owned: compressed; NULL: not known */
	uint32_t stored_len, raw_len;
	uint8_t *raw; /* owned: the same, not compressed; NULL: it was not
		       * needed */
};

struct index {
	unsigned n;
	struct index_entry *entries; /* owned */
	size_t raw_memory;
};

/* Takes `stored`, which is of malloc. -1: it is no entry; nothing is taken. */
int index_put(struct index *x, unsigned segment, uint8_t *stored,
	      uint32_t stored_len, uint32_t raw_len);
/* Is it an entry? */
int index_is_entry(const uint8_t *raw, size_t len);
/* For the caller to free; NULL: no memory. */
uint8_t *index_pack(const uint8_t *raw, uint32_t len, uint32_t *out_len);
uint8_t *index_unpack(const struct index_entry *e);

#endif
