/* image/dw.c - the units of a file's debug information.
 *
 * U1  A unit lies wholly inside .debug_info, and the next begins where it
 *     ends, so the list of units is no longer than the section.
 * U2  Reading the list touches each header and root entry, nothing else.
 * U3  Ranges of units are bounded by the sections that they come from.
 * U4  Units may share tables, entries may share lists and strings: a small
 *     file can ask for much work. So there is a sum of work that one question
 *     may cause (dw_begin), in proportion to the file, and all who follow a
 *     reference pay from it (dw_spend). Who cannot pay finds nothing. */
#include "image/dw_priv.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ROOT_WINDOW = 4096, /* bytes of a root entry */
	ROOT_ATTRS = 64,    /* attributes of a root */
	DECL_WINDOW = 4096, /* bytes of its table, at first */
};

enum { FORM_IMPLICIT_CONST = 0x21 };

int dw_no_memory(const struct dw *d, struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0,
		       "%s: no memory for its debug information",
		       elf_name(d->elf));
}

/* What a file needs to be read once, many times over. */
enum { WORK_FREE = 256 << 20, WORK_TIMES = 64 };

void dw_begin(struct image_file *f)
{
	uint64_t len = f->elf->in.src.len;

	if (f->debug != NULL)
		len += f->debug->in.src.len;
	f->work_left = WORK_FREE + WORK_TIMES * len;
}

bool dw_spend(struct dw *d, uint64_t n)
{
	uint64_t *left = &d->file->work_left;

	if (*left < n) {
		*left = 0;
		return false;
	}
	*left -= n;
	return true;
}

struct cursor dw_window(struct dw *d, enum dw_section s, uint64_t offset,
			uint64_t len)
{
	struct bytes *b = d->section[s];
	const uint8_t *at = NULL;

	if (b != NULL && offset <= b->len) {
		len = len < b->len - offset ? len : b->len - offset;
		at = bytes_need(b, offset, len, NULL);
	}
	return cursor_of(at, at != NULL ? (size_t)len : 0);
}

/* -- Roots -- */

struct root {
	struct dw_attr attr[ROOT_ATTRS];
	unsigned n;
	uint16_t tag;
	/* ORDER root_value: what is kept of it */
	struct dw_value name, dir, low, high, ranges, lines;
	struct dw_value str_offsets, addr_base, rnglists, ranges_base;
	struct dw_value dwo_name, dwo_id, loclists;
};

/* 1: the declaration of a code is found; 0: it is not there; -1: the bytes
 * end before that is known. */
static int scan_table(struct cursor c, uint64_t code, struct root *r)
{
	while (!c.bad) {
		uint64_t has = cursor_uleb(&c);

		if (c.bad)
			break;
		if (has == 0)
			return 0;
		r->tag = (uint16_t)cursor_uleb(&c);
		cursor_u8(&c);
		for (r->n = 0; !c.bad; r->n++) {
			uint64_t name = cursor_uleb(&c);
			uint64_t form = cursor_uleb(&c);
			int64_t implicit =
			    form == FORM_IMPLICIT_CONST ? cursor_sleb(&c) : 0;

			if (name == 0 && form == 0)
				break;
			if (r->n == ROOT_ATTRS)
				return 0;
			r->attr[r->n] = (struct dw_attr){
			    .name = (uint16_t)(name <= UINT16_MAX ? name : 0),
			    .form = (uint16_t)(form <= UINT16_MAX ? form : 0),
			    .implicit = implicit};
		}
		if (has == code)
			return c.bad ? -1 : 1;
	}
	return -1;
}

/* Most tables are never needed in full, so this one is not kept. */
static bool find_decl(struct dw_unit *u, uint64_t code, struct root *r)
{
	struct dw *d = u->d;
	int found = -1;

	for (uint64_t n = DECL_WINDOW; found < 0; n *= 4) {
		struct cursor c = dw_window(d, DWARF_ABBREV, u->abbrev, n);

		if (!dw_spend(d, cursor_left(&c)))
			return false; /* U4 */
		found = scan_table(c, code, r);
		if (n >= d->section[DWARF_ABBREV]->len)
			break;
	}
	return found > 0;
}

static void keep_value(struct root *r, uint16_t name, const struct dw_value *v)
{
	switch (name) {
	case AT_NAME:
		r->name = *v;
		break;
	case AT_COMP_DIR:
		r->dir = *v;
		break;
	case AT_LOW_PC:
		r->low = *v;
		break;
	case AT_HIGH_PC:
		r->high = *v;
		break;
	case AT_RANGES:
		r->ranges = *v;
		break;
	case AT_STMT_LIST:
		r->lines = *v;
		break;
	case AT_STR_OFFSETS_BASE:
		r->str_offsets = *v;
		break;
	case AT_ADDR_BASE:
	case AT_GNU_ADDR_BASE:
		r->addr_base = *v;
		break;
	case AT_RNGLISTS_BASE:
		r->rnglists = *v;
		break;
	case AT_LOCLISTS_BASE:
		r->loclists = *v;
		break;
	case AT_GNU_RANGES_BASE:
		r->ranges_base = *v;
		break;
	case AT_DWO_NAME:
	case AT_GNU_DWO_NAME:
		r->dwo_name = *v;
		break;
	case AT_GNU_DWO_ID:
		r->dwo_id = *v;
		break;
	default:
		break;
	}
}

