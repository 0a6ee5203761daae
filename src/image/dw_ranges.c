/* image/dw_ranges.c - where the code of an entry is.
 *
 * G1  Entries may share lists, so that a small file can claim to have
 *     billions of ranges: callers say how many they take.
 * G2  Ranges that are not code are dropped: linkers leave those of functions
 *     they threw away at 0 or at the end of the address space. */
#include "image/dw_priv.h"

#include <stdlib.h>

enum { WINDOW = 1024 };

/* ORDER dw_rle: the numbers are DWARF's. */
enum {
	RLE_END,
	RLE_BASE_ADDRESSX,
	RLE_STARTX_ENDX,
	RLE_STARTX_LENGTH,
	RLE_OFFSET_PAIR,
	RLE_BASE_ADDRESS,
	RLE_START_END,
	RLE_START_LENGTH,
};

struct reader {
	struct dw_unit *u;
	struct cursor c;
	uint64_t base;
	uint32_t owner;
	size_t max, n_before;
	struct dw_range_list *out;
	bool done, full;
};

static void add(struct reader *r, uint64_t low, uint64_t high)
{
	const struct elf *main = r->u->d->file->elf;
	struct dw_range *new;

	if (r->c.bad || low >= high || !elf_is_code(main, low) ||
	    !elf_is_code(main, high - 1))
		return; /* G2 */
	new = r->out->n < r->max ? vec_push(r->out, r->u->d->heap) : NULL;
	if (new == NULL) {
		r->full = true;
		return;
	}
	*new = (struct dw_range){.low = low, .high = high, .owner = r->owner};
}

/* .debug_ranges: pairs of addresses; (0, 0) ends, (-1, a) sets the base. */
static void read_pair(struct reader *r)
{
	unsigned len = r->u->sizes.address;
	uint64_t low = cursor_uint(&r->c, len), high = cursor_uint(&r->c, len);
	uint64_t ones = len == 8 ? UINT64_MAX : UINT32_MAX;

	if (r->c.bad)
		return; /* zeros that were not read end nothing */
	if (low == 0 && high == 0)
		r->done = true;
	else if (low == ones)
		r->base = high;
	else
		add(r, r->base + low, r->base + high);
}

static uint64_t indexed(struct reader *r)
{
	struct dw_value v = {.class = DWARF_ADDRESS_INDEX,
			     .u = cursor_uleb(&r->c)};
	uint64_t addr = 0;

	return dw_address(r->u, &v, &addr) ? addr : 0;
}

/* .debug_rnglists: a byte says what follows. */
static void read_rle(struct reader *r)
{
	unsigned len = r->u->sizes.address;
	uint64_t a;

	switch (cursor_u8(&r->c)) {
	case RLE_END:
		r->done = !r->c.bad;
		break;
	case RLE_BASE_ADDRESSX:
		r->base = indexed(r);
		break;
	case RLE_STARTX_ENDX:
		a = indexed(r);
		add(r, a, indexed(r));
		break;
	case RLE_STARTX_LENGTH:
		a = indexed(r);
		add(r, a, a + cursor_uleb(&r->c));
		break;
	case RLE_OFFSET_PAIR:
		a = cursor_uleb(&r->c);
		add(r, r->base + a, r->base + cursor_uleb(&r->c));
		break;
	case RLE_BASE_ADDRESS:
		r->base = cursor_uint(&r->c, len);
		break;
	case RLE_START_END:
		a = cursor_uint(&r->c, len);
		add(r, a, cursor_uint(&r->c, len));
		break;
	case RLE_START_LENGTH:
		a = cursor_uint(&r->c, len);
		add(r, a, a + cursor_uleb(&r->c));
		break;
	default:
		cursor_fail(&r->c);
	}
}

/* The list at an offset, through a window that grows until it fits. */
static void read_list(struct reader *r, struct dw *d, enum dw_section section,
		      uint64_t offset)
{
	uint64_t base = r->base, len;

	if (d->section[section] == NULL)
		return;
	len = d->section[section]->len;
	for (uint64_t window = WINDOW; !r->done && !r->full; window *= 8) {
		r->base = base;
		r->out->n = r->n_before;
		r->c = dw_window(d, section, offset, window);
		while (!r->done && !r->full && !r->c.bad) {
			if (!dw_spend(d, 1))
				return;
			section == DWARF_RANGES ? read_pair(r) : read_rle(r);
		}
		if (window >= len)
			break;
	}
}

/* An index into the table of lists that the unit's base points behind. */
static bool list_offset(struct dw_unit *u, const struct dw_value *v,
			uint64_t *out)
{
	struct cursor c;

	if (v->class != DWARF_LIST_INDEX ||
	    u->d->section[DWARF_RNGLISTS] == NULL ||
	    v->u > u->d->section[DWARF_RNGLISTS]->len)
		return false;
	c = dw_window(u->d, DWARF_RNGLISTS,
		      u->rnglists + v->u * u->sizes.offset, u->sizes.offset);
	*out = u->rnglists + cursor_uint(&c, u->sizes.offset);
	return !c.bad;
}

static void read_ranges(struct reader *r, const struct dw_value *v)
{
	struct dw_unit *u = r->u, *skeleton = u->skeleton;
	uint64_t offset = v->u;

	if (u->sizes.version >= 5) {
		if (v->class != DWARF_CONSTANT && !list_offset(u, v, &offset))
			return;
		read_list(r, u->d, DWARF_RNGLISTS, offset);
	} else if (v->class == DWARF_CONSTANT) {
		/* GNU's split DWARF 4 keeps them in the main file. */
		if (skeleton != NULL)
			read_list(r, skeleton->d, DWARF_RANGES,
				  offset + skeleton->ranges_base);
		else
			read_list(r, u->d, DWARF_RANGES, offset);
	}
}

