/* travel/index.c - which segments touch which addresses: asking. */
#include "travel/index_priv.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 3, RAW_MEMORY = 256 << 20, LEN_MOST = 1 << 20 };

struct index *index_new(unsigned n_segments)
{
	struct index *x = calloc(1, sizeof *x);

	if (x == NULL)
		return NULL;
	x->n = n_segments;
	x->entries = calloc((size_t)n_segments + 1, sizeof *x->entries);
	if (x->entries == NULL) {
		free(x);
		return NULL;
	}
	return x;
}

static void forget_raw(struct index *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		free(x->entries[i].raw);
		x->entries[i].raw = NULL;
	}
	x->raw_memory = 0;
}

void index_free(struct index *x)
{
	if (x == NULL)
		return;
	forget_raw(x);
	for (unsigned i = 0; i < x->n; i++)
		free(x->entries[i].stored);
	free(x->entries);
	free(x);
}

int index_has(const struct index *x, unsigned segment)
{
	return segment < x->n && x->entries[segment].stored != NULL;
}

/* -- Entries -- */

int index_is_entry(const uint8_t *raw, size_t len)
{
	struct index_head h;
	size_t pages;

	if (len < sizeof h)
		return 0;
	memcpy(&h, raw, sizeof h);
	pages = (len - sizeof h) / sizeof(struct index_page);
	return (len - sizeof h) % sizeof(struct index_page) == 0 &&
	       (uint64_t)h.n_data + h.n_code == pages;
}

uint8_t *index_pack(const uint8_t *raw, uint32_t len, uint32_t *out_len)
{
	size_t room = ZSTD_compressBound(len), n;
	uint8_t *all = malloc(room), *out = NULL;

	if (all == NULL)
		return NULL;
	n = ZSTD_compress(all, room, raw, len, LEVEL);
	if (!ZSTD_isError(n) && n <= UINT32_MAX)
		out = malloc(n);
	if (out != NULL) {
		memcpy(out, all, n);
		*out_len = (uint32_t)n;
	}
	free(all);
	return out;
}

uint8_t *index_unpack(const struct index_entry *e)
{
	uint8_t *raw = malloc(e->raw_len);

	if (raw != NULL && (ZSTD_decompress(raw, e->raw_len, e->stored,
					    e->stored_len) != e->raw_len ||
			    !index_is_entry(raw, e->raw_len))) {
		free(raw);
		return NULL;
	}
	return raw;
}

int index_put(struct index *x, unsigned segment, uint8_t *stored,
	      uint32_t stored_len, uint32_t raw_len)
{
	struct index_entry *e;

	if (segment >= x->n || raw_len < sizeof(struct index_head) ||
	    raw_len > INDEX_RAW_MAX)
		return -1;
	e = &x->entries[segment];
	free(e->stored);
	if (e->raw != NULL)
		x->raw_memory -= e->raw_len;
	free(e->raw);
	e->stored = stored;
	e->stored_len = stored_len;
	e->raw_len = raw_len;
	e->raw = NULL;
	return 0;
}

/* NULL: it is not known, or damaged. */
static const uint8_t *raw_of(struct index *x, unsigned segment)
{
	struct index_entry *e = &x->entries[segment];

	if (!index_has(x, segment))
		return NULL;
	if (e->raw != NULL)
		return e->raw;
	if (x->raw_memory + e->raw_len > RAW_MEMORY)
		forget_raw(x);
	e->raw = index_unpack(e);
	if (e->raw == NULL) {
		free(e->stored);
		*e = (struct index_entry){0};
		return NULL;
	}
	x->raw_memory += e->raw_len;
	return e->raw;
}

/* -- Asking -- */