/* Bases that a split unit does not write: behind the table's header. */
static void set_bases(struct dw_unit *u, const struct root *r)
{
	bool wide = u->sizes.offset == 8;

	if (u->d->split && u->sizes.version >= 5) {
		u->str_offsets = wide ? 16 : 8;
		u->rnglists = wide ? 20 : 12;
		u->loclists = u->rnglists;
	}
	if (r->loclists.class == DWARF_CONSTANT)
		u->loclists = r->loclists.u;
	if (r->str_offsets.class == DWARF_CONSTANT)
		u->str_offsets = r->str_offsets.u;
	if (r->rnglists.class == DWARF_CONSTANT)
		u->rnglists = r->rnglists.u;
	if (r->addr_base.class == DWARF_CONSTANT)
		u->addr_base = r->addr_base.u;
	if (r->ranges_base.class == DWARF_CONSTANT)
		u->ranges_base = r->ranges_base.u;
}

static bool is_type_unit(const struct dw_unit *u)
{
	return u->type == UT_TYPE || u->type == UT_SPLIT_TYPE;
}

/* False if the root is not of a unit that has code. */
static bool read_root(struct dw_unit *u, struct root *r)
{
	struct dw *d = u->d;
	struct cursor c = dw_window(
	    d, DWARF_INFO, u->die,
	    u->end - u->die < ROOT_WINDOW ? u->end - u->die : ROOT_WINDOW);
	uint64_t code = cursor_uleb(&c);

	if (c.bad || code == 0 || !find_decl(u, code, r))
		return false;
	for (unsigned i = 0; i < r->n; i++) {
		struct dw_value v =
		    dw_read(&c, r->attr[i].form, r->attr[i].implicit, u->sizes,
			    u->offset);

		if (c.bad)
			break;
		keep_value(r, r->attr[i].name, &v);
	}
	set_bases(u, r);
	u->name_value = r->name;
	u->dir_value = r->dir;
	u->dwo_value = r->dwo_name;
	u->has_lines = r->lines.class == DWARF_CONSTANT && !is_type_unit(u);
	u->lines_at = r->lines.u;
	u->has_low = dw_address(u, &r->low, &u->low);
	if (r->dwo_id.class == DWARF_CONSTANT)
		u->dwo_id = r->dwo_id.u;
	return r->tag == TAG_COMPILE_UNIT || r->tag == TAG_SKELETON_UNIT;
}

const char *dw_dir(struct dw_unit *u)
{
	return dw_text(u, &u->dir_value);
}

/* -- Headers -- */

/* 1, or 0 if there is no whole header. */
static int read_header(struct dw *d, uint64_t offset, struct dw_unit *u)
{
	struct cursor c = dw_window(d, DWARF_INFO, offset, 48);
	const uint8_t *start = c.at;
	uint64_t len = cursor_u32(&c), left;

	*u = (struct dw_unit){.d = d, .offset = offset};
	u->sizes.offset = len == UINT32_MAX ? 8 : 4;
	if (u->sizes.offset == 8)
		len = cursor_u64(&c);
	u->end = offset + (uint64_t)(c.at - start);
	left = d->section[DWARF_INFO]->len - u->end;
	if (c.bad || len > left)
		return 0;
	u->end += len;
	u->sizes.version = (uint8_t)cursor_u16(&c);
	if (u->sizes.version >= 5) {
		u->type = cursor_u8(&c);
		u->sizes.address = cursor_u8(&c);
		u->abbrev = cursor_uint(&c, u->sizes.offset);
		if (u->type == UT_SKELETON || u->type == UT_SPLIT)
			u->dwo_id = cursor_u64(&c);
	} else {
		u->abbrev = cursor_uint(&c, u->sizes.offset);
		u->sizes.address = cursor_u8(&c);
		u->type = d->of_types ? UT_TYPE : UT_COMPILE;
	}
	if (is_type_unit(u)) {
		u->signature = cursor_u64(&c);
		u->type_die = offset + cursor_uint(&c, u->sizes.offset);
	}
	u->die = offset + (uint64_t)(c.at - start);
	return !c.bad && u->end > offset;
}

static bool is_read(const struct dw_unit *u)
{
	return u->sizes.version >= 2 && u->sizes.version <= 5 &&
	       (u->sizes.address == 8 || u->sizes.address == 4) &&
	       u->die < u->end;
}

