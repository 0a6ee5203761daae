/* travel/index_harvest.c - what a section of a replay has touched.
 *
 * Marks are bytes of a map as large as the shadow; the kernel knows which of
 * its pages there are. A mark at one place of the map may be of a load at one
 * index or of a store at another (engine/observe.h). It is of an index whose
 * page of the shadow is there; if both are, the two cannot be told apart:
 *
 * H1  What may have been touched is always said.
 * H2  What is known is said only of segments in which no page had marks that
 *     could be of either kind (harvest_has_values). The builder replays others
 *     twice, with a map for each kind.
 * H3  Of what is forgotten only its own marks are taken away: not those at the
 *     same places of the map that are of a page 2 GiB from it.
 *
 * What the log fills in changes the shadow and is marked as a load: the
 * granules that it filled are noted apart, because their bytes are a part of
 * what a section has left. */
#include "travel/index_harvest.h"

#include "engine/shadow.h"
#include "travel/marks.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	/* A part of a cluster ends when its values are as long as its image, or
	 * its touches are so long; but not before this. */
	PART_LEAST = 16 << 10,
	PART_TOUCHES = 128 << 10,
	N_PAGES = INDEX_PAGES,
	SOME_PAGES = 256,
	GRANULES = INDEX_PAGE / WIRE_GRANULE, /* of a page */
	FILLED_LEN = INDEX_PAGES / 8 * GRANULES,
	MAP_PAGES_MOST = (256 << 20) / INDEX_PAGE,
};

/* A line that was touched and then forgotten, in the present section. */
struct stashed {
	uint32_t line; /* of the whole index */
	uint64_t read, written;
};

struct cluster {
	struct harvest_cluster about;
	unsigned first; /* section of the part that goes on */
	uint32_t pages; /* of its image */
	struct index_block image;
	struct index_bytes touches, values; /* owned: of that part */
	struct index_bytes summary;	    /* owned: of those before */
	unsigned room_parts;
	size_t presence_len;
};

enum { N_LINES = INDEX_PAGES * INDEX_PAGE_LINES };
#define KNOWN_LEN ((size_t)N_LINES * sizeof(uint64_t))

struct harvest {
	uint8_t *loads, *stores;  /* borrowed: maps, or one map */
	const uint8_t *shadow;	  /* borrowed */
	uint8_t *filled;	  /* owned: a bit for each granule */
	uint64_t *known;	  /* owned: of each line, a bit for each byte */
	uint8_t *in_loads;	  /* owned: pages that there are */
	uint8_t *in_stores;	  /* in_loads, or owned */
	uint8_t *in_shadow;	  /* owned */
	struct index_bytes *blob; /* borrowed */
	struct cluster *clusters[INDEX_CLUSTERS]; /* owned */
	bool is_mixed;				  /* H2 */
	bool is_joined;				  /* harvest_join_sections */
	bool is_marked[INDEX_CLUSTERS];		  /* find_clusters */
	struct stashed *stash; /* owned; ascending once it is sorted */
	size_t n_stash, room_stash, at_stash;
	/* Of the cluster that is being read: */
	struct index_line lines[INDEX_CLUSTER_LINES];
	uint16_t changed[INDEX_CLUSTER_LINES];
	uint64_t masks[INDEX_CLUSTER_LINES];
	unsigned n_lines, n_changed;
};

/* -- Life -- */

/* Is there one map for both kinds of marks? */
static bool is_one_map(const struct harvest *h)
{
	return h->loads == h->stores;
}

