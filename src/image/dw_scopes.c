/* image/dw_scopes.c - functions, and functions inlined into them.
 *
 * One pass over the entries of a unit finds all that have code. Their ranges
 * nest as the calls did; flattened to steps, an address has one innermost
 * scope, and the scopes around it are the inlined calls.
 *
 * N1  Entries are read in one pass, each at least a byte long. Depth is
 *     bounded; what is deeper ends the pass.
 * N2  Names are chains of references (to a declaration, to the abstract
 *     function), at most CHAIN long, so circles end.
 * N3  A unit has at most as many ranges as bytes, and RANGES_FREE more. */
#include "image/demangle.h"
#include "image/dw_priv.h"

enum { DEPTH = 512, CHAIN = 16, RANGES_FREE = 65536 };

/* -- One entry -- */

struct entry {
	struct dw_extent extent;
	struct dw_value origin, name, linkage, begin;
	uint64_t call_file, call_line, call_column;
};

static void keep_value(struct entry *e, uint16_t name, const struct dw_value *v)
{
	switch (name) {
	case AT_LOW_PC:
		e->extent.low = *v;
		break;
	case AT_HIGH_PC:
		e->extent.high = *v;
		break;
	case AT_RANGES:
		e->extent.ranges = *v;
		break;
	case AT_ENTRY_PC:
		e->begin = *v;
		break;
	case AT_NAME:
		e->name = *v;
		break;
	case AT_LINKAGE_NAME:
	case AT_MIPS_LINKAGE_NAME:
		e->linkage = *v;
		break;
	case AT_ABSTRACT_ORIGIN:
	case AT_SPECIFICATION:
		e->origin = *v;
		break;
	case AT_CALL_FILE:
		e->call_file = v->u;
		break;
	case AT_CALL_LINE:
		e->call_line = v->u;
		break;
	case AT_CALL_COLUMN:
		e->call_column = v->u;
		break;
	default:
		break;
	}
}

/* Those of a declaration that has any. */
static const struct dw_attr *attrs_of(const struct dw_unit *u,
				      const struct dw_decl *decl)
{
	return decl->n > 0 ? u->abbrevs->attrs.at + decl->first : NULL;
}

static void read_entry(struct dw_unit *u, const struct dw_decl *decl,
		       struct cursor *c, struct entry *e)
{
	const struct dw_attr *a = attrs_of(u, decl);

	memset(e, 0, sizeof *e);
	for (uint32_t i = 0; i < decl->n && !c->bad; i++) {
		struct dw_value v =
		    dw_read(c, a[i].form, a[i].implicit, u->sizes, u->offset);

		keep_value(e, a[i].name, &v);
	}
}

static void skip_entry(struct dw_unit *u, const struct dw_decl *decl,
		       struct cursor *c)
{
	const struct dw_attr *a = attrs_of(u, decl);

	if (decl->fixed >= 0) {
		cursor_skip(c, (uint64_t)decl->fixed);
		return;
	}
	for (uint32_t i = 0; i < decl->n && !c->bad; i++)
		dw_read(c, a[i].form, a[i].implicit, u->sizes, u->offset);
}

/* -- All entries -- */

struct pass {
	struct dw_unit *u;
	struct dw_scopes *out;
	struct dw_range_list ranges;
	struct cursor c;
	const uint8_t *start;  /* of the unit */
	uint32_t scope[DEPTH]; /* around the entries of each level */
	unsigned depth;
	size_t max;
};

/* As the entry says; an offset counts from its lowest address. If it does not
 * say, where the first of its ranges begins, which compilers write first. */
static uint64_t begin_of(struct dw_unit *u, const struct entry *e,
			 uint64_t first)
{
	uint64_t addr;

	if (dw_address(u, &e->begin, &addr))
		return addr;
	if (e->begin.class == DWARF_CONSTANT && e->begin.u != 0 &&
	    dw_address(u, &e->extent.low, &addr))
		return addr + e->begin.u;
	return first;
}

/* Adds a scope if the entry has code: 0, or -1 without memory. */
static int add_scope(struct pass *p, uint64_t die, bool inlined,
		     const struct entry *e, uint32_t *scope)
{
	const struct heap *heap = p->u->d->heap;
	size_t before = p->ranges.n;
	uint32_t number = (uint32_t)p->out->all.n;
	struct dw_scope *new;

	if (dw_ranges(p->u, &e->extent, number, p->max, &p->ranges) < 0)
		return -1;
	if (p->ranges.n == before)
		return 0;
	new = vec_push(&p->out->all, heap);
	if (new == NULL)
		return -1;
	*new = (struct dw_scope){
	    .die = die,
	    .entry = begin_of(p->u, e, p->ranges.at[before].low),
	    .outer = *scope,
	    .line = (uint32_t)(e->call_line <= UINT32_MAX ? e->call_line : 0),
	    .file = (uint32_t)(e->call_file <= UINT32_MAX ? e->call_file : 0),
	    .column =
		(uint16_t)(e->call_column <= UINT16_MAX ? e->call_column : 0),
	    .inlined = inlined};
	*scope = number;
	return 0;
}