/* The list of units, and the code of each. A damaged header ends it: where
 * the next begins is not known. */
static int read_units(struct dw *d, struct dw_range_list *ranges)
{
	uint64_t offset = 0, len = d->section[DWARF_INFO]->len;
	size_t max = 65536 + len;

	for (int s = DWARF_RANGES; s <= DWARF_RNGLISTS; s++) /* U3 */
		max += d->section[s] != NULL ? d->section[s]->len : 0;
	while (offset < len) {
		struct dw_unit unit, *u;
		struct root root = {.n = 0};
		struct dw_extent extent;
		size_t before;

		if (!read_header(d, offset, &unit))
			break;
		offset = unit.end;
		if (!is_read(&unit))
			continue;
		u = vec_push(&d->units, d->heap);
		if (u == NULL)
			return -1;
		*u = unit;
		if (!read_root(u, &root))
			continue;
		extent = (struct dw_extent){root.low, root.high, root.ranges};
		before = ranges->n;
		if (dw_ranges(u, &extent, (uint32_t)(d->units.n - 1), max,
			      ranges) < 0)
			return -1;
		u->placed =
		    ranges->n > before &&
		    (u->sizes.version > 2 || root.ranges.class != DWARF_NONE);
	}
	return dw_aranges(d, max, ranges);
}

/* -- Opening -- */

/* ORDER dw_section */
static const char *const names[DWARF_SECTIONS] = {
    ".debug_info",	  ".debug_abbrev",  ".debug_str",    ".debug_line_str",
    ".debug_str_offsets", ".debug_addr",    ".debug_ranges", ".debug_rnglists",
    ".debug_line",	  ".debug_aranges", ".debug_loc",    ".debug_loclists",
    ".debug_types"};

static void find_sections(struct dw *d)
{
	for (int i = 0; i < DWARF_SECTIONS; i++) {
		char name[32];

		snprintf(name, sizeof name, "%s%s", names[i],
			 d->split ? ".dwo" : "");
		d->section[i] = elf_find(d->elf, name, NULL);
	}
	if (d->of_types)
		d->section[DWARF_INFO] = d->section[DWARF_TYPES];
}

enum { OPEN_OWN = 1, OPEN_SPLIT = 2, OPEN_TYPES = 4 };

/* Takes e over if OPEN_OWN, also on failure. */
static struct dw *dw_open(struct image_file *f, struct elf *e, unsigned how,
			  struct hark_err *err)
{
	bool own = (how & OPEN_OWN) != 0;
	const struct heap *heap = &e->budget.heap;
	struct dw_range_list ranges = {0};
	struct dw *d = heap_take(heap, sizeof *d);
	int rc;

	if (d == NULL) {
		err_set(err, HARK_ENOMEM, 0, "%s: no memory", elf_name(e));
		if (own)
			elf_close(e);
		return NULL;
	}
	*d = (struct dw){.file = f,
			 .elf = e,
			 .own = own,
			 .heap = heap,
			 .split = (how & OPEN_SPLIT) != 0,
			 .of_types = (how & OPEN_TYPES) != 0};
	arena_init(&d->arena, heap);
	find_sections(d);
	if (d->section[DWARF_INFO] == NULL ||
	    d->section[DWARF_ABBREV] == NULL) {
		err_set(err, HARK_ENOENT, 0, "%s: has no debug information",
			elf_name(e));
		dw_free(d);
		return NULL;
	}

	rc = read_units(d, &ranges);
	if (rc == 0)
		rc = dw_flatten(heap, &ranges, &d->steps);
	vec_free(&ranges, heap);
	if (rc < 0) {
		dw_no_memory(d, err);
		dw_free(d);
		return NULL;
	}
	return d;
}

// NOLINTNEXTLINE(misc-no-recursion): see dw_free
static void unit_fini(struct dw_unit *u)
{
	dw_lines_free(u->d, u->lines);
	dw_lines_free(u->d, u->files);
	dw_scopes_free(u->d, u->scopes);
	dw_free(u->split);
}

// NOLINTNEXTLINE(misc-no-recursion): a .dwo file has no further ones
void dw_free(struct dw *d)
{
	struct elf *e;
	bool own;

	if (d == NULL)
		return;
	e = d->elf;
	own = d->own;
	for (size_t i = 0; i < d->units.n; i++)
		unit_fini(&d->units.at[i]);
	vec_free(&d->units, d->heap);
	vec_free(&d->steps, d->heap);
	dw_abbrevs_free(d);
	dw_names_free(d);
	dw_free(d->types);
	dw_free(d->shared);
	arena_fini(&d->arena);
	heap_give(d->heap, d, sizeof *d);
	if (own)
		elf_close(e);
}

