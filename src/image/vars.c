/* image/vars.c - which variables are there, and where?
 *
 * V1  Scopes at a pc are found by descending from the unit's root: of each
 *     list of children only those that have the pc are entered, DEPTH deep at
 *     most. */
#include "image/vars.h"

#include "image/demangle.h"
#include "image/expr_priv.h"
#include "image/types_priv.h"

#include <fnmatch.h>

enum { DEPTH = 64 };

static struct dw *begin(struct image_file *f, struct hark_err *err)
{
	dw_begin(f);
	return dw_of(f, err);
}

static void var_of(const struct dw_entry *e, uint64_t function, struct var *out)
{
	struct dw_value v = dw_entry_seek(e, AT_ARTIFICIAL, NULL);
	struct dw_value x = dw_entry_seek(e, AT_EXTERNAL, NULL);

	*out =
	    (struct var){.name = dw_entry_name(e),
			 .type = type_under(e),
			 .unit = e->u,
			 .die = e->die,
			 .function = function,
			 .is_parameter = e->decl->tag == TAG_FORMAL_PARAMETER,
			 .is_artificial = v.class != DWARF_NONE,
			 .is_external = x.class != DWARF_NONE};
}

/* -- Globals -- */

static bool is_variable(const struct dw_name *n)
{
	return n->tag == TAG_VARIABLE || n->tag == TAG_MEMBER;
}

/* Is it the one with this whole name, with "::" in it? */
static bool is_meant(const struct dw_name *n, const char *whole)
{
	char text[DEMANGLE_TEXT_MAX];

	if (n->linked == NULL)
		return false;
	if (strcmp(n->linked, whole) == 0)
		return true;
	return demangle(n->linked, DEMANGLE_SHORT, text, sizeof text) > 0 &&
	       strcmp(text, whole) == 0;
}

static const char *last_part(const char *name)
{
	const char *at = name, *found;

	while ((found = strstr(at, "::")) != NULL)
		at = found + 2;
	return at;
}

static int found_var(const struct dw_name *n, struct var *out)
{
	struct dw_entry e;

	if (!dw_entry_at(n->u, n->die, &e))
		return -1;
	var_of(&e, 0, out);
	return 0;
}

/* As linked: no list is sorted by that, so all are looked at. */
static const struct dw_name *find_linked(const struct dw_names *all,
					 const char *name)
{
	for (size_t i = 0; i < all->all.n; i++) {
		const struct dw_name *n = &all->all.at[i];

		if (is_variable(n) && n->linked != NULL &&
		    strcmp(n->linked, name) == 0)
			return n;
	}
	return NULL;
}

struct wish {
	const char *name, *plain; /* whole, and its last part */
	enum vars_which which;
};

static bool is_wished(const struct wish *w, const struct dw_name *n,
		      struct var *out)
{
	if (!is_variable(n) || (w->plain != w->name && !is_meant(n, w->name)) ||
	    found_var(n, out) < 0)
		return false;
	return w->which != VARS_EXTERNAL || out->is_external;
}

static bool find_wished(const struct dw_names *names, const struct wish *w,
			struct var *out)
{
	const struct dw_name *n;
	struct var v;
	size_t left = 0;

	n = dw_names_find(names, w->plain, &left);
	for (; n != NULL && left > 0 && strcmp(n->name, w->plain) == 0;
	     left--, n++)
		if (is_wished(w, n, &v)) {
			*out = v;
			return true;
		}
	n = strncmp(w->name, "_Z", 2) == 0 ? find_linked(names, w->name) : NULL;
	if (n == NULL || found_var(n, &v) < 0)
		return false;
	*out = v;
	return true;
}

