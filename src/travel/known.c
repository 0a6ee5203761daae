/* travel/known.c - where something may be known of memory.
 *
 * Mappings may be terabytes long, of which a program touches a few pages. The
 * index says which pages of the shadow any segment touched: what lies at others
 * no thread has ever loaded or stored, and it is known only from a file. So it
 * need not be read to be passed over.
 *
 * Pages are those of the shadow's index, which has 32 bits: a page of it stands
 * for one page in each 4 GiB. What is said may be too much, never too little.
 */
#include "travel/timeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = TRAVEL_PAGES };
#define PAGE ((uint64_t)(WIRE_SHADOW_SIZE / PAGES))

/* -- Pages that were touched -- */

/* Of all threads of one process, at all times; not 0: it is given up. */
static int mark_process(struct timeline *t, uint8_t *pages,
			struct hark_err *err)
{
	struct index *x = travel_index(t, UINT32_MAX, err);

	if (x == NULL || err->code != HARK_OK) {
		memset(pages, 0xff, PAGES / 8);
		return -1;
	}
	for (unsigned i = t->lanes[0].first; i < t->lanes[t->n_lanes - 1].end;
	     i++)
		index_mark_touched(x, i, pages);
	return 0;
}

/* And of those that it was forked from, which a file may say go round in
 * circles. */
static void mark_touched(struct timeline *t, uint8_t *pages,
			 struct hark_err *err)
{
	unsigned left = hark_n_processes(t->rec);

	for (; t != NULL; t = travel_parent(t, err))
		if (mark_process(t, pages, err) < 0 || left-- == 0)
			return;
	if (err->code != HARK_OK)
		memset(pages, 0xff, PAGES / 8);
}

/* NULL: no memory. */
static const uint8_t *touched_pages(struct timeline *t)
{
	struct hark_err why = {0};

	if (t->touched == NULL) {
		t->touched = calloc(1, PAGES / 8);
		if (t->touched != NULL)
			mark_touched(t, t->touched, &why);
	}
	return t->touched;
}

static bool has_page(const uint8_t *pages, uint32_t number)
{
	return pages[number / 8] >> number % 8 & 1;
}

/* The first address from here on whose page was touched, or the end. */
static uint64_t next_touched(const uint8_t *pages, uint64_t address,
			     uint64_t end)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);
	uint32_t first = (uint32_t)(index / PAGE);
	uint64_t far;

	if (has_page(pages, first))
		return address;
	for (uint32_t i = 1; i < PAGES; i++) {
		if (!has_page(pages, (first + i) % PAGES))
			continue;
		far = i * PAGE - index % PAGE;
		return far < end - address ? address + far : end;
	}
	return end;
}

/* -- Files -- */

/* The first address from here on that a file has, or the end. */
static uint64_t next_of_file(struct timeline *t, uint64_t address, uint64_t end)
{
	for (unsigned i = travel_mapping_from(t, address);
	     i < t->n_mappings && t->mappings[i].start < end; i++) {
		const struct hark_mapping *m = &t->mappings[i];
		uint64_t at = m->start > address ? m->start : address;
		uint64_t len =
		    m->module < 0
			? 0
			: hark_module(t->rec, (unsigned)m->module)->len;

		if (at - m->start < len && m->offset < len - (at - m->start))
			return at;
	}
	return end;
}

uint64_t timeline_next_known(struct timeline *t, uint64_t address, uint64_t end)
{
	const uint8_t *pages;
	struct hark_err why = {0};
	uint64_t touched;

	if (address >= end)
		return end;
	pages = touched_pages(t);
	if (pages == NULL || travel_find_mappings(t, &why) < 0)
		return address;
	touched = next_touched(pages, address, end);
	return next_of_file(t, address, touched);
}