int dw_ranges(struct dw_unit *u, const struct dw_extent *e, uint32_t owner,
	      size_t max, struct dw_range_list *out)
{
	struct dw_unit *who = u->skeleton != NULL ? u->skeleton : u;
	struct reader r = {.u = u,
			   .base = who->has_low ? who->low : 0,
			   .owner = owner,
			   .max = max,
			   .n_before = out->n,
			   .out = out};
	uint64_t low, high;

	if (e->ranges.class != DWARF_NONE) {
		read_ranges(&r, &e->ranges);
	} else if (dw_address(u, &e->low, &low)) {
		if (e->high.class == DWARF_CONSTANT)
			add(&r, low, low + e->high.u);
		else if (dw_address(u, &e->high, &high))
			add(&r, low, high);
	}
	return r.full ? -1 : 0;
}

/* -- The table beside -- */

/* Pairs of begin and length, up to a pair of zeros. */
static void read_tuples(struct reader *r)
{
	while (!r->c.bad && !r->full && dw_spend(r->u->d, 1)) {
		uint64_t low = cursor_u64(&r->c), len = cursor_u64(&r->c);

		if (low == 0 && len == 0)
			return;
		if (!r->c.bad && len > 0)
			add(r, low, low + len);
	}
}

/* One set: the ranges of one unit. Returns where the next begins, or 0. */
static uint64_t read_set(struct dw *d, uint64_t offset, struct reader *r)
{
	struct cursor c = dw_window(d, DWARF_ARANGES, offset, 12);
	uint64_t len = cursor_u32(&c), head = 4, info;
	struct dw_unit *u;
	unsigned width = 4, address, segment;

	if (len == UINT32_MAX) {
		len = cursor_u64(&c);
		head = 12;
		width = 8;
	}
	c = dw_window(d, DWARF_ARANGES, offset + head, len);
	if (len == 0 || cursor_left(&c) != len)
		return 0;
	cursor_u16(&c); /* version */
	info = cursor_uint(&c, width);
	address = cursor_u8(&c);
	segment = cursor_u8(&c);
	if (address == 8 && segment == 0) {
		/* Pairs are aligned to their length, from the set's begin. */
		cursor_skip(&c, -(head + 4 + width) % 16);
		u = dw_unit_with(d, info + head + 8);
		if (u != NULL && u->offset == info && !u->placed) {
			r->u = u;
			r->c = c;
			r->owner = (uint32_t)(u - d->units.at);
			read_tuples(r);
		}
	}
	return offset + head + len;
}

int dw_aranges(struct dw *d, size_t max, struct dw_range_list *out)
{
	struct reader r = {.max = max, .out = out};
	uint64_t offset = 0;

	if (d->section[DWARF_ARANGES] == NULL)
		return 0;
	do
		offset = read_set(d, offset, &r);
	while (offset != 0 && !r.full &&
	       offset < d->section[DWARF_ARANGES]->len);
	return r.full ? -1 : 0;
}

/* -- Steps -- */

static int by_low(const void *a, const void *b)
{
	const struct dw_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static bool step_to(const struct heap *heap, struct dw_steps *out,
		    uint64_t addr, uint32_t owner)
{
	struct dw_step *new;

	if (out->n > 0 && out->at[out->n - 1].addr == addr) {
		out->at[out->n - 1].owner = owner;
		return true;
	}
	if (out->n > 0 && out->at[out->n - 1].owner == owner)
		return true;
	new = vec_push(out, heap);
	if (new == NULL)
		return false;
	*new = (struct dw_step){.addr = addr, .owner = owner};
	return true;
}

struct open_ranges {
	VEC(struct dw_range);
};

/* Leaves the ranges that end at or before addr. */
static bool leave(const struct heap *heap, struct open_ranges *open,
		  struct dw_steps *out, uint64_t addr)
{
	while (open->n > 0 && open->at[open->n - 1].high <= addr) {
		uint64_t end = open->at[--open->n].high;

		/* Whoever ends here too is not worth a step. */
		while (open->n > 0 && open->at[open->n - 1].high <= end)
			open->n--;
		if (!step_to(heap, out, end,
			     open->n > 0 ? open->at[open->n - 1].owner
					 : DWARF_NOBODY))
			return false;
	}
	return true;
}

int dw_flatten(const struct heap *heap, struct dw_range_list *ranges,
	       struct dw_steps *out)
{
	struct open_ranges open = {0};
	bool ok = true;

	if (ranges->n > 0)
		qsort(ranges->at, ranges->n, sizeof *ranges->at, by_low);
	for (size_t i = 0; ok && i < ranges->n; i++) {
		const struct dw_range *r = &ranges->at[i];
		struct dw_range *new;

		ok = leave(heap, &open, out, r->low);
		new = ok ? vec_push(&open, heap) : NULL;
		if (new == NULL) {
			ok = false;
			break;
		}
		*new = *r;
		ok = step_to(heap, out, r->low, r->owner);
	}
	ok = ok && leave(heap, &open, out, UINT64_MAX);
	vec_free(&open, heap);
	if (!ok)
		vec_free(out, heap);
	return ok ? 0 : -1;
}

uint32_t dw_owner_at(const struct dw_steps *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->at[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? s->at[lo - 1].owner : DWARF_NOBODY;
}
