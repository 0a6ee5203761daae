/* probe/types.c - types of the program, as scripts see them.
 *
 * A script knows integers of 1 to 8 bytes, pointers, arrays of one dimension,
 * and structs. All else (fractions, arrays of arrays, integers of 16 bytes)
 * becomes a struct without members: it has an address and a size, and any
 * other use of it is a mistake that is told.
 *
 * A struct that one module only declares may be complete in another. Answers
 * are kept, since a script is looked through several times, and each of its
 * words in parentheses may be a type. */
#include "probe/types_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARS = 15 };

/* -- Modules -- */

static bool has_debug(const struct module *m)
{
	return m->file != NULL && image_file_debug(m->file) != NULL;
}

int types_each_file(struct types *t,
		    int (*visit)(void *ctx, const struct module *m), void *ctx)
{
	size_t n = modules_count(t->modules);
	int rc = 0;

	for (int is_main = 1; is_main >= 0 && rc == 0; is_main--)
		for (size_t i = 0; i < n && rc == 0; i++) {
			const struct module *m = modules_get(t->modules, i);

			if (m->main == is_main && has_debug(m))
				rc = visit(ctx, m);
		}
	return rc;
}

/* -- By name -- */

struct search {
	const char *name;
	bool complete; /* a declaration will not do */
	struct type out;
};

static bool is_complete(struct type type)
{
	struct type_facts f;

	type_begin(type);
	type_look(type, &f);
	return f.size != 0 || (f.kind != TYPE_STRUCT && f.kind != TYPE_UNION &&
			       f.kind != TYPE_ENUM);
}

static int search_file(void *ctx, const struct module *m)
{
	struct search *s = ctx;
	char name[512];
	struct type type;

	if (type_named(m->file, s->name, &type, NULL) < 0) {
		/* In C++ they are the same. */
		if (strncmp(s->name, "struct ", 7) != 0)
			return 0;
		snprintf(name, sizeof name, "class %s", s->name + 7);
		if (type_named(m->file, name, &type, NULL) < 0)
			return 0;
	}
	if ((s->complete && !is_complete(type)) ||
	    (strchr(s->name, ' ') == NULL && type_needs_keyword(type)))
		return 0;
	s->out = type;
	return 1;
}

static bool find_type(struct types *t, const char *name, bool complete,
		      struct type *out)
{
	struct search s = {name, complete, {0}};

	if (types_each_file(t, search_file, &s) == 0)
		return false;
	*out = s.out;
	return true;
}

/* -- Conversion -- */

/* An address that stands for the type. */
static const void *keep(struct types *t, struct type type)
{
	struct types_kept *k;

	for (k = t->kept; k != NULL; k = k->next)
		if (k->type.unit == type.unit && k->type.die == type.die &&
		    k->type.dim == type.dim && k->type.stars == type.stars)
			return k;
	k = calloc(1, sizeof *k);
	if (k == NULL)
		return NULL;
	k->type = type;
	k->next = t->kept;
	t->kept = k;
	return k;
}

