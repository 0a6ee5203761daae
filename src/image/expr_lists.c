/* image/expr_lists.c - lists of locations: which expression counts at a pc?
 *
 * L1  A list is read through a window that grows until its end, or what was
 *     looked for, is in it.
 * L2  An entry that is not understood ends the list. */
#include "image/expr_priv.h"

enum { WINDOW = 512 };

/* ORDER dw_lle: the numbers are DWARF's. */
enum {
	LLE_END,
	LLE_BASE_ADDRESSX,
	LLE_STARTX_ENDX,
	LLE_STARTX_LENGTH,
	LLE_OFFSET_PAIR,
	LLE_DEFAULT,
	LLE_BASE_ADDRESS,
	LLE_START_END,
	LLE_START_LENGTH,
	LLE_GNU_VIEW_PAIR,
};
/* GNU's split DWARF 4 has its own. */
enum { GNU_END, GNU_BASE, GNU_START_END, GNU_START_LENGTH };

struct reader {
	struct dw_unit *u;
	struct cursor c;
	uint64_t base, pc;
	uint64_t low, high; /* of the entry that was read */
	bool has_range, is_default, done;
};

static uint64_t indexed(struct reader *r)
{
	struct dw_value v = {.class = DWARF_ADDRESS_INDEX,
			     .u = cursor_uleb(&r->c)};
	uint64_t addr = 0;

	return dw_address(r->u, &v, &addr) ? addr : 0;
}

/* .debug_loc: pairs of addresses as in .debug_ranges, and an expression of
 * two bytes' length. */
static void read_old(struct reader *r)
{
	unsigned len = r->u->sizes.address;
	uint64_t low = cursor_uint(&r->c, len), high = cursor_uint(&r->c, len);
	uint64_t ones = len == 8 ? UINT64_MAX : UINT32_MAX;

	if (r->c.bad)
		return;
	if (low == 0 && high == 0) {
		r->done = true;
	} else if (low == ones) {
		r->base = high;
	} else {
		r->low = r->base + low;
		r->high = r->base + high;
		r->has_range = true;
	}
}

static void read_gnu(struct reader *r)
{
	switch (cursor_u8(&r->c)) {
	case GNU_END:
		r->done = !r->c.bad;
		break;
	case GNU_BASE:
		r->base = indexed(r);
		break;
	case GNU_START_END:
		r->low = indexed(r);
		r->high = indexed(r);
		r->has_range = true;
		break;
	case GNU_START_LENGTH:
		r->low = indexed(r);
		r->high = r->low + cursor_u32(&r->c);
		r->has_range = true;
		break;
	default:
		cursor_fail(&r->c);
	}
}

static void read_start(struct reader *r, uint8_t kind)
{
	unsigned len = r->u->sizes.address;

	switch (kind) {
	case LLE_STARTX_ENDX:
		r->low = indexed(r);
		r->high = indexed(r);
		break;
	case LLE_STARTX_LENGTH:
		r->low = indexed(r);
		r->high = r->low + cursor_uleb(&r->c);
		break;
	case LLE_OFFSET_PAIR:
		r->low = r->base + cursor_uleb(&r->c);
		r->high = r->base + cursor_uleb(&r->c);
		break;
	case LLE_START_END:
		r->low = cursor_uint(&r->c, len);
		r->high = cursor_uint(&r->c, len);
		break;
	case LLE_START_LENGTH:
		r->low = cursor_uint(&r->c, len);
		r->high = r->low + cursor_uleb(&r->c);
		break;
	default:
		cursor_fail(&r->c);
	}
	r->has_range = !r->c.bad;
}

static void read_new(struct reader *r)
{
	uint8_t kind = cursor_u8(&r->c);

	switch (kind) {
	case LLE_END:
		r->done = !r->c.bad;
		break;
	case LLE_BASE_ADDRESSX:
		r->base = indexed(r);
		break;
	case LLE_BASE_ADDRESS:
		r->base = cursor_uint(&r->c, r->u->sizes.address);
		break;
	case LLE_DEFAULT:
		r->has_range = r->is_default = true;
		break;
	case LLE_GNU_VIEW_PAIR:
		cursor_uleb(&r->c);
		cursor_uleb(&r->c);
		break;
	default:
		read_start(r, kind);
	}
}

enum how { OLD, GNU, NEW };

static bool walk(struct reader *r, enum how how, const uint8_t **code,
		 size_t *len)
{
	while (!r->done && !r->c.bad && dw_spend(r->u->d, 1)) {
		uint64_t n;

		r->has_range = r->is_default = false;
		if (how == OLD)
			read_old(r);
		else
			how == GNU ? read_gnu(r) : read_new(r);
		if (!r->has_range || r->c.bad)
			continue;
		n = how == NEW ? cursor_uleb(&r->c) : cursor_u16(&r->c);
		*code = r->c.at;
		*len = (size_t)n;
		cursor_skip(&r->c, n);
		if (!r->c.bad &&
		    (r->is_default || (r->pc >= r->low && r->pc < r->high)))
			return true;
	}
	return false;
}

/* L1 */
static bool find(struct dw_unit *u, enum dw_section section, uint64_t offset,
		 uint64_t pc, const uint8_t **code, size_t *len)
{
	struct dw_unit *who = u->skeleton != NULL ? u->skeleton : u;
	enum how how = section == DWARF_LOCLISTS ? NEW
		       : u->skeleton != NULL	 ? GNU
						 : OLD;

	if (u->d->section[section] == NULL)
		return false;
	for (uint64_t window = WINDOW;; window *= 8) {
		struct reader r = {
		    .u = u, .pc = pc, .base = who->has_low ? who->low : 0};

		r.c = dw_window(u->d, section, offset, window);
		if (walk(&r, how, code, len))
			return true;
		if (r.done || !r.c.bad || window >= u->d->section[section]->len)
			return false;
	}
}

/* Of a number in the table that the unit's base points behind. */
static bool list_offset(struct dw_unit *u, uint64_t i, uint64_t *out)
{
	struct bytes *b = u->d->section[DWARF_LOCLISTS];
	struct cursor c;

	if (b == NULL || i > b->len)
		return false;
	c = dw_window(u->d, DWARF_LOCLISTS, u->loclists + i * u->sizes.offset,
		      u->sizes.offset);
	*out = u->loclists + cursor_uint(&c, u->sizes.offset);
	return !c.bad;
}

bool expr_bytes(struct dw_unit *u, const struct dw_value *v, uint64_t pc,
		const uint8_t **code, size_t *len)
{
	bool is_new = u->sizes.version >= 5;
	uint64_t offset = v->u;

	if (v->class == DWARF_BLOCK) {
		*code = (const uint8_t *)v->text;
		*len = v->len;
		return true;
	}
	if (v->class == DWARF_LOC_INDEX) {
		if (!list_offset(u, v->u, &offset))
			return false;
	} else if (v->class != DWARF_CONSTANT) {
		return false;
	}
	return find(u, is_new ? DWARF_LOCLISTS : DWARF_LOC, offset, pc, code,
		    len);
}