struct harvest *harvest_new(uint8_t *loads, uint8_t *stores,
			    const uint8_t *shadow, struct index_bytes *blob)
{
	struct harvest *h = calloc(1, sizeof *h);

	if (h == NULL)
		return NULL;
	h->loads = loads;
	h->stores = stores;
	h->shadow = shadow;
	h->blob = blob;
	h->filled = calloc(1, FILLED_LEN);
	h->known = mmap(NULL, KNOWN_LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	h->in_loads = malloc(N_PAGES);
	h->in_stores = is_one_map(h) ? h->in_loads : malloc(N_PAGES);
	h->in_shadow = malloc(N_PAGES);
	if (h->filled == NULL || h->known == MAP_FAILED ||
	    h->in_loads == NULL || h->in_stores == NULL ||
	    h->in_shadow == NULL) {
		harvest_free(h);
		return NULL;
	}
	return h;
}

static void free_cluster(struct cluster *c)
{
	if (c == NULL)
		return;
	free(c->about.parts);
	free(c->about.presence);
	free(c->touches.bytes);
	free(c->values.bytes);
	free(c->summary.bytes);
	free(c);
}

void harvest_begin(struct harvest *h)
{
	for (unsigned i = 0; i < INDEX_CLUSTERS; i++) {
		free_cluster(h->clusters[i]);
		h->clusters[i] = NULL;
	}
	h->is_mixed = h->is_joined = false;
	h->n_stash = h->at_stash = 0;
	if (h->known != MAP_FAILED)
		madvise(h->known, KNOWN_LEN, MADV_DONTNEED);
}

void harvest_free(struct harvest *h)
{
	if (h == NULL)
		return;
	harvest_begin(h);
	free(h->filled);
	if (h->known != MAP_FAILED)
		munmap(h->known, KNOWN_LEN);
	if (!is_one_map(h))
		free(h->in_stores);
	free(h->in_loads);
	free(h->in_shadow);
	free(h->stash);
	free(h);
}

bool harvest_has_values(const struct harvest *h)
{
	return !h->is_mixed;
}

const struct harvest_cluster *harvest_cluster(const struct harvest *h,
					      uint32_t number)
{
	return h->clusters[number] != NULL ? &h->clusters[number]->about : NULL;
}

/* -- Marks -- */

static uint32_t loads_at(uint32_t line)
{
	return line * INDEX_LINE + OBSERVE_SKEW;
}

static uint32_t stores_at(const struct harvest *h, uint32_t line)
{
	return loads_at(line) + (is_one_map(h) ? OBSERVE_STORED : 0);
}

/* A bit for each byte of a line of a map. */
static uint64_t marks_at(const uint8_t *map, const uint8_t *present,
			 uint32_t at)
{
	const uint8_t *line = marks_line(map, present, at);
	uint64_t bits = 0;

	for (unsigned i = 0; line != NULL && i < INDEX_LINE / 16; i++)
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_loadu_si128(
			    (const __m128i *)(line + (size_t)16 * i)))
			<< 16 * i;
	return bits;
}

static uint64_t loads_of(const struct harvest *h, uint32_t line)
{
	return marks_at(h->loads, h->in_loads, loads_at(line));
}

static uint64_t stores_of(const struct harvest *h, uint32_t line)
{
	return marks_at(h->stores, h->in_stores, stores_at(h, line));
}

static bool is_in_shadow(const struct harvest *h, uint32_t index)
{
	return h->in_shadow[index / INDEX_PAGE] & 1;
}

/* May marks of this page be others'? Its own stores lie where the loads of
 * another one do, and the reverse. */
static bool has_neighbour(const struct harvest *h, uint32_t page)
{
	const uint32_t first = page * INDEX_PAGE, last = first + INDEX_PAGE - 1;

	return is_one_map(h) && (is_in_shadow(h, first + OBSERVE_STORED) ||
				 is_in_shadow(h, last + OBSERVE_STORED) ||
				 is_in_shadow(h, first - OBSERVE_STORED) ||
				 is_in_shadow(h, last - OBSERVE_STORED));
}

/* -- Fills -- */