static const struct index_page *find_page(const struct index_page *pages,
					  uint32_t n, uint32_t number)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (pages[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && pages[low].number == number ? &pages[low] : NULL;
}

static int has_bit(const uint8_t *bits, uint32_t word)
{
	return bits[word / 8] >> word % 8 & 1;
}

static int may_word(const struct index_page *pages, uint32_t n, unsigned what,
		    uint32_t word)
{
	enum { WORDS = INDEX_PAGE / INDEX_WORD };
	const struct index_page *p = find_page(pages, n, word / WORDS);

	if (p == NULL)
		return 0;
	word %= WORDS;
	return (what & (INDEX_READ | INDEX_EXECUTED) &&
		has_bit(p->bits[0], word)) ||
	       (what & INDEX_WRITTEN && has_bit(p->bits[1], word));
}

static int may(const struct index_head *h, unsigned what, uint64_t address,
	       uint64_t len)
{
	const struct index_page *pages = (const struct index_page *)(h + 1);
	uint64_t first = (uint32_t)(address + WIRE_SHADOW_SKEW);

	for (uint64_t at = first / INDEX_WORD;
	     at <= (first + len - 1) / INDEX_WORD; at++) {
		uint32_t word =
		    (uint32_t)(at % (WIRE_SHADOW_SIZE / INDEX_WORD));

		if ((what & (INDEX_READ | INDEX_WRITTEN) &&
		     may_word(pages, h->n_data,
			      what & (INDEX_READ | INDEX_WRITTEN), word)) ||
		    (what & INDEX_EXECUTED &&
		     may_word(pages + h->n_data, h->n_code, INDEX_EXECUTED,
			      word)))
			return 1;
	}
	return 0;
}

int index_may(struct index *x, unsigned segment, unsigned what,
	      uint64_t address, uint64_t len)
{
	enum { REACH = INDEX_FS_REACH };
	const uint8_t *raw = raw_of(x, segment);
	const struct index_head *h = (const struct index_head *)raw;

	if (raw == NULL || len > LEN_MOST ||
	    (what & INDEX_EXECUTED && !h->knows_code))
		return 1;
	if (len == 0)
		return 0;
	if (may(h, what, address, len))
		return 1;
	/* What is reached through fs lies at its offset. */
	for (unsigned i = 0; i < 2; i++)
		if (address - h->fs[i] + REACH < 2ull * REACH &&
		    may(h, what, address - h->fs[i], len))
			return 1;
	return 0;
}

static void mark_page(uint8_t *pages, uint32_t number)
{
	pages[number / 8 % (INDEX_PAGES / 8)] |= (uint8_t)(1u << number % 8);
}

void index_mark_touched(struct index *x, unsigned segment, uint8_t *pages)
{
	const struct index_head *h =
	    (const struct index_head *)raw_of(x, segment);
	const struct index_page *data;

	if (h == NULL) {
		memset(pages, 0xff, INDEX_PAGES / 8);
		return;
	}
	data = (const struct index_page *)(h + 1);
	for (uint32_t i = 0; i < h->n_data; i++)
		mark_page(pages, data[i].number);
	/* What is reached through fs lies at its offset. */
	for (unsigned i = 0; i < 2; i++)
		for (uint32_t at = 0; at <= 2 * INDEX_FS_REACH;
		     at += INDEX_PAGE)
			mark_page(pages, (uint32_t)(h->fs[i] - INDEX_FS_REACH +
						    at + WIRE_SHADOW_SKEW) /
					     INDEX_PAGE);
}

int index_may_signal(struct index *x, unsigned segment, int number)
{
	const struct index_head *h =
	    (const struct index_head *)raw_of(x, segment);

	return h == NULL || number < 0 || number > 64 ||
	       (number == 0 ? h->signals != 0 : h->signals >> (number - 1) & 1);
}

int index_may_call(struct index *x, unsigned segment, int64_t number)
{
	const struct index_head *h =
	    (const struct index_head *)raw_of(x, segment);

	if (h == NULL)
		return 1;
	if (number >= 0)
		return has_bit(h->calls, (uint32_t)(number % INDEX_CALLS));
	for (unsigned i = 0; i < sizeof h->calls; i++)
		if (h->calls[i] != 0)
			return 1;
	return 0;
}