struct dw *dw_of(struct image_file *f, struct hark_err *err)
{
	struct elf *e;

	if (f->dwarf != NULL)
		return f->dwarf;
	e = f->dwarf_bad ? NULL : image_file_dwarf(f);
	if (e == NULL) {
		err_set(err, HARK_ENOENT, 0, "%s: has no debug information",
			f->name);
		return NULL;
	}
	f->dwarf = dw_open(f, e, 0, err);
	f->dwarf_bad = f->dwarf == NULL;
	return f->dwarf;
}

struct dw *dw_shared(struct dw *d)
{
	struct elf *e;

	if (!d->shared_sought) {
		d->shared_sought = true;
		e = debug_find_shared(d->file->image, d->elf);
		if (e != NULL)
			d->shared = dw_open(d->file, e, OPEN_OWN, NULL);
		if (d->shared != NULL)
			d->shared->shared_sought = true; /* not twice */
	}
	return d->shared;
}

struct dw *dw_types(struct dw *d)
{
	unsigned how = OPEN_TYPES | (d->split ? OPEN_SPLIT : 0);

	if (!d->types_sought) {
		d->types_sought = true;
		if (!d->of_types && d->section[DWARF_TYPES] != NULL)
			d->types = dw_open(d->file, d->elf, how, NULL);
	}
	return d->types;
}

/* -- Finding units -- */

static struct dw_unit *find_signed(struct dw *d, uint64_t signature)
{
	if (!dw_spend(d, d->units.n))
		return NULL;
	for (size_t i = 0; i < d->units.n; i++)
		if (is_type_unit(&d->units.at[i]) &&
		    d->units.at[i].signature == signature)
			return &d->units.at[i];
	return NULL;
}

struct dw_unit *dw_unit_signed(struct dw *d, uint64_t signature)
{
	struct dw_unit *u = find_signed(d, signature);
	struct dw *types = u == NULL ? dw_types(d) : NULL;

	return types != NULL ? find_signed(types, signature) : u;
}

struct dw_unit *dw_unit_at(struct dw *d, uint64_t addr)
{
	uint32_t i = dw_owner_at(&d->steps, addr);

	return i < d->units.n ? &d->units.at[i] : NULL;
}

struct dw_unit *dw_unit_with(struct dw *d, uint64_t offset)
{
	size_t lo = 0, hi = d->units.n;
	struct dw_unit *u;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (d->units.at[mid].die <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	u = lo > 0 ? &d->units.at[lo - 1] : NULL;
	return u != NULL && offset < u->end ? u : NULL;
}

/* -- Split units -- */

static struct elf *open_dwo(struct dw_unit *u, const char *path)
{
	struct elf_origin o = {.path = path,
			       .fd = -1,
			       .mem = -1,
			       .pool = &u->d->file->image->pool,
			       .all = &u->d->file->image->budget,
			       .reach = u->d->elf->opens,
			       .opens = u->d->elf->opens,
			       .relocatable = true};
	struct elf *e = NULL;

	elf_open(&o, &e, NULL);
	return e;
}

/* Where the compiler left it, or beside the program. */
static struct elf *find_dwo(struct dw_unit *u, const char *name)
{
	const char *dir = dw_dir(u), *slash = strrchr(name, '/');
	const char *here = u->d->file->name, *end = strrchr(here, '/');
	char path[PATH_MAX];
	struct elf *e;
	int n;

	if (name[0] == '/')
		n = snprintf(path, sizeof path, "%s", name);
	else
		n = snprintf(path, sizeof path, "%s/%s",
			     dir != NULL ? dir : ".", name);
	e = n > 0 && n < PATH_MAX ? open_dwo(u, path) : NULL;
	if (e != NULL)
		return e;
	n = snprintf(path, sizeof path, "%.*s%s",
		     end != NULL ? (int)(end - here) + 1 : 0, here,
		     slash != NULL ? slash + 1 : name);
	return n > 0 && n < PATH_MAX ? open_dwo(u, path) : NULL;
}

static void find_split(struct dw_unit *u)
{
	const char *name = dw_text(u, &u->dwo_value);
	struct elf *e = name != NULL ? find_dwo(u, name) : NULL;

	if (e == NULL)
		return;
	u->split = dw_open(u->d->file, e, OPEN_OWN | OPEN_SPLIT, NULL);
	for (size_t i = 0; u->split != NULL && i < u->split->units.n; i++) {
		struct dw_unit *full = &u->split->units.at[i];

		if (full->dwo_id != u->dwo_id)
			continue;
		full->skeleton = u;
		u->full = full;
		return;
	}
}

struct dw_unit *dw_full(struct dw_unit *u)
{
	if (!u->split_sought) {
		u->split_sought = true;
		if (!u->d->split && u->dwo_value.class != DWARF_NONE)
			find_split(u);
	}
	return u->full != NULL ? u->full : u;
}