void harvest_fill(struct harvest *h, uint32_t index, uint64_t len)
{
	uint64_t first = index / WIRE_GRANULE;
	uint64_t last = ((uint64_t)index + len - 1) / WIRE_GRANULE;

	for (uint64_t g = first; len > 0 && g <= last; g++)
		h->filled[g / 8 % FILLED_LEN] |= (uint8_t)(1u << g % 8);
}

/* A bit for each byte of the line, which is two granules. */
static uint64_t take_filled(struct harvest *h, uint32_t line)
{
	uint8_t *bits = &h->filled[line / 4];
	unsigned two = *bits >> line % 4 * 2 & 3;

	*bits &= (uint8_t) ~(3u << line % 4 * 2);
	return (two & 1 ? 0xffffffffull : 0) | (two & 2 ? ~0xffffffffull : 0);
}

/* -- Forgetting -- */

static int stash_line(struct harvest *h, const struct stashed *s)
{
	if (h->n_stash == h->room_stash) {
		size_t room = h->room_stash == 0 ? 256 : 2 * h->room_stash;
		struct stashed *more =
		    reallocarray(h->stash, room, sizeof *more);

		if (more == NULL)
			return -1;
		h->stash = more;
		h->room_stash = room;
	}
	h->stash[h->n_stash++] = *s;
	return 0;
}

/* Those bytes of a line that are in [index, index + len), both in one ring. */
static uint64_t mask_in(uint32_t line, uint32_t index, uint64_t len)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < INDEX_LINE; i++)
		if ((uint32_t)(line * INDEX_LINE + i - index) < len)
			mask |= 1ull << i;
	return mask;
}

static void unmark(uint8_t *line, uint64_t mask)
{
	for (; mask != 0; mask &= mask - 1)
		line[__builtin_ctzll(mask)] = 0;
}

static int forget_line(struct harvest *h, unsigned which, uint32_t line,
		       uint64_t mask)
{
	const uint32_t page = line / INDEX_PAGE_LINES;
	struct stashed s = {.line = line};

	if (h->known[line] & mask)
		h->known[line] &= ~mask;
	if (!is_in_shadow(h, line * INDEX_LINE)) /* H3 */
		return 0;
	if (which & HARVEST_LOADS)
		s.read = loads_of(h, line) & mask;
	if (which & HARVEST_STORES)
		s.written = stores_of(h, line) & mask;
	if ((s.read | s.written) != 0 && has_neighbour(h, page))
		h->is_mixed = true; /* H2 */
	if (s.read != 0)
		unmark(h->loads + loads_at(line), s.read);
	if (s.written != 0)
		unmark(h->stores + stores_at(h, line), s.written);
	return (s.read | s.written) != 0 ? stash_line(h, &s) : 0;
}

/* Which pages of a map there are, of those from `at` on that hold marks of `n`
 * pages of the index. */
static void look_at_map(const uint8_t *map, uint8_t *present, uint32_t at,
			uint32_t n)
{
	uint32_t first = at / INDEX_PAGE, some = n + 1;

	if (first + some > N_PAGES)
		some = N_PAGES - first;
	touched_pages(map + (size_t)first * INDEX_PAGE, some, present + first);
	if (some <= n)
		touched_pages(map, n + 1 - some, present);
}

/* Which pages of the shadow there are, of `n` from that of the index on. */
static void look_at_shadow(struct harvest *h, uint32_t index, uint32_t n)
{
	uint32_t first = index / INDEX_PAGE, some = n;

	if (first + some > N_PAGES)
		some = N_PAGES - first;
	touched_pages(h->shadow + (size_t)first * INDEX_PAGE, some,
		      h->in_shadow + first);
	if (some < n)
		touched_pages(h->shadow, n - some, h->in_shadow);
}

