/* image/dw_names.c - which variables and types does a file name?
 *
 * One pass over all entries finds the variables that have one place for the
 * whole run (globals, static ones of functions and classes), the types that
 * are complete, and the constants of enums. They are sorted by their plain
 * name, so that "count" and "shop::count" begin at the same place; who asks
 * compares the rest.
 *
 * A question about one unit reads that unit alone: the C library's debug
 * information has 1,900 of them.
 *
 * M1  The pass reads each entry once, in the order of the section.
 * M2  A name costs one row. Entries that only refer to a name elsewhere are
 *     followed as dw_entry.c does, and paid for. */
#include "image/dw_priv.h"

#include <stdlib.h>

enum { OP_ADDR = 0x03, OP_GNU_TLS = 0xe0, OP_TLS = 0x9b };
enum { OP_ADDRX = 0xa1, OP_GNU_ADDRX = 0xfb };

static bool is_type(uint16_t tag)
{
	return tag == TAG_STRUCTURE_TYPE || tag == TAG_CLASS_TYPE ||
	       tag == TAG_UNION_TYPE || tag == TAG_ENUMERATION_TYPE ||
	       tag == TAG_TYPEDEF || tag == TAG_BASE_TYPE;
}

/* Does the location begin with an address, or end in one of a thread's? */
static bool is_static(const struct dw_value *v)
{
	uint8_t first, last;

	if (v->class != DWARF_BLOCK || v->len == 0)
		return false;
	first = (uint8_t)v->text[0];
	last = (uint8_t)v->text[v->len - 1];
	return first == OP_ADDR || first == OP_ADDRX || first == OP_GNU_ADDRX ||
	       ((last == OP_GNU_TLS || last == OP_TLS) && v->len > 2);
}

static bool is_wanted(const struct dw_entry *e)
{
	struct dw_value v;

	if (e->decl->tag == TAG_VARIABLE || e->decl->tag == TAG_MEMBER) {
		v = dw_entry_get(e, AT_LOCATION);
		if (v.class == DWARF_NONE)
			v = dw_entry_get(e, AT_CONST_VALUE);
		else
			return is_static(&v);
		return v.class != DWARF_NONE && e->decl->tag == TAG_VARIABLE;
	}
	if (!is_type(e->decl->tag))
		return false;
	v = dw_entry_get(e, AT_DECLARATION);
	return v.class == DWARF_NONE;
}

static int add(struct dw *d, struct dw_names *out, const struct dw_entry *e)
{
	const char *name = is_wanted(e) ? dw_entry_name(e) : NULL;
	struct dw_value linked;
	struct dw_unit *u;
	struct dw_name *new;

	if (name == NULL || name[0] == '\0')
		return 0;
	new = vec_push(&out->all, d->heap);
	if (new == NULL)
		return -1;
	*new = (struct dw_name){
	    .name = name, .u = e->u, .die = e->die, .tag = e->decl->tag};
	linked = dw_entry_seek(e, AT_LINKAGE_NAME, &u);
	new->linked = dw_text(u, &linked);
	return 0;
}

/* An enumerator's row leads to its enum, which comes right before it. */
static int add_enumerator(struct dw *d, struct dw_names *out,
			  const struct dw_entry *e, uint64_t in)
{
	const char *name = dw_entry_name(e);
	struct dw_name *new;

	if (name == NULL || name[0] == '\0')
		return 0;
	new = vec_push(&out->all, d->heap);
	if (new == NULL)
		return -1;
	*new = (struct dw_name){
	    .name = name, .u = e->u, .die = in, .tag = TAG_ENUMERATOR};
	return 0;
}

static int pass(struct dw *d, struct dw_unit *u, struct dw_names *out)
{
	struct dw_entry e, next;
	bool more = dw_entry_at(u, u->die, &e);
	uint64_t in = 0; /* the enum that was last come to */

	while (more) {
		if (e.decl->tag == TAG_ENUMERATION_TYPE)
			in = e.die;
		if (e.decl->tag == TAG_ENUMERATOR && in != 0) {
			if (add_enumerator(d, out, &e, in) < 0)
				return -1;
		} else if (add(d, out, &e) < 0) {
			return -1;
		}
		more = dw_entry_after(&e, &next);
		e = next;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct dw_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order != 0)
		return order;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->die < y->die ? -1 : x->die > y->die;
}

static struct dw_names *names_new(const struct heap *heap)
{
	struct dw_names *names = heap_take(heap, sizeof *names);

	if (names != NULL)
		memset(names, 0, sizeof *names);
	return names;
}

static void names_free(const struct heap *heap, struct dw_names *names)
{
	if (names == NULL)
		return;
	vec_free(&names->all, heap);
	heap_give(heap, names, sizeof *names);
}

static void names_sort(struct dw_names *names)
{
	if (names->all.n > 0)
		qsort(names->all.at, names->all.n, sizeof *names->all.at,
		      by_name);
}

void dw_names_free(struct dw *d)
{
	names_free(d->heap, d->names);
	names_free(d->heap, d->unit_names);
	d->names = d->unit_names = NULL;
	d->names_unit = NULL;
}

static int read_all(struct dw *d)
{
	struct dw *types = dw_types(d);

	for (size_t i = 0; i < d->units.n; i++)
		if (pass(d, dw_full(&d->units.at[i]), d->names) < 0)
			return -1;
	for (size_t i = 0; types != NULL && i < types->units.n; i++)
		if (pass(d, &types->units.at[i], d->names) < 0)
			return -1;
	names_sort(d->names);
	return 0;
}

struct dw_names *dw_names_of(struct dw *d, struct hark_err *err)
{
	if (d->names != NULL || d->names_bad)
		return d->names;
	d->names = names_new(d->heap);
	if (d->names != NULL && read_all(d) < 0) {
		names_free(d->heap, d->names);
		d->names = NULL;
	}
	d->names_bad = d->names == NULL;
	if (d->names == NULL)
		dw_no_memory(d, err);
	return d->names;
}

struct dw_names *dw_names_of_unit(struct dw *d, struct dw_unit *u,
				  struct hark_err *err)
{
	if (d->names_unit == u)
		return d->unit_names;
	names_free(d->heap, d->unit_names);
	d->names_unit = NULL;
	d->unit_names = names_new(d->heap);
	if (d->unit_names == NULL || pass(d, u, d->unit_names) < 0) {
		names_free(d->heap, d->unit_names);
		d->unit_names = NULL;
		dw_no_memory(d, err);
		return NULL;
	}
	names_sort(d->unit_names);
	d->names_unit = u;
	return d->unit_names;
}

const struct dw_name *dw_names_find(const struct dw_names *all,
				    const char *name, size_t *n)
{
	size_t lo = 0, hi = all->all.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(all->all.at[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == all->all.n || strcmp(all->all.at[lo].name, name) != 0)
		return NULL;
	*n = all->all.n - lo;
	return &all->all.at[lo];
}
