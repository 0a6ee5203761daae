/* travel/past.c - what a segment knew of memory when it ended. */
#include "travel/past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, N_PAGES = 1 << 20 };

struct page {
	uint32_t number;
	uint8_t bytes[PAGE];
	uint8_t known[PAGE / 8];
};

/* Of one segment; pages ascend. */
struct sheet {
	unsigned segment;
	uint64_t used;	    /* when */
	struct page *pages; /* owned */
	uint32_t n;
	struct sheet *next; /* owned */
};

struct past {
	struct sheet *sheets; /* owned */
	size_t memory, memory_max;
	uint64_t clock;
	uint8_t *present; /* owned: one a page of the map */
};

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

struct past *past_new(size_t memory_max)
{
	struct past *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->memory_max = memory_max;
	p->present = malloc(N_PAGES);
	if (p->present == NULL) {
		free(p);
		return NULL;
	}
	return p;
}

static void free_sheet(struct sheet *s)
{
	free(s->pages);
	free(s);
}

void past_free(struct past *p)
{
	if (p == NULL)
		return;
	while (p->sheets != NULL) {
		struct sheet *s = p->sheets;

		p->sheets = s->next;
		free_sheet(s);
	}
	free(p->present);
	free(p);
}

/* -- Making -- */

/* Pages of the index of which something was touched. The map is skewed, so a
 * page of it is of two. */
static uint32_t find_pages(struct past *p, const struct walker *w)
{
	const uint8_t *map = walker_touched(w);
	uint32_t n = 0;

	if (mincore((void *)map, (size_t)N_PAGES * PAGE, p->present) < 0)
		memset(p->present, 1, N_PAGES);
	for (uint32_t i = 0; i < N_PAGES; i++) {
		uint32_t first = i * PAGE + OBSERVE_SKEW;

		n += (p->present[first / PAGE] |
		      p->present[(uint32_t)(first + PAGE - 1) / PAGE]) &
		     1;
	}
	return n;
}

static int copy_page(const struct walker *w, uint32_t number, struct page *out)
{
	const uint8_t *map = walker_touched(w);
	int any = 0;

	out->number = number;
	memcpy(out->bytes, walker_shadow(w) + (size_t)number * PAGE, PAGE);
	memset(out->known, 0, sizeof out->known);
	for (uint32_t i = 0; i < PAGE; i++)
		if (map[(uint32_t)(number * PAGE + i + OBSERVE_SKEW)] != 0) {
			out->known[i / 8] |= (uint8_t)(1 << i % 8);
			any = 1;
		}
	return any;
}

static int copy_pages(struct past *p, const struct walker *w, struct sheet *s)
{
	uint32_t most = find_pages(p, w);

	s->pages = malloc(((size_t)most + 1) * sizeof *s->pages);
	if (s->pages == NULL)
		return -1;
	for (uint32_t i = 0; i < N_PAGES && s->n < most; i++) {
		uint32_t first = i * PAGE + OBSERVE_SKEW;

		if ((p->present[first / PAGE] |
		     p->present[(uint32_t)(first + PAGE - 1) / PAGE]) &
		    1)
			s->n += (uint32_t)copy_page(w, i, &s->pages[s->n]);
	}
	return 0;
}

/* Stops just before the key frame of the next one. */
static int replay_segment(struct walker *w, unsigned segment,
			  struct hark_err *err)
{
	enum walker_stop stop = WALKER_THERE;

	if (walker_goto_segment(w, segment, err) < 0)
		return -1;
	return walker_run_segment(w, &stop, err);
}

static void make_room(struct past *p, size_t more)
{
	while (p->memory + more > p->memory_max && p->sheets != NULL) {
		struct sheet **at = &p->sheets, **oldest = at, *s;

		for (; *at != NULL; at = &(*at)->next)
			if ((*at)->used < (*oldest)->used)
				oldest = at;
		s = *oldest;
		*oldest = s->next;
		p->memory -= s->n * sizeof *s->pages;
		free_sheet(s);
	}
}

static struct sheet *make(struct past *p, struct walker *w, unsigned segment,
			  struct hark_err *err)
{
	struct sheet *s = calloc(1, sizeof *s);

	if (s == NULL || replay_segment(w, segment, err) < 0) {
		if (s == NULL)
			out_of_memory(err);
		free(s);
		return NULL;
	}
	if (copy_pages(p, w, s) < 0) {
		out_of_memory(err);
		free_sheet(s);
		return NULL;
	}
	s->segment = segment;
	make_room(p, s->n * sizeof *s->pages);
	p->memory += s->n * sizeof *s->pages;
	s->next = p->sheets;
	p->sheets = s;
	return s;
}

/* -- Asking -- */

static const struct page *find_page(const struct sheet *s, uint32_t number)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->pages[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n && s->pages[low].number == number ? &s->pages[low]
							    : NULL;
}

int past_byte(struct past *p, struct walker *w, unsigned segment,
	      uint32_t index, uint8_t *out, struct hark_err *err)
{
	struct sheet *s = p->sheets;
	const struct page *page;
	uint32_t i = index % PAGE;

	while (s != NULL && s->segment != segment)
		s = s->next;
	if (s == NULL)
		s = make(p, w, segment, err);
	if (s == NULL)
		return -1;
	s->used = ++p->clock;
	page = find_page(s, index / PAGE);
	if (page == NULL || !(page->known[i / 8] >> i % 8 & 1))
		return 0;
	*out = page->bytes[i];
	return 1;
}