/* Those that may be meant; NULL with err: none, or they cannot be read. */
static struct dw_names *names_for(struct image_file *f, enum vars_which which,
				  uint64_t pc, struct hark_err *err)
{
	struct dw *d = begin(f, err);
	struct dw_unit *u;

	if (d == NULL || which != VARS_OF_UNIT)
		return d != NULL ? dw_names_of(d, err) : NULL;
	u = dw_unit_at(d, pc);
	if (u == NULL) {
		err_set(err, HARK_ENOENT, 0, "%s: no unit has that code",
			f->name);
		return NULL;
	}
	return dw_names_of_unit(d, dw_full(u), err);
}

int vars_global_in(struct image_file *f, const char *name,
		   enum vars_which which, uint64_t pc, struct var *out,
		   struct hark_err *err)
{
	struct dw_names *names = names_for(f, which, pc, err);
	struct wish w = {
	    .name = name, .plain = last_part(name), .which = which};

	if (names == NULL)
		return -1;
	if (find_wished(names, &w, out))
		return 0;
	return err_set(err, HARK_ENOENT, 0, "%s: no variable '%s'", f->name,
		       name);
}

int vars_global(struct image_file *f, const char *name, struct var *out,
		struct hark_err *err)
{
	if (vars_global_in(f, name, VARS_EXTERNAL, 0, out, NULL) == 0)
		return 0;
	return vars_global_in(f, name, VARS_ALL, 0, out, err);
}

int vars_each_global(struct image_file *f, const char *pattern,
		     int (*visit)(void *ctx, const struct var *v), void *ctx,
		     struct hark_err *err)
{
	struct dw *d = begin(f, err);
	struct dw_names *names = d != NULL ? dw_names_of(d, err) : NULL;
	struct var v;
	int rc = 0;

	if (names == NULL)
		return -1;
	for (size_t i = 0; rc == 0 && i < names->all.n; i++) {
		const struct dw_name *n = &names->all.at[i];

		if (is_variable(n) && fnmatch(pattern, n->name, 0) == 0 &&
		    found_var(n, &v) == 0)
			rc = visit(ctx, &v);
	}
	return rc;
}

/* -- Scopes -- */

static bool is_scope(uint16_t tag)
{
	return tag == TAG_SUBPROGRAM || tag == TAG_INLINED_SUBROUTINE ||
	       tag == TAG_LEXICAL_BLOCK;
}

/* May code be below it? */
static bool is_passage(uint16_t tag)
{
	return tag == TAG_NAMESPACE || tag == TAG_STRUCTURE_TYPE ||
	       tag == TAG_CLASS_TYPE;
}

static bool has_pc(const struct dw_entry *e, uint64_t pc)
{
	struct dw_extent extent = {dw_entry_get(e, AT_LOW_PC),
				   dw_entry_get(e, AT_HIGH_PC),
				   dw_entry_get(e, AT_RANGES)};
	const struct heap *heap = e->u->d->heap;
	struct dw_range_list list = {0};
	bool found = false;

	if (extent.low.class == DWARF_NONE && extent.ranges.class == DWARF_NONE)
		return false;
	if (dw_ranges(e->u, &extent, 0, 1 << 16, &list) == 0)
		for (size_t i = 0; i < list.n && !found; i++)
			found = pc >= list.at[i].low && pc < list.at[i].high;
	vec_free(&list, heap);
	return found;
}

struct chain {
	struct dw_entry at[DEPTH]; /* outermost first */
	unsigned n;
};

/* The child of e that has pc, or through which code is reached. */
// NOLINTNEXTLINE(misc-no-recursion): V1
static bool descend(const struct dw_entry *e, uint64_t pc, struct chain *out,
		    unsigned depth)
{
	struct dw_entry at, next;
	bool more = depth < DEPTH && dw_entry_child(e, &next);

	while (more) {
		at = next;
		if (is_scope(at.decl->tag) && has_pc(&at, pc) &&
		    out->n < DEPTH) {
			out->at[out->n++] = at;
			descend(&at, pc, out, depth + 1);
			return true;
		}
		if (is_passage(at.decl->tag) &&
		    descend(&at, pc, out, depth + 1))
			return true;
		more = dw_entry_next(&at, &next);
	}
	return false;
}

