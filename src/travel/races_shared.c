/* travel/races_shared.c - which bytes do several threads touch, of which one
 * writes?
 *
 * Threads come one after the other. Of every page that any of them touches five
 * bits a byte are kept. */
#include "travel/races.h"

#include "engine/shadow.h"
#include "record/touched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, N_PAGES = 1 << 20, WORDS = PAGE / 64, REACH = 1 << 16 };

struct page {
	uint64_t loads[WORDS], stores[WORDS]; /* of the present thread */
	uint64_t seen[WORDS], written[WORDS]; /* of those before */
	uint64_t shared[WORDS];
	int is_touched; /* by the present thread */
};

struct shared {
	struct page *pages[N_PAGES]; /* owned; NULL: none */
	uint8_t present[N_PAGES];    /* of a map */
	uint32_t touched[N_PAGES];   /* by the present thread: numbers */
	uint32_t n_touched;
};

struct shared *shared_new(void)
{
	return calloc(1, sizeof(struct shared));
}

void shared_free(struct shared *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < N_PAGES; i++)
		free(s->pages[i]);
	free(s);
}

/* -- Marks -- */

/* One bit for each byte that is 0xff. */
static uint8_t bits_of(uint64_t marks)
{
	return (uint8_t)((marks & 0x8040201008040201ull) *
			     0x0101010101010101ull >>
			 56);
}

/* What is reached through fs lies at its offset from the base. */
static uint32_t address_of(uint32_t map_at, uint64_t fs_base)
{
	uint32_t at = map_at - OBSERVE_SKEW - WIRE_SHADOW_SKEW;

	return at + REACH < 2 * REACH ? at + (uint32_t)fs_base : at;
}

static int add(struct shared *s, uint32_t address, uint8_t bits, unsigned how,
	       struct hark_err *err)
{
	struct page **p = &s->pages[address / PAGE];
	uint32_t at = address % PAGE & ~7u;
	uint64_t *words;

	if (*p == NULL) {
		*p = calloc(1, sizeof **p);
		if (*p == NULL)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
	}
	if (!(*p)->is_touched)
		s->touched[s->n_touched++] = address / PAGE;
	(*p)->is_touched = 1;
	words = how == OBSERVE_STORES ? (*p)->stores : (*p)->loads;
	words[at / 64] |= (uint64_t)bits << at % 64;
	return 0;
}

static int take_page(struct shared *s, const uint8_t *map, uint32_t number,
		     uint64_t fs_base, unsigned how, struct hark_err *err)
{
	uint32_t first = number * PAGE;

	for (uint32_t i = 0; i < PAGE; i += 8) {
		uint64_t marks;

		memcpy(&marks, map + first + i, sizeof marks);
		if (marks != 0 && add(s, address_of(first + i, fs_base),
				      bits_of(marks), how, err) < 0)
			return -1;
	}
	return 0;
}

void shared_forget(const struct runner *x)
{
	shadow_give_back((uint64_t)runner_map(x), 0, WIRE_SHADOW_SIZE);
}

/* None of 64 pages is there. */
static int is_absent(const uint8_t *present)
{
	static const uint8_t none[64];

	return memcmp(present, none, sizeof none) == 0;
}

int shared_take(struct shared *s, const struct runner *x, unsigned how,
		struct hark_err *err)
{
	uint8_t *map = runner_map(x);
	uint64_t fs_base = runner_state(x)->fs_base;

	touched_pages(map, N_PAGES, s->present);
	for (uint32_t i = 0; i < N_PAGES; i++) {
		if (i % 64 == 0 && is_absent(s->present + i)) {
			i += 63;
			continue;
		}
		if (s->present[i] & 1 &&
		    take_page(s, map, i, fs_base, how, err) < 0)
			return -1;
	}
	shared_forget(x);
	return 0;
}

/* -- Threads -- */

static void next_of_page(struct page *p)
{
	for (unsigned i = 0; i < WORDS; i++) {
		uint64_t touched = p->loads[i] | p->stores[i];

		p->shared[i] |=
		    (p->stores[i] & p->seen[i]) | (touched & p->written[i]);
		p->seen[i] |= touched;
		p->written[i] |= p->stores[i];
		p->loads[i] = p->stores[i] = 0;
	}
	p->is_touched = 0;
}

void shared_next(struct shared *s)
{
	for (uint32_t i = 0; i < s->n_touched; i++)
		next_of_page(s->pages[s->touched[i]]);
	s->n_touched = 0;
}

/* -- What is shared -- */

static size_t list_page(const struct page *p, uint32_t number, uint32_t *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < PAGE / GRANULE; i++) {
		uint32_t at = i * GRANULE;

		if ((p->shared[at / 64] >> at % 64 & 0xff) == 0)
			continue;
		if (out != NULL)
			out[n] = number * (PAGE / GRANULE) + i;
		n++;
	}
	return n;
}

int shared_granules(const struct shared *s, const struct numbers *except,
		    uint32_t **out, size_t *n, struct hark_err *err)
{
	size_t most = 0, all = 0, kept = 0;
	uint32_t *list;

	for (uint32_t i = 0; i < N_PAGES; i++)
		if (s->pages[i] != NULL)
			most += list_page(s->pages[i], i, NULL);
	list = calloc(most + 1, sizeof *list);
	if (list == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < N_PAGES; i++)
		if (s->pages[i] != NULL)
			all += list_page(s->pages[i], i, list + all);
	for (size_t i = 0; i < all; i++)
		if (!numbers_have(except, list[i] + 1ull))
			list[kept++] = list[i];
	*out = list;
	*n = kept;
	return 0;
}
