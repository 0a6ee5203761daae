/* travel/index.c - which segments touch which addresses: asking. */
#include "travel/index_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

enum {
	DIRECTORIES_MEMORY = 32 << 20,
	KEPT_MEMORY = 32 << 20,
	LEN_MOST = 1 << 20,
};

/* -- Life -- */

struct index *index_new(unsigned n_segments)
{
	struct index *x = calloc(1, sizeof *x);

	if (x == NULL)
		return NULL;
	x->n = n_segments;
	x->source.fd = -1;
	x->entries = calloc((size_t)n_segments + 1, sizeof *x->entries);
	if (x->entries == NULL) {
		free(x);
		return NULL;
	}
	return x;
}

static void forget_directories(struct index *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		free(x->entries[i].raw);
		x->entries[i].raw = NULL;
	}
	x->raw_memory = 0;
}

static void forget_blocks(struct index *x)
{
	for (unsigned i = 0; i < INDEX_KEPT; i++) {
		free(x->kept[i].raw);
		x->kept[i].raw = NULL;
	}
	x->kept_memory = 0;
}

void index_free(struct index *x)
{
	if (x == NULL)
		return;
	forget_directories(x);
	forget_blocks(x);
	free(x->view);
	free(x->sum);
	free(x->stored.bytes);
	free(x->raw.bytes);
	ZSTD_freeDCtx(x->unpacker);
	if (x->source.bytes != NULL)
		munmap(x->source.bytes, x->source.len);
	free(x->entries);
	free(x);
}

void index_take_source(struct index *x, const struct index_source *source)
{
	forget_directories(x);
	forget_blocks(x);
	memset(x->entries, 0, x->n * sizeof *x->entries);
	if (x->source.bytes != NULL)
		munmap(x->source.bytes, x->source.len);
	x->source = *source;
}

int index_has(const struct index *x, unsigned segment)
{
	return segment < x->n && x->entries[segment].blob_len > 0;
}

int index_put(struct index *x, unsigned segment, const struct index_entry *e)
{
	struct index_entry *to;

	if (segment >= x->n || e->raw_len < sizeof(struct index_head) ||
	    e->raw_len > INDEX_BLOCK_MAX || e->stored_len > e->blob_len)
		return -1;
	to = &x->entries[segment];
	if (to->raw != NULL)
		x->raw_memory -= to->raw_len;
	free(to->raw);
	*to = *e;
	to->raw = NULL;
	return 0;
}

/* -- Reading -- */

