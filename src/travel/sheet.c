/* travel/sheet.c - what a thread knew of memory at a moment.
 *
 * The kernel knows which pages of the shadow there are. The map is skewed
 * against the shadow by a multiple of LINE, so that a page's part of it is in
 * two pages, but a line's never. */
#include "travel/sheet.h"

#include "travel/marks.h"
#include "wire/record.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	LINE = MARKS_LINE,
	LINES = PAGE / LINE,
	N_PAGES = 1 << 20,
};

struct page {
	uint32_t refs;
	uint32_t number;
	uint64_t known[LINES];
	uint8_t bytes[PAGE];
};

/* Pages ascend. */
struct sheet {
	struct page **pages; /* owned, with others */
	uint32_t n, room;
	size_t memory;
};

static uint32_t line_at(uint32_t page, unsigned i)
{
	return page * PAGE + i * LINE + OBSERVE_SKEW;
}

/* -- Taking -- */

/* Pages of the shadow, and of the map. */
struct presence {
	uint8_t shadow[N_PAGES], map[N_PAGES];
};

/* Is there a page of the shadow, or of its part of the map? */
static int is_present(const struct presence *p, uint32_t page)
{
	uint32_t first = line_at(page, 0);

	return (p->shadow[page] | p->map[first / PAGE] |
		p->map[(uint32_t)(first + PAGE - 1) / PAGE]) &
	       1;
}

static uint32_t find_pages(const uint8_t *shadow, const uint8_t *map,
			   struct presence *p)
{
	uint32_t n = 0;

	touched_pages(shadow, N_PAGES, p->shadow);
	touched_pages(map, N_PAGES, p->map);
	for (uint32_t i = 0; i < N_PAGES; i++)
		n += (uint32_t)is_present(p, i);
	return n;
}

/* A bit for each byte of 64 that was touched. */
static uint64_t bits_of(const uint8_t *line)
{
	uint64_t bits = 0;

	for (unsigned i = 0; line != NULL && i < LINE / 16; i++) {
		__m128i marks =
		    _mm_loadu_si128((const __m128i *)(line + (size_t)16 * i));

		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(marks) << 16 * i;
	}
	return bits;
}

static void copy_page(const uint8_t *shadow, const uint8_t *map,
		      const struct presence *p, uint32_t number,
		      struct page *out)
{
	out->refs = 1;
	out->number = number;
	if (p->shadow[number] & 1)
		memcpy(out->bytes, shadow + (size_t)number * PAGE, PAGE);
	else
		memset(out->bytes, 0, PAGE);
	for (unsigned i = 0; i < LINES; i++)
		out->known[i] =
		    bits_of(marks_line(map, p->map, line_at(number, i)));
}

/* As pages are that nobody has seen. */
static int is_blank(const struct page *p)
{
	for (unsigned i = 0; i < LINES; i++)
		if (p->known[i] != 0)
			return 0;
	return p->bytes[0] == 0 &&
	       memcmp(p->bytes, p->bytes + 1, PAGE - 1) == 0;
}

static int is_same(const struct page *a, const struct page *b)
{
	return memcmp(a->bytes, b->bytes, PAGE) == 0 &&
	       memcmp(a->known, b->known, sizeof a->known) == 0;
}

/* What it has of a page; *at goes on through it. */
static struct page *page_of(const struct sheet *s, uint32_t *at,
			    uint32_t number)
{
	while (s != NULL && *at < s->n && s->pages[*at]->number < number)
		(*at)++;
	return s != NULL && *at < s->n && s->pages[*at]->number == number
		   ? s->pages[*at]
		   : NULL;
}

static int take_pages(struct sheet *s, const uint8_t *shadow,
		      const uint8_t *map, const struct sheet *like,
		      const struct presence *present)
{
	struct page *own = NULL;
	uint32_t at = 0;

	for (uint32_t i = 0; i < N_PAGES; i++) {
		struct page *old;

		if (!is_present(present, i))
			continue;
		if (own == NULL)
			own = malloc(sizeof *own);
		if (own == NULL)
			return -1;
		copy_page(shadow, map, present, i, own);
		if (is_blank(own))
			continue;
		old = page_of(like, &at, i);
		if (old != NULL && is_same(old, own)) {
			old->refs++;
			s->pages[s->n++] = old;
			continue;
		}
		s->pages[s->n++] = own;
		s->memory += sizeof *own;
		own = NULL;
	}
	free(own);
	return 0;
}

struct sheet *sheet_take(const uint8_t *shadow, const uint8_t *map,
			 const struct sheet *like, struct hark_err *err)
{
	struct presence *present = malloc(sizeof *present);
	struct sheet *s = calloc(1, sizeof *s);
	int rc = -1;

	if (present != NULL && s != NULL) {
		s->room = find_pages(shadow, map, present) + 1;
		s->memory = sizeof *s + s->room * sizeof(struct page *);
		s->pages = calloc(s->room, sizeof(struct page *));
		if (s->pages != NULL)
			rc = take_pages(s, shadow, map, like, present);
	}
	free(present);
	if (rc < 0) {
		sheet_free(s);
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		return NULL;
	}
	return s;
}

size_t sheet_free(struct sheet *s)
{
	size_t freed;

	if (s == NULL)
		return 0;
	freed = sizeof *s + s->room * sizeof(struct page *);
	for (uint32_t i = 0; i < s->n; i++)
		if (--s->pages[i]->refs == 0) {
			free(s->pages[i]);
			freed += sizeof(struct page);
		}
	free(s->pages);
	free(s);
	return freed;
}

size_t sheet_memory(const struct sheet *s)
{
	return s->memory;
}

/* -- Giving -- */

/* 0xff for each bit, 0 for the others. */
static void put_marks(uint8_t *line, uint64_t bits)
{
	const uint64_t one_each = 0x8040201008040201, ones = 0x0101010101010101;

	if (bits == UINT64_MAX) {
		memset(line, 0xff, LINE);
		return;
	}
	for (unsigned i = 0; bits != 0; i += 8, bits >>= 8) {
		uint64_t marks = (bits & 0xff) * ones & one_each;

		marks = ((marks + 0x7f * ones) | marks) >> 7 & ones;
		marks *= 0xff;
		memcpy(line + i, &marks, sizeof marks);
	}
}

void sheet_put(const struct sheet *s, uint8_t *shadow, uint8_t *map)
{
	for (uint32_t k = 0; k < s->n; k++) {
		const struct page *p = s->pages[k];

		memcpy(shadow + (size_t)p->number * PAGE, p->bytes, PAGE);
		for (unsigned i = 0; i < LINES; i++)
			if (p->known[i] != 0)
				put_marks(map + line_at(p->number, i),
					  p->known[i]);
	}
}

int sheet_byte(const struct sheet *s, uint32_t index, uint8_t *out)
{
	uint32_t low = 0, high = s->n, number = index / PAGE, i = index % PAGE;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->pages[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->n || s->pages[low]->number != number ||
	    !(s->pages[low]->known[i / LINE] >> i % LINE & 1))
		return 0;
	*out = s->pages[low]->bytes[i];
	return 1;
}
