/* travel/index_known.c - what a thread knew of memory at the begin of a
 * section.
 *
 * It is what the sections before had touched, up to the last moment at which
 * it was forgotten: those of the same segment, and those of earlier ones. A
 * question for one byte is followed by questions for its neighbours, so what
 * all these sections knew of a cluster is found once, newest first, and kept;
 * otherwise each byte would cost as much as there are segments.
 *
 * A thread has few such clusters at a time, and pages that no section touched
 * take no room in them. */
#include "travel/index_priv.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEPT = 4, /* the stack's cluster, that of fs, and two others */
	PAGE_LINES = INDEX_PAGE_LINES,
};

/* One cluster, as it was known at `at` because of what came after `since`. */
struct kept {
	uint32_t cluster;
	struct index_place since, at;
	unsigned rest;	 /* index_known_byte */
	uint32_t pages;	 /* that there are: a bit for each */
	uint8_t *bytes;	 /* owned: of these pages; NULL: none */
	uint64_t *known; /* owned: of each line a bit for each byte */
	uint64_t used;	 /* 0: the entry is empty */
};

struct index_known {
	struct kept kept[KEPT];
	uint64_t clock;
};

struct index_known *index_known_new(void)
{
	return calloc(1, sizeof(struct index_known));
}

static void forget_kept(struct kept *k)
{
	free(k->bytes);
	free(k->known);
	*k = (struct kept){0};
}

void index_known_free(struct index_known *k)
{
	for (unsigned i = 0; k != NULL && i < KEPT; i++)
		forget_kept(&k->kept[i]);
	free(k);
}

/* -- What sections of one segment knew -- */

/* Of sections [first, end) of a block; of parts, if it is a summary. */
static int add_known(struct index *x, unsigned segment,
		     const struct index_block *block, unsigned first,
		     unsigned end)
{
	uint64_t *known = x->view->known;
	const uint8_t *at = index_block_of(x, segment, block);
	const uint8_t *stop = at != NULL ? at + block->raw_len : NULL;
	struct index_touches t;
	int rc = at != NULL ? 1 : -1;

	while (rc > 0 && (rc = index_next_touches(&at, stop, &t)) > 0 &&
	       t.section < end)
		for (unsigned i = 0; t.section >= first && i < t.n; i++)
			known[t.lines[i].line] |= index_known_by(&t.lines[i]);
	return rc < 0 ? -1 : 0;
}

/* Sections of a segment, never none. */
struct span {
	unsigned segment, first, end;
};

/* Parts that are wholly in the span by their summary, others by themselves. */
static int find_known(struct index *x, const struct span *s,
		      const struct index_head *h, const struct index_cluster *c)
{
	const struct index_part *parts = index_parts(h) + c->first_part;
	unsigned low = index_part_of(h, c, s->first);
	unsigned high = index_part_of(h, c, s->end);

	if (parts[low].touches.raw_len > 0 &&
	    add_known(x, s->segment, &parts[low].touches, s->first, s->end) < 0)
		return -1;
	if (high > low && parts[high].touches.raw_len > 0 &&
	    add_known(x, s->segment, &parts[high].touches, s->first, s->end) <
		0)
		return -1;
	return high > low + 1
		   ? add_known(x, s->segment, &c->summary, low + 1, high)
		   : 0;
}

static uint8_t *page_at(struct index_view *v, unsigned page)
{
	return v->bytes + (size_t)page * INDEX_PAGE;
}

/* The cluster into x->view. */
static int fill_view(struct index *x, const struct span *s,
		     const struct index_head *h, const struct index_cluster *c)
{
	memset(x->view->known, 0, sizeof x->view->known);
	for (unsigned p = 0; p < INDEX_CLUSTER_PAGES; p++)
		if (c->pages >> p & 1)
			memset(page_at(x->view, p), 0, INDEX_PAGE);
	return find_known(x, s, h, c) < 0 ||
		       index_put_cluster(x, s->segment, h, c, s->end,
					 x->view->bytes) < 0
		   ? -1
		   : 0;
}

/* -- Several segments -- */

/* What the view knows and the sum does not. */
static void add_line(struct index_view *sum, const struct index_view *v,
		     unsigned line)
{
	uint64_t more = v->known[line] & ~sum->known[line];
	uint8_t *to = sum->bytes + (size_t)line * INDEX_LINE;
	const uint8_t *from = v->bytes + (size_t)line * INDEX_LINE;

	sum->known[line] |= more;
	for (; more != 0; more &= more - 1)
		to[__builtin_ctzll(more)] = from[__builtin_ctzll(more)];
}