static uint32_t clipped(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static struct type completed(struct types *t, struct type type,
			     struct type_facts *f)
{
	char name[512];
	struct type other;

	if (f->size != 0 || f->name == NULL)
		return type;
	snprintf(name, sizeof name, "%s %s",
		 f->kind == TYPE_UNION ? "union" : "struct", f->name);
	if (!find_type(t, name, true, &other))
		return type;
	type_begin(other);
	type_look(other, f);
	return other;
}

static bool is_integer(const struct type_facts *f)
{
	return (f->kind == TYPE_SIGNED || f->kind == TYPE_UNSIGNED ||
		f->kind == TYPE_CHAR || f->kind == TYPE_BOOL ||
		f->kind == TYPE_ENUM) &&
	       (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

/* What is behind the pointers and the array. */
static int convert_base(struct types *t, struct type type, struct type_facts *f,
			struct script_type *out)
{
	if (f->kind == TYPE_STRUCT || f->kind == TYPE_UNION) {
		type = completed(t, type, f);
		out->kind = SCRIPT_STRUCT;
		out->from = keep(t, type);
		if (out->from == NULL)
			return -1;
	} else if (f->kind == TYPE_VOID || f->kind == TYPE_FUNCTION) {
		out->kind = SCRIPT_VOID;
		out->size = 1;
		return 0;
	} else if (is_integer(f)) {
		out->kind = SCRIPT_INT;
		out->is_signed = f->is_signed;
	} else {
		out->kind = SCRIPT_STRUCT;
	}
	out->size = clipped(f->size);
	return 0;
}

int types_convert(struct types *t, struct type type, struct script_type *out)
{
	struct script_type new = {0};
	struct type_facts f;

	type_begin(type);
	type_look(type, &f);
	if (f.kind == TYPE_ARRAY) {
		new.count = f.count > 0 ? clipped(f.count) : 1;
		type = f.target;
		type_look(type, &f);
	}
	while ((f.kind == TYPE_POINTER || f.kind == TYPE_REFERENCE) &&
	       new.stars < STARS) {
		new.stars++;
		type = f.target;
		type_look(type, &f);
	}
	if (convert_base(t, type, &f, &new) < 0)
		return -1;
	*out = new;
	return 0;
}

/* -- What scripts ask -- */

static struct types_name *new_name(struct types *t, const char *name)
{
	struct types_name *n = calloc(1, sizeof *n);

	if (n == NULL || (n->name = strdup(name)) == NULL) {
		free(n);
		return NULL;
	}
	n->next = t->names;
	t->names = n;
	return n;
}

static int named(void *ctx, const char *name, struct script_type *out)
{
	struct types *t = ctx;
	struct types_name *n = t->names;
	struct type type;

	while (n != NULL && strcmp(n->name, name) != 0)
		n = n->next;
	if (n == NULL) {
		n = new_name(t, name);
		if (n == NULL)
			return -1;
		n->found = (find_type(t, name, true, &type) ||
			    find_type(t, name, false, &type)) &&
			   types_convert(t, type, &n->type) == 0;
	}
	if (n->found)
		*out = n->type;
	return n->found ? 0 : -1;
}

static int member(void *ctx, const struct script_type *of, const char *name,
		  struct script_member *out)
{
	const struct types_kept *k = of->from;
	struct script_member m = {0};
	struct type_field f;

	if (k == NULL)
		return -1;
	type_begin(k->type);
	if (!type_field(k->type, name, &f) || f.offset > UINT32_MAX ||
	    f.bit_shift > 63 || f.bit_size > 64 - f.bit_shift ||
	    types_convert(ctx, f.type, &m.type) < 0)
		return -1;
	m.offset = (uint32_t)f.offset;
	m.bit_shift = (uint8_t)f.bit_shift;
	m.bit_size = (uint8_t)f.bit_size;
	*out = m;
	return 0;
}

/* -- The whole -- */

static void say_what_lacks(struct types *t)
{
	for (size_t i = 0; i < modules_count(t->modules); i++) {
		const struct module *m = modules_get(t->modules, i);

		if (!m->main || has_debug(m))
			continue;
		snprintf(t->lacks, sizeof t->lacks,
			 "%s has no debug information", m->name);
		t->face.lacks = t->lacks;
	}
}

int types_new(struct modules *modules, struct types **out, struct hark_err *err)
{
	struct types *t = calloc(1, sizeof *t);

	if (t == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory for types");
	t->modules = modules;
	t->face = (struct script_types){
	    .ctx = t,
	    .named = named,
	    .member = member,
	    .argument = types_argument,
	};
	say_what_lacks(t);
	*out = t;
	return 0;
}

void types_free(struct types *t)
{
	if (t == NULL)
		return;
	while (t->kept != NULL) {
		struct types_kept *next = t->kept->next;

		free(t->kept);
		t->kept = next;
	}
	while (t->names != NULL) {
		struct types_name *next = t->names->next;

		free(t->names->name);
		free(t->names);
		t->names = next;
	}
	types_forget_functions(t);
	free(t);
}

const struct script_types *types_for_script(struct types *t)
{
	return &t->face;
}