/* 1: go on; 0: the end, or what is as good as that; -1: no memory. */
static int pass_one(struct pass *p)
{
	uint64_t die = p->u->offset + (uint64_t)(p->c.at - p->start);
	uint64_t code = cursor_uleb(&p->c);
	const struct dw_decl *decl;
	uint32_t scope = p->scope[p->depth];
	struct entry e;

	if (p->c.bad)
		return 0;
	if (code == 0) {
		if (p->depth == 0)
			return 0;
		p->depth--;
		return 1;
	}
	decl = dw_decl_of(p->u->abbrevs, code);
	if (decl == NULL || !dw_spend(p->u->d, 1 + decl->n))
		return 0;
	if (decl->tag == TAG_SUBPROGRAM ||
	    decl->tag == TAG_INLINED_SUBROUTINE) {
		read_entry(p->u, decl, &p->c, &e);
		if (!p->c.bad &&
		    add_scope(p, die, decl->tag == TAG_INLINED_SUBROUTINE, &e,
			      &scope) < 0)
			return -1;
	} else {
		skip_entry(p->u, decl, &p->c);
	}
	if (decl->has_children) {
		if (p->depth + 1 == DEPTH)
			return 0; /* N1 */
		p->scope[++p->depth] = scope;
	}
	return 1;
}

static int pass_all(struct dw_unit *u, struct dw_scopes *out,
		    struct hark_err *err)
{
	uint64_t len = u->end - u->offset;
	struct pass p = {.u = u, .out = out, .max = RANGES_FREE + len};
	struct cursor whole;
	int rc;

	whole = dw_window(u->d, DWARF_INFO, u->offset, len);
	if (cursor_left(&whole) != len)
		return err_set(err, HARK_EIO, 0,
			       "%s: debug information cannot be read",
			       elf_name(u->d->elf));
	p.start = whole.at;
	p.c = whole;
	p.c.at += u->die - u->offset;
	p.scope[0] = DWARF_NOBODY;
	while ((rc = pass_one(&p)) > 0)
		;
	if (rc == 0)
		rc = dw_flatten(u->d->heap, &p.ranges, &out->steps);
	vec_free(&p.ranges, u->d->heap);
	return rc < 0 ? dw_no_memory(u->d, err) : 0;
}

void dw_scopes_free(struct dw *d, struct dw_scopes *s)
{
	if (s == NULL)
		return;
	vec_free(&s->all, d->heap);
	vec_free(&s->steps, d->heap);
	heap_give(d->heap, s, sizeof *s);
}

struct dw_scopes *dw_scopes_of(struct dw_unit *u, struct hark_err *err)
{
	struct dw_scopes *s;

	if (u->scopes != NULL)
		return u->scopes;
	if (u->scopes_bad) {
		err_set(err, HARK_EINPUT, 0, "%s: damaged debug information",
			elf_name(u->d->elf));
		return NULL;
	}
	s = heap_take(u->d->heap, sizeof *s);
	if (s == NULL) {
		dw_no_memory(u->d, err);
		return NULL;
	}
	memset(s, 0, sizeof *s);
	if (!dw_has_abbrevs(u, err) || pass_all(u, s, err) < 0) {
		u->scopes_bad = true;
		dw_scopes_free(u->d, s);
		return NULL;
	}
	vec_trim(&s->all, u->d->heap);
	vec_trim(&s->steps, u->d->heap);
	u->scopes = s;
	return s;
}

/* -- Names -- */

/* The names that an entry itself has, and where it refers to. */
static bool read_names(struct dw_unit *u, uint64_t die, struct entry *e)
{
	const struct dw_decl *decl;
	struct cursor c;
	uint64_t code;

	if (!dw_has_abbrevs(u, NULL) || die >= u->end)
		return false;
	c = dw_window(u->d, DWARF_INFO, die, u->end - die);
	code = cursor_uleb(&c);
	decl = dw_decl_of(u->abbrevs, code);
	if (c.bad || code == 0 || decl == NULL)
		return false;
	read_entry(u, decl, &c, e);
	return true;
}

static const char *pretty_of(struct dw *d, const char *name)
{
	char text[DEMANGLE_TEXT_MAX];
	size_t len = demangle(name, DEMANGLE_FULL, text, sizeof text);
	const char *copy = len > 0 ? arena_text(&d->arena, text, len) : NULL;

	return copy != NULL ? copy : name;
}

const char *dw_scope_plain(struct dw_unit *u, const struct dw_scope *s)
{
	uint64_t die = s->die;
	const char *name;
	struct entry e;

	for (int i = 0; i < CHAIN && read_names(u, die, &e); i++) {
		name = dw_text(u, &e.name);
		if (name != NULL)
			return name;
		if (!dw_target(u, &e.origin, &u, &die))
			break;
	}
	return NULL;
}

void dw_scope_name(struct dw_unit *u, struct dw_scope *s)
{
	const char *plain = NULL, *linked = NULL;
	struct dw *d = u->d;
	uint64_t die = s->die;
	struct entry e;

	if (s->named)
		return;
	s->named = true;
	for (int i = 0; i < CHAIN && linked == NULL; i++) {
		if (!read_names(u, die, &e))
			break;
		linked = dw_text(u, &e.linkage);
		if (plain == NULL)
			plain = dw_text(u, &e.name);
		if (!dw_target(u, &e.origin, &u, &die))
			break;
	}
	s->name = linked != NULL ? linked : plain;
	s->pretty = linked != NULL ? pretty_of(d, linked) : plain;
}