/* *pages: those of the sum that have something. */
static int add_span(struct index *x, const struct span *s, uint32_t cluster,
		    uint32_t *pages)
{
	const struct index_head *h = index_head_of(x, s->segment);
	const struct index_cluster *c =
	    h != NULL ? index_find_cluster(h, cluster) : NULL;

	if (h == NULL)
		return -1;
	if (c == NULL)
		return 0;
	if (fill_view(x, s, h, c) < 0)
		return -1;
	*pages |= c->pages;
	for (unsigned i = 0; i < INDEX_CLUSTER_LINES; i++)
		if (c->pages >> i / PAGE_LINES & 1)
			add_line(x->sum, x->view, i);
	return 0;
}

/* x->sum has what is known of the cluster. */
static int find_sum(struct index *x, struct kept *k)
{
	unsigned i = k->at.segment;

	memset(x->sum->known, 0, sizeof x->sum->known);
	for (k->rest = i + 1; k->rest > k->since.segment; k->rest--, i--) {
		struct span s = {.segment = i};

		if (i == k->at.segment)
			s.end = k->at.section;
		else if (index_has_values(x, i))
			s.end = index_sections(x, i);
		else
			return 0;
		if (i == k->since.segment)
			s.first = k->since.section;
		if (s.first < s.end &&
		    add_span(x, &s, k->cluster, &k->pages) < 0)
			return -1;
	}
	return 0;
}

static int keep_sum(const struct index *x, struct kept *k)
{
	size_t n = (size_t)__builtin_popcount(k->pages), at = 0;

	if (n == 0)
		return 0;
	k->bytes = malloc(n * INDEX_PAGE);
	k->known = malloc(n * PAGE_LINES * sizeof *k->known);
	if (k->bytes == NULL || k->known == NULL)
		return -1;
	for (unsigned p = 0; p < INDEX_CLUSTER_PAGES; p++) {
		if (!(k->pages >> p & 1))
			continue;
		memcpy(k->bytes + at * INDEX_PAGE, page_at(x->sum, p),
		       INDEX_PAGE);
		memcpy(k->known + at * PAGE_LINES,
		       x->sum->known + (size_t)p * PAGE_LINES,
		       PAGE_LINES * sizeof *k->known);
		at++;
	}
	return 0;
}

static int make_views(struct index *x)
{
	if (x->view == NULL)
		x->view = malloc(sizeof *x->view);
	if (x->sum == NULL)
		x->sum = malloc(sizeof *x->sum);
	return x->view != NULL && x->sum != NULL ? 0 : -1;
}

/* -- Asking -- */

static bool is_same_place(const struct index_place *a,
			  const struct index_place *b)
{
	return a->segment == b->segment && a->section == b->section;
}

/* The entry that answers; else one to fill. */
static struct kept *find_kept(struct index_known *known,
			      const struct index_place *since,
			      const struct index_place *at, uint32_t cluster)
{
	struct kept *oldest = &known->kept[0];

	for (unsigned i = 0; i < KEPT; i++) {
		struct kept *k = &known->kept[i];

		if (k->used > 0 && k->cluster == cluster &&
		    is_same_place(&k->since, since) &&
		    is_same_place(&k->at, at))
			return k;
		if (k->used < oldest->used)
			oldest = k;
	}
	forget_kept(oldest);
	oldest->cluster = cluster;
	oldest->since = *since;
	oldest->at = *at;
	return oldest;
}

int index_known_byte(struct index *x, struct index_known *known,
		     const struct index_place *since,
		     const struct index_place *at, uint32_t index, uint8_t *out,
		     unsigned *rest)
{
	const uint32_t byte = index % INDEX_CLUSTER;
	const unsigned page = byte / INDEX_PAGE;
	struct kept *k = find_kept(known, since, at, index / INDEX_CLUSTER);
	size_t i;

	if (k->used == 0 &&
	    (make_views(x) < 0 || find_sum(x, k) < 0 || keep_sum(x, k) < 0)) {
		forget_kept(k);
		return -1;
	}
	k->used = ++known->clock;
	*rest = k->rest;
	if (!(k->pages >> page & 1))
		return 0;
	i = (size_t)__builtin_popcount(k->pages & ((1u << page) - 1));
	if (!(k->known[i * PAGE_LINES + byte % INDEX_PAGE / INDEX_LINE] >>
		  byte % INDEX_LINE &
	      1))
		return 0;
	*out = k->bytes[i * INDEX_PAGE + byte % INDEX_PAGE];
	return 1;
}
