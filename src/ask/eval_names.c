/* ask/eval_names.c - the names in expressions: variables, enumerators, types.
 */
#include "ask/eval.h"

#include "ask/eval_priv.h"
#include "image/lines.h"
#include "image/vars.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { FIELD_NEST = 8, MEMBERS_LISTED = 16, MEMBERS_LEN = 512 };

static bool is_first(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

size_t eval_name_len(const char *at)
{
	size_t n = 0;

	if (!is_first(at[0]))
		return 0;
	for (;;) {
		while (isalnum((unsigned char)at[n]) || at[n] == '_')
			n++;
		if (at[n] == ':' && at[n + 1] == ':' && is_first(at[n + 2]))
			n += 2;
		else if (at[n] == '.' && isdigit((unsigned char)at[n + 1]))
			n++;
		else
			return n;
	}
}

/* -- Variables -- */

struct seek {
	const char *name;
	struct var found;
};

static int is_it(void *ctx, const struct var *v)
{
	struct seek *s = ctx;

	if (strcmp(v->name, s->name) != 0)
		return 0;
	s->found = *v;
	return 1;
}

static bool local(const struct eval *e, const char *name, struct value *out)
{
	const struct unwind_frame *f = &e->u->frame[e->frame];
	struct seek s = {.name = name};
	uint64_t pc = f->pc - f->is_return;
	struct line_frame lines[LINES_DEPTH];
	size_t n = 0;

	if (f->module == NULL)
		return false;
	pc -= f->module->bias;
	if (lines_at(f->module->file, pc, lines, LINES_DEPTH, &n, NULL) < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (vars_each_local(f->module->file, pc, i, is_it, &s, NULL) ==
		    1) {
			eval_var(e, &s.found, e->frame, NULL, out);
			return true;
		}
	return false;
}

static bool global_of(const struct eval *e, const char *name,
		      const struct space_module *m, enum vars_which which,
		      struct value *out)
{
	struct var v;

	if (vars_global_in(m->file, name, which, 0, &v, NULL) < 0)
		return false;
	eval_var(e, &v, e->frame, m, out);
	return true;
}

static bool global_of_file(const struct eval *e, const char *name,
			   struct value *out)
{
	const struct unwind_frame *f = &e->u->frame[e->frame];
	struct var v;

	if (f->module == NULL ||
	    vars_global_in(f->module->file, name, VARS_OF_UNIT,
			   f->pc - f->is_return - f->module->bias, &v,
			   NULL) < 0)
		return false;
	eval_var(e, &v, e->frame, f->module, out);
	return true;
}

/* Of the same source file; of the program, first what all files can see; of its
 * libraries, likewise. So the libraries' names, which take long to read, are
 * not read where the program has the name. */
static bool global(const struct eval *e, const char *name, struct value *out)
{
	static const enum vars_which order[] = {VARS_EXTERNAL, VARS_ALL};
	size_t n = space_count(e->space);

	if (global_of_file(e, name, out))
		return true;
	for (unsigned k = 0; k < 2 && n > 0; k++)
		if (global_of(e, name, space_get(e->space, 0), order[k], out))
			return true;
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 1; i < n; i++)
			if (global_of(e, name, space_get(e->space, i), order[k],
				      out))
				return true;
	return false;
}

/* A field of *this. */
static bool field_of_this(const struct eval *e, const char *name,
			  struct value *out)
{
	struct type_facts facts;
	struct type_field f;
	struct value v = {0};
	int64_t addr;

	if (!local(e, "this", &v) || eval_number(e, &v, &addr) < 0)
		return false;
	type_look(v.type, &facts);
	if (facts.kind != TYPE_POINTER || !type_field(facts.target, name, &f))
		return false;
	*out = eval_at(f.type, (uint64_t)addr + f.offset, 0);
	out->bit_size = f.bit_size;
	out->bit_shift = f.bit_shift;
	return true;
}

/* -- Enumerators -- */

struct enumerators {
	const char *enum_name; /* of a qualified name; NULL: any */
	size_t enum_len;
	unsigned n;
	bool is_ambiguous;
	struct type type;
	int64_t value;
};

static int see_enumerator(void *ctx, struct type t, int64_t value)
{
	struct enumerators *s = ctx;
	struct type_facts f;

	type_look(t, &f);
	if (s->enum_name != NULL &&
	    (f.name == NULL || strlen(f.name) != s->enum_len ||
	     strncmp(f.name, s->enum_name, s->enum_len) != 0))
		return 0;
	if (s->n > 0 && s->value != value)
		s->is_ambiguous = true;
	s->n++;
	s->type = t;
	s->value = value;
	return 0;
}

static const char *last_part(const char *name)
{
	const char *at = name, *found;

	while ((found = strstr(at, "::")) != NULL)
		at = found + 2;
	return at;
}

/* "kind::big": of the enum that the name says, if there is one. */
static void seek_enumerators(const struct eval *e, const char *name,
			     bool by_enum, struct enumerators *s)
{
	const struct unwind_frame *f = &e->u->frame[e->frame];
	const char *last = last_part(name);

	*s = (struct enumerators){.n = 0};
	if (by_enum) {
		const char *begin = last - 2;

		while (begin > name && begin[-1] != ':')
			begin--;
		s->enum_name = begin;
		s->enum_len = (size_t)(last - 2 - begin);
	}
	if (f->module != NULL)
		type_each_enumerator(f->module->file, last,
				     f->pc - f->is_return - f->module->bias,
				     see_enumerator, s, NULL);
	for (size_t i = 0; s->n == 0 && i < space_count(e->space); i++)
		type_each_enumerator(space_get(e->space, i)->file, last, 0,
				     see_enumerator, s, NULL);
}

static int enumerator(const struct eval *e, const char *name, struct value *out,
		      struct hark_err *err)
{
	struct enumerators s = {0};
	struct operand o;

	if (last_part(name) != name)
		seek_enumerators(e, name, true, &s);
	if (s.n == 0)
		seek_enumerators(e, name, false, &s);
	if (s.n == 0 || !arith_of_type(s.type, &o))
		return 1;
	if (s.is_ambiguous)
		return err_set(err, HARK_EINPUT, 0,
			       "'%s' has different values in different enums",
			       name);
	o = arith_integer(TYPE_BASIC_LONG, (arith_wide)(uint64_t)s.value);
	if (arith_convert(&o, s.type, &o) != NULL)
		return 1;
	*out = eval_of_operand(&o);
	out->is_enumerator = true;
	return 0;
}

int eval_named(const struct eval *e, const char *name, struct value *out,
	       struct hark_err *err)
{
	if (local(e, name, out) || field_of_this(e, name, out) ||
	    global(e, name, out))
		return 0;
	return enumerator(e, name, out, err);
}

/* -- Names that are alike -- */

static int offer_local(void *ctx, const struct var *v)
{
	near_offer(ctx, v->name, v->name, NEAR_SCOPE);
	return 0;
}

struct offer_fields {
	struct near *near;
	unsigned depth; /* of bases and members without a name */
};

// NOLINTNEXTLINE(misc-no-recursion): FIELD_NEST
static int offer_field(void *ctx, const struct type_field *f)
{
	struct offer_fields *o = ctx;

	if (f->name != NULL && !f->is_base)
		near_offer(o->near, f->name, f->name, NEAR_SCOPE);
	if ((f->name == NULL || f->is_base) && o->depth < FIELD_NEST) {
		o->depth++;
		type_each_field(f->type, offer_field, o);
		o->depth--;
	}
	return 0;
}

/* What is in scope: locals, and fields of "this". */
static void offer_scope(const struct eval *e, struct near *near)
{
	const struct unwind_frame *f = &e->u->frame[e->frame];
	struct offer_fields o = {.near = near};
	struct line_frame lines[LINES_DEPTH];
	struct type_facts facts;
	struct value v;
	uint64_t pc = f->pc - f->is_return;
	size_t n = 0;

	if (f->module == NULL)
		return;
	pc -= f->module->bias;
	if (lines_at(f->module->file, pc, lines, LINES_DEPTH, &n, NULL) < 0)
		return;
	for (unsigned i = 0; i < n; i++)
		vars_each_local(f->module->file, pc, i, offer_local, near,
				NULL);
	if (!local(e, "this", &v))
		return;
	type_look(v.type, &facts);
	type_each_field(facts.target, offer_field, &o);
}

int eval_no_name(const struct eval *e, const char *name, struct hark_err *err)
{
	char text[NEAR_BEST * (NEAR_NAME + 8)];
	struct near near;

	near_begin(&near, name);
	offer_scope(e, &near);
	space_offer(e->space, &near);
	near_text(&near, text, sizeof text);
	return err_set(err, HARK_ENOENT, 0, "there is no '%.200s'%s", name,
		       text);
}

struct members {
	char text[MEMBERS_LEN];
	size_t len;
	unsigned n, depth;
	struct near near;
};

// NOLINTNEXTLINE(misc-no-recursion): FIELD_NEST
static int list_member(void *ctx, const struct type_field *f)
{
	struct members *m = ctx;

	if (f->name == NULL || f->is_base) {
		if (m->depth < FIELD_NEST) {
			m->depth++;
			type_each_field(f->type, list_member, m);
			m->depth--;
		}
		return 0;
	}
	near_offer(&m->near, f->name, f->name, NEAR_SCOPE);
	if (m->n++ < MEMBERS_LISTED && m->len < sizeof m->text)
		m->len +=
		    (size_t)snprintf(m->text + m->len, sizeof m->text - m->len,
				     "%s%.40s", m->n > 1 ? ", " : "", f->name);
	return 0;
}

int eval_no_member(struct type t, const char *name, struct hark_err *err)
{
	struct members m = {.n = 0};
	char type[128], near[NEAR_BEST * (NEAR_NAME + 8)];

	type_text(t, type, sizeof type);
	near_begin(&m.near, name);
	type_each_field(t, list_member, &m);
	near_text(&m.near, near, sizeof near);
	if (m.n == 0)
		return err_set(err, HARK_ENOENT, 0,
			       "there is no field '%.200s' in '%s'", name,
			       type);
	return err_set(err, HARK_ENOENT, 0,
		       "there is no field '%.200s' in '%s'%s; it has %s%s",
		       name, type, near, m.text,
		       m.n > MEMBERS_LISTED ? ", ..." : "");
}

/* -- Types -- */

bool eval_type_named(const struct eval *e, const char *name, struct type *out)
{
	if (type_basic_named(name, out))
		return true;
	for (size_t i = 0; i < space_count(e->space); i++)
		if (type_named(space_get(e->space, i)->file, name, out, NULL) ==
		    0)
			return true;
	return false;
}