/* From the function down to the innermost block; 0 or -1. */
static int find_chain(struct image_file *f, uint64_t pc, struct chain *out,
		      struct hark_err *err)
{
	struct dw *d = begin(f, err);
	struct dw_unit *u = d != NULL ? dw_unit_at(d, pc) : NULL;
	struct dw_entry root;

	if (d == NULL)
		return -1;
	out->n = 0;
	if (u != NULL)
		u = dw_full(u);
	if (u == NULL || !dw_entry_at(u, u->die, &root) ||
	    !descend(&root, pc, out, 0))
		return err_set(err, HARK_ENOENT, 0,
			       "%s: no function at 0x%lx is described", f->name,
			       (unsigned long)pc);
	return 0;
}

/* The physical function, in whose frame all is. */
static uint64_t function_of(const struct chain *c)
{
	for (unsigned i = c->n; i-- > 0;)
		if (c->at[i].decl->tag == TAG_SUBPROGRAM)
			return c->at[i].die;
	return 0;
}

/* -- Locals -- */

static int each_var(const struct dw_entry *scope, uint64_t function,
		    int (*visit)(void *ctx, const struct var *v), void *ctx)
{
	struct dw_entry at, next;
	bool more = dw_entry_child(scope, &next);
	struct var v;
	int rc = 0;

	while (more && rc == 0) {
		at = next;
		if (at.decl->tag == TAG_VARIABLE ||
		    at.decl->tag == TAG_FORMAL_PARAMETER) {
			var_of(&at, function, &v);
			if (v.name != NULL)
				rc = visit(ctx, &v);
		}
		more = dw_entry_next(&at, &next);
	}
	return rc;
}

int vars_each_local(struct image_file *f, uint64_t pc, unsigned inlined,
		    int (*visit)(void *ctx, const struct var *v), void *ctx,
		    struct hark_err *err)
{
	struct chain c;
	uint64_t function;
	unsigned i;
	int rc = 0;

	if (find_chain(f, pc, &c, err) < 0)
		return -1;
	function = function_of(&c);
	for (i = c.n; inlined > 0 && i > 0; i--)
		inlined -= c.at[i - 1].decl->tag == TAG_INLINED_SUBROUTINE;
	while (i-- > 0 && rc == 0) {
		rc = each_var(&c.at[i], function, visit, ctx);
		if (c.at[i].decl->tag != TAG_LEXICAL_BLOCK)
			break;
	}
	return rc;
}

struct only_parameters {
	int (*visit)(void *ctx, const struct var *v);
	void *ctx;
};

static int if_parameter(void *ctx, const struct var *v)
{
	const struct only_parameters *only = ctx;

	return v->is_parameter ? only->visit(only->ctx, v) : 0;
}

int vars_parameters(struct image_file *f, uint64_t pc,
		    int (*visit)(void *ctx, const struct var *v), void *ctx,
		    struct type *result, struct hark_err *err)
{
	struct only_parameters only = {visit, ctx};
	struct chain c;

	if (find_chain(f, pc, &c, err) < 0)
		return -1;
	*result = type_under(&c.at[0]);
	return each_var(&c.at[0], function_of(&c), if_parameter, &only);
}

/* -- Places -- */

static void place_constant(const struct dw_value *v, struct expr_place *out)
{
	*out = (struct expr_place){.n = 1};
	if (v->class == DWARF_BLOCK)
		out->piece[0] =
		    (struct expr_piece){.kind = EXPR_BYTES,
					.bytes = (const uint8_t *)v->text,
					.bytes_len = v->len};
	else if (v->class == DWARF_CONSTANT || v->class == DWARF_ADDRESS)
		out->piece[0] =
		    (struct expr_piece){.kind = EXPR_VALUE, .u = v->u};
}