/* At most SOME_PAGES of them, from the first byte on. */
static int forget_pages(struct harvest *h, unsigned which, uint32_t index,
			uint64_t len)
{
	const uint32_t n_lines = (uint32_t)(WIRE_SHADOW_SIZE / INDEX_LINE);
	uint64_t first = index / INDEX_LINE;
	uint64_t last = (index + len - 1) / INDEX_LINE;
	uint32_t n = (uint32_t)((last - first) / INDEX_PAGE_LINES) + 2;

	look_at_map(h->loads, h->in_loads, loads_at((uint32_t)first), n);
	look_at_map(h->stores, h->in_stores, stores_at(h, (uint32_t)first), n);
	look_at_shadow(h, index, n);
	look_at_shadow(h, index + OBSERVE_STORED, n + 1);
	look_at_shadow(h, index - OBSERVE_STORED, n + 1);
	for (uint64_t i = first; i <= last; i++) {
		uint32_t line = (uint32_t)(i % n_lines);
		bool is_whole = i > first && i < last;

		if (forget_line(h, which, line,
				is_whole ? UINT64_MAX
					 : mask_in(line, index, len)) < 0)
			return -1;
	}
	return 0;
}

int harvest_forget(struct harvest *h, unsigned which, uint32_t index,
		   uint64_t len)
{
	const uint64_t most = (uint64_t)SOME_PAGES * INDEX_PAGE;

	while (len > 0) {
		uint64_t some = len < most ? len : most;

		if (forget_pages(h, which, index, some) < 0)
			return -1;
		index += (uint32_t)some;
		len -= some;
	}
	return 0;
}

/* (qsort would ask how much memory there is, which is more than the sandbox
 * allows.) */
static void sort_stash(struct harvest *h)
{
	size_t gap = 1;

	while (gap < h->n_stash / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3)
		for (size_t i = gap; i < h->n_stash; i++) {
			struct stashed s = h->stash[i];
			size_t at = i;

			for (; at >= gap && h->stash[at - gap].line > s.line;
			     at -= gap)
				h->stash[at] = h->stash[at - gap];
			h->stash[at] = s;
		}
}

/* Lines are asked for in ascending order. */
static struct stashed take_stashed(struct harvest *h, uint32_t line)
{
	struct stashed s = {.line = line};

	while (h->at_stash < h->n_stash && h->stash[h->at_stash].line < line)
		h->at_stash++;
	for (; h->at_stash < h->n_stash && h->stash[h->at_stash].line == line;
	     h->at_stash++) {
		s.read |= h->stash[h->at_stash].read;
		s.written |= h->stash[h->at_stash].written;
	}
	return s;
}

static bool has_stashed(const struct harvest *h, uint32_t page)
{
	return h->at_stash < h->n_stash &&
	       h->stash[h->at_stash].line / INDEX_PAGE_LINES <= page;
}

/* -- Lines -- */

/* Of bytes. */
static uint8_t words_of(uint64_t mask)
{
	unsigned words = 0;

	for (unsigned i = 0; i < INDEX_LINE / INDEX_WORD; i++)
		words |= (unsigned)((mask >> i * INDEX_WORD & 0xff) != 0) << i;
	return (uint8_t)words;
}

/* What was read and written there since it was forgotten, if it was. */
static struct index_line line_of(struct harvest *h, uint32_t line,
				 uint64_t read, uint64_t written,
				 const struct stashed *s)
{
	struct index_line l = {.line = (uint16_t)(line % INDEX_CLUSTER_LINES),
			       .written = written | s->written};
	uint64_t known = h->known[line];

	l.has_forgotten = (s->written & ~written) != 0;
	l.learnt = read & ~known;
	if (l.has_forgotten)
		l.learnt |= written;
	else
		l.learnt &= ~written;
	if (((read | written) & ~known) != 0)
		h->known[line] |= read | written;
	return l;
}