int index_source_read(const struct index_source *s, uint64_t offset, void *to,
		      size_t len)
{
	if (s->bytes != NULL) {
		if (offset > s->len || len > s->len - offset)
			return -1;
		memcpy(to, s->bytes + offset, len);
		return 0;
	}
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(s->fd, (uint8_t *)to + done, len - done,
				  (off_t)(offset + done));

		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

/* For the caller to free. */
static uint8_t *unpack_copy(struct index *x, unsigned segment,
			    const struct index_block *b)
{
	const uint8_t *raw = index_unpack(x, segment, b);
	uint8_t *copy = raw != NULL ? malloc((size_t)b->raw_len + 1) : NULL;

	if (copy != NULL)
		memcpy(copy, raw, b->raw_len);
	return copy;
}

/* They ascend, and the first one begins with the segment. */
static bool are_parts(const struct index_head *h, const struct index_cluster *c)
{
	const struct index_part *p = index_parts(h) + c->first_part;

	if (c->number >= INDEX_CLUSTERS || c->n_parts == 0 ||
	    c->first_part > h->n_parts ||
	    c->n_parts > h->n_parts - c->first_part || p[0].first != 0)
		return false;
	for (uint32_t i = 0; i < c->n_parts; i++) {
		const unsigned pages = (unsigned)__builtin_popcount(p[i].pages);

		if ((i > 0 && p[i].first <= p[i - 1].first) ||
		    p[i].image.raw_len != pages * INDEX_PAGE)
			return false;
	}
	return true;
}

/* Every number in it that chooses something is checked here. */
static bool is_directory(const uint8_t *raw, size_t len)
{
	const struct index_head *d = (const struct index_head *)raw;
	struct index_head h;
	const uint64_t *counts;

	memcpy(&h, raw, sizeof h);
	if (h.n_sections == 0 || h.n_sections > INDEX_SECTIONS_MAX ||
	    h.n_clusters > INDEX_CLUSTERS || h.n_code > INDEX_PAGES ||
	    h.n_parts > INDEX_BLOCK_MAX / sizeof(struct index_part) ||
	    index_directory_len(&h) != len)
		return false;
	counts = index_counts(d);
	for (unsigned i = 1; i < h.n_sections; i++)
		if (counts[i] <= counts[i - 1])
			return false;
	for (uint32_t i = 0; i < h.n_clusters; i++)
		if (!are_parts(d, &index_clusters(d)[i]))
			return false;
	return h.presence.raw_len == 0 ||
	       h.presence.raw_len ==
		   h.n_clusters * index_presence_len(h.n_sections);
}

const struct index_head *index_head_of(struct index *x, unsigned segment)
{
	struct index_entry *e;

	if (!index_has(x, segment))
		return NULL;
	e = &x->entries[segment];
	if (e->raw != NULL)
		return (const struct index_head *)e->raw;
	if (x->raw_memory + e->raw_len > DIRECTORIES_MEMORY)
		forget_directories(x);
	e->raw = unpack_copy(
	    x, segment,
	    &(struct index_block){.offset = e->blob_len - e->stored_len,
				  .stored_len = e->stored_len,
				  .raw_len = e->raw_len,
				  .checksum = e->checksum});
	if (e->raw == NULL || !is_directory(e->raw, e->raw_len)) {
		free(e->raw);
		*e = (struct index_entry){0};
		return NULL;
	}
	x->raw_memory += e->raw_len;
	return (const struct index_head *)e->raw;
}

static struct index_kept *oldest_kept(struct index *x)
{
	struct index_kept *oldest = &x->kept[0];

	for (unsigned i = 1; i < INDEX_KEPT; i++)
		if (x->kept[i].raw == NULL || x->kept[i].used < oldest->used)
			oldest = &x->kept[i];
	return oldest;
}

const uint8_t *index_block_of(struct index *x, unsigned segment,
			      const struct index_block *b)
{
	struct index_kept *k;

	for (unsigned i = 0; i < INDEX_KEPT; i++) {
		k = &x->kept[i];
		if (k->raw != NULL && k->segment == segment &&
		    k->offset == b->offset) {
			k->used = ++x->clock;
			return k->raw;
		}
	}
	if (x->kept_memory + b->raw_len > KEPT_MEMORY)
		forget_blocks(x);
	k = oldest_kept(x);
	if (k->raw != NULL)
		x->kept_memory -= k->len;
	free(k->raw);
	*k = (struct index_kept){segment, b->offset, NULL, b->raw_len,
				 ++x->clock};
	k->raw = unpack_copy(x, segment, b);
	if (k->raw != NULL)
		x->kept_memory += b->raw_len;
	return k->raw;
}

/* -- Words that were executed -- */

static bool has_bit(const uint8_t *bits, uint32_t word)
{
	return bits[word / 8] >> word % 8 & 1;
}

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

static bool may_execute(const struct index_head *h, uint64_t address,
			uint64_t len)
{
	enum { WORDS = INDEX_PAGE / INDEX_WORD };
	uint64_t first = (uint32_t)(address + WIRE_SHADOW_SKEW);

	if (!(h->flags & INDEX_KNOWS_CODE))
		return true;
	for (uint64_t at = first / INDEX_WORD;
	     at <= (first + len - 1) / INDEX_WORD; at++) {
		uint32_t word =
		    (uint32_t)(at % (WIRE_SHADOW_SIZE / INDEX_WORD));
		const struct index_page *p =
		    find_page(index_code(h), h->n_code, word / WORDS);

		if (p != NULL && has_bit(p->bits, word % WORDS))
			return true;
	}
	return false;
}

/* -- Bytes that were touched -- */

const struct index_cluster *index_find_cluster(const struct index_head *h,
					       uint32_t number)
{
	const struct index_cluster *all = index_clusters(h);
	uint32_t low = 0, high = h->n_clusters;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (all[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->n_clusters && all[low].number == number ? &all[low]
								: NULL;
}

unsigned index_part_of(const struct index_head *h,
		       const struct index_cluster *c, unsigned section)
{
	const struct index_part *parts = index_parts(h) + c->first_part;
	unsigned low = 0, high = c->n_parts;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (parts[middle].first <= section)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A question: of sections [from, end) of a segment the first, or the last, that
 * has touched some bytes; the answer so far. */
struct search {
	struct index *x;
	const struct index_head *h;
	unsigned segment, from, end, what;
	bool wants_last;
	int found; /* -1: none */
};

static void find_section(struct search *s, unsigned section)
{
	if (section < s->from || section >= s->end)
		return;
	if (s->found < 0 ||
	    (s->wants_last ? (int)section > s->found : (int)section < s->found))
		s->found = (int)section;
}

/* Bytes of a cluster. */
struct bytes_in {
	uint32_t first, len;
};

/* Does a line of touches mean any of them? */
static bool is_meant(const struct search *s, const struct index_line *l,
		     const struct bytes_in *b)
{
	const uint32_t line = l->line * (uint32_t)INDEX_LINE;
	uint64_t mask = (s->what & INDEX_READ ? index_bytes_of(l->read) : 0) |
			(s->what & INDEX_WRITTEN ? l->written : 0);

	if (line + INDEX_LINE <= b->first || line >= b->first + b->len)
		return false;
	if (line < b->first)
		mask &= UINT64_MAX << (b->first - line);
	if (line + INDEX_LINE > b->first + b->len)
		mask &= UINT64_MAX >> (line + INDEX_LINE - b->first - b->len);
	return mask != 0;
}

/* Each of a block's sections that means them. -1: it is damaged. */
typedef void found_section(struct search *s, void *ctx, unsigned section);
static int each_meant(struct search *s, const struct index_block *block,
		      const struct bytes_in *b, found_section *f, void *ctx)
{
	const uint8_t *at = index_block_of(s->x, s->segment, block);
	const uint8_t *end = at != NULL ? at + block->raw_len : NULL;
	struct index_touches t;
	int rc = at != NULL ? 1 : -1;

	while (rc > 0 && (rc = index_next_touches(&at, end, &t)) > 0)
		for (unsigned i = 0; i < t.n; i++)
			if (is_meant(s, &t.lines[i], b)) {
				f(s, ctx, t.section);
				break;
			}
	return rc;
}

static void see_section(struct search *s, void *ctx, unsigned section)
{
	(void)ctx;
	find_section(s, section);
}

static void see_part(struct search *s, void *ctx, unsigned part)
{
	uint8_t *parts = ctx;

	(void)s;
	parts[part / 8] |= (uint8_t)(1u << part % 8);
}

/* One part after the other, from the end that is wanted on: the first that has
 * one has the answer. `may`: a bit for each; NULL: all. */
static int search_parts(struct search *s, const struct index_cluster *c,
			const struct bytes_in *b, const uint8_t *may)
{
	const struct index_part *parts = index_parts(s->h) + c->first_part;
	int at = s->wants_last ? (int)index_part_of(s->h, c, s->end - 1)
			       : (int)index_part_of(s->h, c, s->from);
	const int step = s->wants_last ? -1 : 1, before = s->found;

	for (; at >= 0 && at < (int)c->n_parts && s->found == before;
	     at += step) {
		const struct index_part *p = &parts[at];

		if ((may != NULL && !has_bit(may, (uint32_t)at)) ||
		    p->touches.raw_len == 0)
			continue;
		if (each_meant(s, &p->touches, b, see_section, NULL) < 0)
			return -1;
	}
	return 0;
}

/* Of a damaged block any section may have touched them. */
static void search_cluster(struct search *s, const struct index_cluster *c,
			   const struct bytes_in *b)
{
	uint8_t may[INDEX_SECTIONS_MAX / 8] = {0};
	int rc = 0;

	if (s->from >= s->end)
		return;
	if (c->summary.raw_len > 0)
		rc = each_meant(s, &c->summary, b, see_part, may);
	if (rc == 0)
		rc = search_parts(s, c, b, c->summary.raw_len > 0 ? may : NULL);
	if (rc < 0)
		find_section(s, s->wants_last ? s->end - 1 : s->from);
}

static bool has_pages(const struct index_cluster *c, const struct bytes_in *b)
{
	for (uint32_t p = b->first / INDEX_PAGE;
	     p <= (b->first + b->len - 1) / INDEX_PAGE; p++)
		if (c->pages >> p & 1)
			return true;
	return false;
}

/* By index; it may wrap. */
static void search_range(struct search *s, uint64_t address, uint64_t len)
{
	enum { SIZE = INDEX_CLUSTER_PAGES * INDEX_PAGE };
	uint64_t at = (uint32_t)(address + WIRE_SHADOW_SKEW);

	while (len > 0) {
		const uint32_t first = (uint32_t)(at % SIZE);
		const struct bytes_in b = {
		    first, SIZE - first < len ? SIZE - first : (uint32_t)len};
		const struct index_cluster *c = index_find_cluster(
		    s->h, (uint32_t)(at / SIZE % INDEX_CLUSTERS));

		if (c != NULL && has_pages(c, &b))
			search_cluster(s, c, &b);
		at += b.len;
		len -= b.len;
	}
}

/* What is reached through fs lies at its offset. */
static void search_all(struct search *s, uint64_t address, uint64_t len)
{
	enum { REACH = INDEX_FS_REACH };
	const uint64_t *fs = s->h->fs;

	search_range(s, address, len);
	for (unsigned i = 0; i < 2; i++)
		if ((i == 0 || fs[1] != fs[0]) &&
		    address - fs[i] + REACH < 2ull * REACH)
			search_range(s, address - fs[i], len);
}

static int search(struct search *s, uint64_t address, uint64_t len)
{
	s->h = index_head_of(s->x, s->segment);
	s->found = -1;
	if (s->from >= s->end)
		return -1;
	if (s->h == NULL || s->h->flags & INDEX_IS_BLIND || len > LEN_MOST)
		return (int)(s->wants_last ? s->end - 1 : s->from);
	search_all(s, address, len);
	return s->found;
}

int index_last_section(struct index *x, unsigned segment, unsigned end,
		       unsigned what, uint64_t address, uint64_t len)
{
	struct search s = {.x = x,
			   .segment = segment,
			   .end = end,
			   .what = what,
			   .wants_last = true};

	return search(&s, address, len);
}

int index_next_section(struct index *x, unsigned segment, unsigned from,
		       unsigned what, uint64_t address, uint64_t len)
{
	struct search s = {.x = x,
			   .segment = segment,
			   .from = from,
			   .end = index_sections(x, segment),
			   .what = what};

	return search(&s, address, len);
}

int index_may(struct index *x, unsigned segment, unsigned what,
	      uint64_t address, uint64_t len)
{
	const struct index_head *h = index_head_of(x, segment);

	if (h == NULL || h->flags & INDEX_IS_BLIND || len > LEN_MOST)
		return 1;
	if (len == 0)
		return 0;
	if (what & INDEX_EXECUTED && may_execute(h, address, len))
		return 1;
	return index_last_section(x, segment, h->n_sections,
				  what & (INDEX_READ | INDEX_WRITTEN), address,
				  len) >= 0;
}

static void mark_page(uint8_t *pages, uint32_t number)
{
	pages[number / 8 % (INDEX_PAGES / 8)] |= (uint8_t)(1u << number % 8);
}

void index_mark_touched(struct index *x, unsigned segment, uint8_t *pages)
{
	const struct index_head *h = index_head_of(x, segment);

	if (h == NULL || h->flags & INDEX_IS_BLIND) {
		memset(pages, 0xff, INDEX_PAGES / 8);
		return;
	}
	for (uint32_t i = 0; i < h->n_clusters; i++) {
		const struct index_cluster *c = &index_clusters(h)[i];

		for (unsigned p = 0; p < INDEX_CLUSTER_PAGES; p++)
			if (c->pages >> p & 1)
				mark_page(pages,
					  c->number * INDEX_CLUSTER_PAGES + p);
	}
	/* What is reached through fs lies at its offset. */
	for (unsigned i = 0; i < 2; i++)
		for (uint32_t at = 0; at <= 2 * INDEX_FS_REACH;
		     at += INDEX_PAGE)
			mark_page(pages, (uint32_t)(h->fs[i] - INDEX_FS_REACH +
						    at + WIRE_SHADOW_SKEW) /
					     INDEX_PAGE);
}

/* -- Signals and calls -- */

int index_may_signal(struct index *x, unsigned segment, int number)
{
	const struct index_head *h = index_head_of(x, segment);

	return h == NULL || number < 0 || number > 64 ||
	       (number == 0 ? h->signals != 0 : h->signals >> (number - 1) & 1);
}

int index_may_call(struct index *x, unsigned segment, int64_t number)
{
	const struct index_head *h = index_head_of(x, segment);

	if (h == NULL)
		return 1;
	if (number >= 0)
		return has_bit(h->calls, (uint32_t)(number % INDEX_CALLS));
	for (unsigned i = 0; i < sizeof h->calls; i++)
		if (h->calls[i] != 0)
			return 1;
	return 0;
}
