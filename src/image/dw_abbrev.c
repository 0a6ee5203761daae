/* image/dw_abbrev.c - tables of abbreviations: what entries look like.
 *
 * A1  Every declaration is at least three bytes, so a table is never longer
 *     than its section.
 * A2  Tables of a file hang in one chain, found by offset. Units that touch
 *     more than TABLES_MAX different ones are not real. */
#include "image/dw_priv.h"

#include <stdlib.h>

enum { WINDOW = 4096, TABLES_MAX = 1 << 16, ATTRS_MAX = 256 };
enum { FORM_IMPLICIT_CONST = 0x21 };

static void table_free(struct dw *d, struct dw_abbrevs *a)
{
	vec_free(&a->decls, d->heap);
	vec_free(&a->attrs, d->heap);
	heap_give(d->heap, a, sizeof *a);
}

void dw_abbrevs_free(struct dw *d)
{
	while (d->abbrevs != NULL) {
		struct dw_abbrevs *a = d->abbrevs;

		d->abbrevs = a->next;
		table_free(d, a);
	}
}

/* The attributes of one declaration; false: no memory. */
static bool read_attrs(struct dw *d, struct dw_abbrevs *a, struct dw_decl *decl,
		       struct cursor *c, struct dw_sizes sizes)
{
	decl->first = (uint32_t)a->attrs.n;
	decl->n = 0;
	decl->fixed = 0;
	for (;;) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct dw_attr *new;
		int len;

		if (c->bad || (name == 0 && form == 0))
			return true;
		if (decl->n == ATTRS_MAX) {
			cursor_fail(c);
			return true;
		}
		new = vec_push(&a->attrs, d->heap);
		if (new == NULL)
			return false;
		*new = (struct dw_attr){
		    .name = (uint16_t)(name <= UINT16_MAX ? name : 0),
		    .form = (uint16_t)(form <= UINT16_MAX ? form : 0)};
		if (form == FORM_IMPLICIT_CONST)
			new->implicit = cursor_sleb(c);
		len = dw_form_len(form, sizes);
		if (len < 0 || decl->fixed > 65536)
			decl->fixed = -1;
		decl->fixed += decl->fixed >= 0 ? len : 0;
		decl->n++;
	}
}

/* 1: whole; 0: the window ends before the table does; -1: no memory. */
static int read_table(struct dw *d, struct dw_abbrevs *a, struct cursor c,
		      struct dw_sizes sizes)
{
	a->decls.n = 0;
	a->attrs.n = 0;
	a->dense = true;
	for (;;) {
		uint64_t code = cursor_uleb(&c);
		struct dw_decl *decl;

		if (c.bad)
			return 0;
		if (code == 0)
			return 1;
		decl = vec_push(&a->decls, d->heap);
		if (decl == NULL)
			return -1;
		*decl = (struct dw_decl){.code = code};
		decl->tag = (uint16_t)cursor_uleb(&c);
		decl->has_children = cursor_u8(&c) != 0;
		if (!read_attrs(d, a, decl, &c, sizes))
			return -1;
		if (c.bad)
			return 0;
		a->dense = a->dense && code == a->decls.n;
	}
}

static int by_code(const void *a, const void *b)
{
	const struct dw_decl *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

struct dw_abbrevs *dw_abbrevs_at(struct dw *d, uint64_t offset,
				 struct dw_sizes sizes, struct hark_err *err)
{
	struct dw_abbrevs *a;
	uint64_t len = d->section[DWARF_ABBREV]->len;
	unsigned n = 0;
	int whole = 0;

	for (a = d->abbrevs; a != NULL; a = a->next, n++)
		if (a->offset == offset &&
		    memcmp(&a->sizes, &sizes, sizeof sizes) == 0)
			return a;
	a = n < TABLES_MAX ? heap_take(d->heap, sizeof *a) : NULL;
	if (a == NULL) {
		dw_no_memory(d, err);
		return NULL;
	}
	*a = (struct dw_abbrevs){.offset = offset, .sizes = sizes};
	for (uint64_t window = WINDOW; whole == 0; window *= 4) {
		struct cursor c = dw_window(d, DWARF_ABBREV, offset, window);

		if (!dw_spend(d, cursor_left(&c)))
			break;
		whole = read_table(d, a, c, sizes);
		if (window >= len)
			break;
	}
	if (whole < 0) {
		table_free(d, a);
		dw_no_memory(d, err);
		return NULL;
	}
	if (whole == 0 && a->decls.n > 0)
		a->decls.n--; /* the last one was cut */
	if (!a->dense && a->decls.n > 0)
		qsort(a->decls.at, a->decls.n, sizeof *a->decls.at, by_code);
	a->next = d->abbrevs;
	d->abbrevs = a;
	return a;
}

const struct dw_decl *dw_decl_of(const struct dw_abbrevs *a, uint64_t code)
{
	size_t lo = 0, hi = a->decls.n;

	if (a->dense)
		return code - 1 < a->decls.n ? &a->decls.at[code - 1] : NULL;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (a->decls.at[mid].code < code)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < a->decls.n && a->decls.at[lo].code == code
		   ? &a->decls.at[lo]
		   : NULL;
}

bool dw_has_abbrevs(struct dw_unit *u, struct hark_err *err)
{
	if (u->abbrevs == NULL)
		u->abbrevs = dw_abbrevs_at(u->d, u->abbrev, u->sizes, err);
	return u->abbrevs != NULL;
}