static void add_line(struct harvest *h, uint32_t line, bool is_shadow)
{
	uint64_t read = loads_of(h, line), written = stores_of(h, line);
	struct stashed s = take_stashed(h, line);
	uint64_t changed =
	    is_shadow ? take_filled(h, line) | written | s.written : 0;
	const uint16_t number = (uint16_t)(line % INDEX_CLUSTER_LINES);

	if (changed != 0) {
		h->changed[h->n_changed] = number;
		h->masks[h->n_changed++] = changed;
	}
	if ((read | written | s.read | s.written) == 0)
		return;
	h->lines[h->n_lines++] =
	    line_of(h, line, is_shadow ? read : 0, is_shadow ? written : 0, &s);
	h->lines[h->n_lines - 1].read = words_of(read | s.read);
	h->lines[h->n_lines - 1].written |= written;
}

static bool is_in_map(const struct harvest *h, uint32_t page)
{
	const uint32_t line = page * INDEX_PAGE_LINES;
	const uint32_t end = line + INDEX_PAGE_LINES - 1;

	return (h->in_loads[loads_at(line) / INDEX_PAGE] |
		h->in_loads[loads_at(end) / INDEX_PAGE] |
		h->in_stores[stores_at(h, line) / INDEX_PAGE] |
		h->in_stores[stores_at(h, end) / INDEX_PAGE]) &
	       1;
}

/* A page that is not in the shadow was not touched, if another one explains
 * its marks (H1). */
static void add_page(struct harvest *h, uint32_t page)
{
	const bool is_shadow = h->in_shadow[page] & 1;
	const unsigned before = h->n_lines;

	if ((!is_in_map(h, page) || (!is_shadow && has_neighbour(h, page))) &&
	    !has_stashed(h, page))
		return;
	for (unsigned i = 0; i < INDEX_PAGE_LINES; i++)
		add_line(h, page * INDEX_PAGE_LINES + i, is_shadow);
	if (is_shadow && h->n_lines > before && has_neighbour(h, page))
		h->is_mixed = true;
}

/* -- Parts of a cluster -- */

static const uint8_t *cluster_bytes(const struct harvest *h, uint32_t number)
{
	return h->shadow + (size_t)number * INDEX_CLUSTER_LINES * INDEX_LINE;
}

/* What the shadow holds now: the image of the part that begins. */
static int put_image(struct harvest *h, struct cluster *c, uint32_t number)
{
	struct index_bytes image = {0};
	int rc = 0;

	c->pages = 0;
	for (unsigned i = 0; rc == 0 && i < INDEX_CLUSTER_PAGES; i++)
		if (h->in_shadow[number * INDEX_CLUSTER_PAGES + i] & 1) {
			c->pages |= 1u << i;
			rc = index_add_bytes(&image,
					     cluster_bytes(h, number) +
						 (size_t)i * INDEX_PAGE,
					     INDEX_PAGE);
		}
	if (rc == 0)
		rc = index_put_block(h->blob, &image, INDEX_LEVEL_IMAGE,
				     &c->image);
	free(image.bytes);
	return rc;
}

static int add_part(struct cluster *c, const struct index_part *p)
{
	if (c->about.n_parts == c->room_parts) {
		unsigned room = c->room_parts == 0 ? 4 : 2 * c->room_parts;
		struct index_part *more =
		    reallocarray(c->about.parts, room, sizeof *more);

		if (more == NULL)
			return -1;
		c->about.parts = more;
		c->room_parts = room;
	}
	c->about.parts[c->about.n_parts++] = *p;
	return 0;
}

/* What was found of the part is in the blob, and in the summary. */
static int end_part(struct harvest *h, struct cluster *c)
{
	struct index_part p = {
	    .first = c->first, .pages = c->pages, .image = c->image};

	if (index_merge_touches(&c->touches, c->about.n_parts, &c->summary) <
		0 ||
	    index_put_block(h->blob, &c->touches, INDEX_LEVEL, &p.touches) <
		0 ||
	    index_put_block(h->blob, &c->values, INDEX_LEVEL, &p.values) < 0 ||
	    add_part(c, &p) < 0)
		return -1;
	c->touches.len = c->values.len = 0;
	return 0;
}

