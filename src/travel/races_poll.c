/* travel/races_poll.c - which granules were touched since the last look?
 *
 * Marks are looked at some at a time; where many pages in a row have granules,
 * the kernel is asked which of them are there at all. */
#include "travel/races.h"

#include "engine/shadow.h"
#include "record/touched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, REACH = 1 << 16, MANY = 32 };

/* Granules side by side, within a page. */
struct spot {
	uint32_t at; /* in the map */
	uint32_t granule, n;
};

/* Spots whose pages stand in a row. */
struct row {
	size_t first, end;
};

struct poll {
	uint32_t *granules; /* owned */
	size_t n;
	struct spot *spots; /* owned */
	size_t n_spots;
	struct row *rows; /* owned */
	size_t n_rows;
	uint8_t *present; /* owned: one a page, of a row */
	uint64_t fs_base; /* that the spots are for */
	int is_made;
};

int poll_new(const uint32_t *granules, size_t n, struct poll **out,
	     struct hark_err *err)
{
	struct poll *p = calloc(1, sizeof *p);

	if (p != NULL) {
		p->granules = calloc(n + 1, sizeof *p->granules);
		p->spots = calloc(2 * n + 1, sizeof *p->spots);
		p->rows = calloc(2 * n + 1, sizeof *p->rows);
		p->present = malloc(1 << 20);
		p->n = n;
	}
	if (p == NULL || p->granules == NULL || p->spots == NULL ||
	    p->rows == NULL || p->present == NULL) {
		poll_free(p);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	if (n > 0)
		memcpy(p->granules, granules, n * sizeof *granules);
	*out = p;
	return 0;
}

void poll_free(struct poll *p)
{
	if (p == NULL)
		return;
	free(p->granules);
	free(p->spots);
	free(p->rows);
	free(p->present);
	free(p);
}

/* -- Where marks are -- */

static int by_place(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void add_spot(struct poll *p, uint32_t address, uint32_t granule)
{
	p->spots[p->n_spots++] = (struct spot){
	    address + WIRE_SHADOW_SKEW + OBSERVE_SKEW, granule, 1};
}

static void join_spots(struct poll *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_spots; i++) {
		const struct spot *s = &p->spots[i];
		struct spot *last = n == 0 ? NULL : &p->spots[n - 1];

		if (last != NULL && s->at == last->at + GRANULE * last->n &&
		    s->granule == last->granule + last->n && s->at % PAGE != 0)
			last->n++;
		else
			p->spots[n++] = *s;
	}
	p->n_spots = n;
}

static void make(struct poll *p, uint64_t fs_base)
{
	p->n_spots = p->n_rows = 0;
	for (size_t i = 0; i < p->n; i++) {
		uint32_t address = p->granules[i] << GRANULE_BITS;
		uint32_t offset = address - (uint32_t)fs_base;

		add_spot(p, address, p->granules[i]);
		if (offset + REACH < 2 * REACH)
			add_spot(p, offset & ~7u, p->granules[i]);
	}
	qsort(p->spots, p->n_spots, sizeof *p->spots, by_place);
	join_spots(p);
	for (size_t i = 0; i < p->n_spots; i++) {
		if (i == 0 ||
		    p->spots[i].at / PAGE > p->spots[i - 1].at / PAGE + 1)
			p->rows[p->n_rows++].first = i;
		p->rows[p->n_rows - 1].end = i + 1;
	}
	p->fs_base = fs_base;
	p->is_made = 1;
}

/* -- Looking -- */

static uint8_t bits_of(uint64_t marks)
{
	return (uint8_t)((marks & 0x8040201008040201ull) *
			     0x0101010101010101ull >>
			 56);
}

static int look_at_one(uint8_t *at, uint32_t granule, poll_each *each,
		       void *ctx)
{
	uint64_t marks;

	memcpy(&marks, at, sizeof marks);
	if (marks == 0)
		return 0;
	memset(at, 0, sizeof marks);
	return each(ctx, granule, bits_of(marks));
}

static int is_untouched(const uint8_t *at)
{
	uint64_t w[8];

	memcpy(w, at, sizeof w);
	return (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) == 0;
}

static int look_at(uint8_t *map, const struct spot *s, poll_each *each,
		   void *ctx)
{
	uint8_t *at = map + s->at;
	uint32_t i = 0;
	int rc = 0;

	while (rc == 0 && i < s->n) {
		uint32_t here = s->n - i >= 8 && is_untouched(at) ? 8 : 1;

		if (here == 1)
			rc = look_at_one(at, s->granule + i, each, ctx);
		i += here;
		at += (size_t)here * GRANULE;
	}
	return rc;
}

/* Pages that are not there have no marks; those that were looked at go. */
static int look_at_row(struct poll *p, const struct row *r, uint8_t *map,
		       poll_each *each, void *ctx)
{
	uint32_t first = p->spots[r->first].at / PAGE;
	uint32_t n = p->spots[r->end - 1].at / PAGE - first + 1;
	uint8_t *start = map + (size_t)first * PAGE;
	int asks = n >= MANY, rc = 0;

	if (asks)
		touched_pages(start, n, p->present);
	for (size_t i = r->first; rc == 0 && i < r->end; i++)
		if (!asks || p->present[p->spots[i].at / PAGE - first] & 1)
			rc = look_at(map, &p->spots[i], each, ctx);
	if (asks && memchr(p->present, 1, n) != NULL)
		shadow_give_back((uint64_t)map, (uint64_t)first * PAGE,
				 (uint64_t)n * PAGE);
	return rc;
}

int poll_marks(struct poll *p, const struct runner *x, poll_each *each,
	       void *ctx)
{
	uint64_t fs_base = runner_state(x)->fs_base;
	uint8_t *map = runner_map(x);
	int rc = 0;

	if (!p->is_made || p->fs_base != fs_base)
		make(p, fs_base);
	for (size_t i = 0; rc == 0 && i < p->n_rows; i++)
		rc = look_at_row(p, &p->rows[i], map, each, ctx);
	return rc;
}