void vars_place(const struct var *v, const struct expr_frame *f,
		struct expr_place *out)
{
	struct dw_entry e, function;
	struct dw_value at;
	const uint8_t *code;
	bool has_function;
	size_t len;

	*out = (struct expr_place){.n = 1}; /* nowhere */
	dw_begin(v->unit->d->file);
	if (!dw_entry_at(v->unit, v->die, &e))
		return;
	at = dw_entry_get(&e, AT_LOCATION);
	if (at.class == DWARF_NONE) {
		at = dw_entry_seek(&e, AT_CONST_VALUE, NULL);
		place_constant(&at, out);
		return;
	}
	if (!expr_bytes(e.u, &at, f->pc, &code, &len))
		return;
	has_function =
	    v->function != 0 && dw_entry_at(v->unit, v->function, &function);
	expr_run(e.u, has_function ? &function : NULL, code, len, f, out);
}

/* -- What callers passed -- */

enum { OP_REG0 = 0x50, OP_REG31 = 0x6f, OP_REGX = 0x90 };

static bool is_call(const struct dw_entry *e, uint64_t pc)
{
	struct dw_value v;
	uint64_t addr;

	if (e->decl->tag != TAG_CALL_SITE && e->decl->tag != TAG_GNU_CALL_SITE)
		return false;
	v = dw_entry_get(e, AT_CALL_RETURN_PC);
	if (v.class == DWARF_NONE)
		v = dw_entry_get(e, AT_LOW_PC);
	return dw_address(e->u, &v, &addr) && addr == pc;
}

static bool is_in(const struct dw_entry *e, unsigned number)
{
	struct dw_value v = dw_entry_get(e, AT_LOCATION);
	struct cursor c = cursor_of(v.text, v.len);
	uint8_t op;

	if (v.class != DWARF_BLOCK || v.len == 0)
		return false;
	op = cursor_u8(&c);
	if (op == OP_REGX)
		return cursor_uleb(&c) == number;
	return op >= OP_REG0 && op <= OP_REG31 &&
	       (unsigned)op - OP_REG0 == number;
}

static int pass_value(const struct dw_entry *parameter,
		      const struct dw_entry *function,
		      const struct expr_frame *f, uint64_t *out)
{
	struct dw_value v = dw_entry_get(parameter, AT_CALL_VALUE);
	struct expr_place p;

	if (v.class == DWARF_NONE)
		v = dw_entry_get(parameter, AT_GNU_CALL_SITE_VALUE);
	if (v.class != DWARF_BLOCK)
		return -1;
	expr_run(parameter->u, function, (const uint8_t *)v.text, v.len, f, &p);
	/* The expression computes a value; it says no stack_value. */
	if (p.n != 1)
		return -1;
	if (p.piece[0].kind == EXPR_MEMORY || p.piece[0].kind == EXPR_VALUE) {
		*out = p.piece[0].u;
		return 0;
	}
	return -1;
}

int vars_passed(struct image_file *file, uint64_t pc, unsigned number,
		const struct expr_frame *f, uint64_t *out)
{
	struct dw_entry at, next;
	struct chain c;
	bool more;

	if (find_chain(file, pc - 1, &c, NULL) < 0)
		return -1;
	/* Below the outermost scope, in blocks and inlined calls as it comes:
	 * entries in their order up to the end of the function. */
	for (unsigned i = c.n; i-- > 0;) {
		more = dw_entry_child(&c.at[i], &next);
		while (more) {
			at = next;
			if (is_call(&at, pc))
				break;
			more = dw_entry_next(&at, &next);
		}
		if (!more)
			continue;
		more = dw_entry_child(&at, &next);
		while (more) {
			at = next;
			if (is_in(&at, number))
				return pass_value(&at, &c.at[0], f, out);
			more = dw_entry_next(&at, &next);
		}
		return -1;
	}
	return -1;
}