static bool is_part_full(const struct cluster *c)
{
	size_t image = (size_t)__builtin_popcount(c->about.pages) * INDEX_PAGE;

	image = image > PART_LEAST ? image : PART_LEAST;
	return c->values.len >= image || c->touches.len >= PART_TOUCHES;
}

/* All that is known of a cluster as one part of one section. */
static int join_cluster(struct cluster *c)
{
	struct index_bytes all = {0};

	if (index_add_bytes(&c->summary, c->touches.bytes, c->touches.len) < 0)
		return -1;
	c->touches.len = c->values.len = 0;
	c->about.n_parts = 0;
	c->image = (struct index_block){0};
	c->pages = c->first = 0;
	if (index_merge_touches(&c->summary, 0, &all) < 0) {
		free(all.bytes);
		return -1;
	}
	free(c->touches.bytes);
	c->touches = all;
	c->summary.len = 0;
	return 0;
}

int harvest_join_sections(struct harvest *h)
{
	h->is_joined = true;
	for (uint32_t i = 0; i < INDEX_CLUSTERS; i++)
		if (h->clusters[i] != NULL && join_cluster(h->clusters[i]) < 0)
			return -1;
	return 0;
}

/* A bit for each of so many sections. */
static int make_presence(struct cluster *c, unsigned n_sections)
{
	size_t len = index_presence_len(n_sections);
	size_t room = len + len / 2 + 16;
	uint8_t *more;

	if (len <= c->presence_len)
		return 0;
	more = realloc(c->about.presence, room);
	if (more == NULL)
		return -1;
	memset(more + c->presence_len, 0, room - c->presence_len);
	c->about.presence = more;
	c->presence_len = room;
	return 0;
}

static int end_harvest(struct harvest *h, struct cluster *c,
		       unsigned n_sections)
{
	if (h->is_joined && join_cluster(c) < 0)
		return -1;
	if (make_presence(c, n_sections) < 0 || end_part(h, c) < 0)
		return -1;
	return c->about.n_parts == 1
		   ? 0
		   : index_put_block(h->blob, &c->summary, INDEX_LEVEL,
				     &c->about.summary);
}

int harvest_end(struct harvest *h, unsigned n_sections)
{
	for (uint32_t i = 0; i < INDEX_CLUSTERS; i++)
		if (h->clusters[i] != NULL &&
		    end_harvest(h, h->clusters[i], n_sections) < 0)
			return -1;
	return 0;
}

size_t harvest_size(const struct harvest *h)
{
	size_t size = 0;

	for (uint32_t i = 0; i < INDEX_CLUSTERS; i++)
		if (h->clusters[i] != NULL)
			size += h->clusters[i]->touches.len +
				h->clusters[i]->values.len +
				h->clusters[i]->summary.len;
	return size;
}

/* -- A cluster -- */

static int end_cluster(struct harvest *h, uint32_t number, unsigned section)
{
	struct cluster *c = h->clusters[number];

	if (h->n_lines == 0 && h->n_changed == 0)
		return 0;
	if (c == NULL)
		c = h->clusters[number] = calloc(1, sizeof *c);
	if (c == NULL || make_presence(c, section + 1) < 0 ||
	    c->about.presence == NULL)
		return -1;
	c->about.presence[section / 8] |= (uint8_t)(1u << section % 8);
	for (unsigned i = 0; i < h->n_lines; i++)
		c->about.pages |= 1u << h->lines[i].line / INDEX_PAGE_LINES;
	if ((h->n_lines > 0 && index_add_touches(&c->touches, section, h->lines,
						 h->n_lines) < 0) ||
	    (h->n_changed > 0 &&
	     index_add_values(&c->values, section, h->changed, h->masks,
			      h->n_changed, cluster_bytes(h, number)) < 0))
		return -1;
	h->n_lines = h->n_changed = 0;
	if (h->is_joined || !is_part_full(c))
		return 0;
	if (end_part(h, c) < 0)
		return -1;
	c->first = section + 1;
	return put_image(h, c, number);
}

/* -- A section -- */

/* Of N_PAGES there, the first from i on that is; N_PAGES: none. Nearly all are
 * not. */
static uint32_t next_page(const uint8_t *present, uint32_t i)
{
	for (; i < N_PAGES; i++) {
		uint64_t eight = 0;

		if (i % sizeof eight == 0) {
			memcpy(&eight, present + i, sizeof eight);
			if ((eight & 0x0101010101010101) == 0) {
				i += sizeof eight - 1;
				continue;
			}
		}
		if (present[i] & 1)
			break;
	}
	return i;
}

/* Marks of the cluster that has a page, and of its neighbours: a page of the
 * map may have the end of one and the begin of another. */
static void note_marked(struct harvest *h, uint32_t page, uint32_t first)
{
	const uint32_t of = page - first / INDEX_PAGE + N_PAGES;

	for (uint32_t i = 0; i < 2; i++)
		h->is_marked[(of - i) % N_PAGES / INDEX_CLUSTER_PAGES] = true;
}

/* Which clusters need to be looked at? */
static void find_clusters(struct harvest *h)
{
	memset(h->is_marked, 0, sizeof h->is_marked);
	for (uint32_t i = 0; (i = next_page(h->in_shadow, i)) < N_PAGES; i++)
		h->is_marked[i / INDEX_CLUSTER_PAGES] = true;
	for (uint32_t i = 0; (i = next_page(h->in_loads, i)) < N_PAGES; i++)
		note_marked(h, i, loads_at(0));
	for (uint32_t i = 0; (i = next_page(h->in_stores, i)) < N_PAGES; i++)
		note_marked(h, i, stores_at(h, 0));
	for (size_t i = 0; i < h->n_stash; i++)
		h->is_marked[h->stash[i].line / INDEX_CLUSTER_LINES] = true;
}

static uint32_t count_pages(const uint8_t *present)
{
	uint32_t n = 0;

	for (uint32_t page = 0; (page = next_page(present, page)) < N_PAGES;
	     page++)
		n++;
	return n;
}

/* All marks are known: they begin anew. Pages that are there are quicker to
 * mark again, but sections of a large program each touch others. */
static void clear_map(uint8_t *map, const uint8_t *present)
{
	if (count_pages(present) > MAP_PAGES_MOST) {
		shadow_give_back((uint64_t)map, 0, WIRE_SHADOW_SIZE);
		return;
	}
	for (uint32_t page = 0; (page = next_page(present, page)) < N_PAGES;
	     page++)
		memset(map + (size_t)page * INDEX_PAGE, 0, INDEX_PAGE);
}

static void look_at_all(struct harvest *h)
{
	touched_pages(h->loads, N_PAGES, h->in_loads);
	if (!is_one_map(h))
		touched_pages(h->stores, N_PAGES, h->in_stores);
	touched_pages(h->shadow, N_PAGES, h->in_shadow);
}

int harvest_section(struct harvest *h, unsigned section, struct hark_err *err)
{
	look_at_all(h);
	sort_stash(h);
	h->at_stash = 0;
	h->n_lines = h->n_changed = 0;
	find_clusters(h);
	for (uint32_t i = 0; i < INDEX_CLUSTERS; i++) {
		const uint32_t first = i * INDEX_CLUSTER_PAGES;

		for (unsigned k = 0; h->is_marked[i] && k < INDEX_CLUSTER_PAGES;
		     k++)
			add_page(h, first + k);
		if (end_cluster(h, i, section) < 0)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
	}
	h->n_stash = h->at_stash = 0;
	clear_map(h->loads, h->in_loads);
	if (!is_one_map(h))
		clear_map(h->stores, h->in_stores);
	return 0;
}
