/* image/types.c - what do the bytes of a variable mean?
 *
 * T1  Typedefs and qualifiers are followed CHAIN times at most.
 * T2  Members without a name nest NEST deep at most.
 * T3  Text is cut where its room ends, and a type inside a type inside a type
 *     is written TEXT_DEPTH deep. */
#include "image/types.h"

#include "image/types_priv.h"

#include <stdarg.h>
#include <stdio.h>

enum { CHAIN = 64, NEST = 16, TEXT_DEPTH = 16, DIMS = 32 };

/* ORDER dw_ate: the numbers are DWARF's. */
enum {
	ATE_ADDRESS = 1,
	ATE_BOOLEAN = 2,
	ATE_COMPLEX_FLOAT = 3,
	ATE_FLOAT = 4,
	ATE_SIGNED = 5,
	ATE_SIGNED_CHAR = 6,
	ATE_UNSIGNED = 7,
	ATE_UNSIGNED_CHAR = 8,
	ATE_UTF = 0x10,
};

enum { CC_PASS_BY_REFERENCE = 4 };

struct type type_of_entry(const struct dw_entry *e)
{
	return (struct type){.unit = e->u, .die = e->die};
}

struct type type_under(const struct dw_entry *e)
{
	struct dw_entry to, origin = *e;

	for (int i = 0; i < CHAIN; i++) {
		if (dw_entry_follow(&origin, AT_TYPE, &to))
			return type_of_entry(&to);
		if (!dw_entry_follow(&origin, AT_ABSTRACT_ORIGIN, &to) &&
		    !dw_entry_follow(&origin, AT_SPECIFICATION, &to))
			break;
		origin = to;
	}
	return (struct type){0};
}

bool type_entry(struct type t, struct dw_entry *out)
{
	return t.unit != NULL && dw_entry_at(t.unit, t.die, out);
}

static bool is_passed(uint16_t tag)
{
	return tag == TAG_TYPEDEF || tag == TAG_CONST_TYPE ||
	       tag == TAG_VOLATILE_TYPE || tag == TAG_RESTRICT_TYPE ||
	       tag == TAG_ATOMIC_TYPE;
}

/* What a struct that is only declared means: by signature, or by name. */
static void complete(struct dw_entry *e)
{
	struct dw_value v = dw_entry_get(e, AT_DECLARATION);
	const char *name;
	const struct dw_name *n;
	struct dw_names *names;
	struct dw_entry to;
	size_t left;

	if (dw_entry_follow(e, AT_SIGNATURE, &to)) {
		*e = to;
		return;
	}
	if (v.class == DWARF_NONE)
		return;
	name = dw_entry_name(e);
	names = name != NULL ? dw_names_of(e->u->d->file->dwarf, NULL) : NULL;
	n = names != NULL ? dw_names_find(names, name, &left) : NULL;
	for (; n != NULL && left > 0 && strcmp(n->name, name) == 0; left--, n++)
		if (n->tag == e->decl->tag && dw_entry_at(n->u, n->die, &to)) {
			*e = to;
			return;
		}
}

/* The entry behind typedefs and qualifiers; false: void, or damaged. */
static bool bare(struct type *t, struct dw_entry *e)
{
	for (int i = 0; i < CHAIN && t->stars == 0; i++) { /* T1 */
		if (!type_entry(*t, e))
			return false;
		if (!is_passed(e->decl->tag)) {
			complete(e);
			*t = (struct type){e->u, e->die, t->dim, 0};
			return true;
		}
		*t = type_under(e);
	}
	*t = (struct type){0};
	return false;
}

void type_begin(struct type t)
{
	if (t.unit != NULL)
		dw_begin(t.unit->d->file);
}

/* -- Facts -- */

static uint64_t number(const struct dw_entry *e, uint16_t name)
{
	struct dw_value v = dw_entry_get(e, name);

	return v.class == DWARF_CONSTANT ? v.u : 0;
}

static void look_base(const struct dw_entry *e, struct type_facts *out)
{
	switch (number(e, AT_ENCODING)) {
	case ATE_BOOLEAN:
		out->kind = TYPE_BOOL;
		break;
	case ATE_COMPLEX_FLOAT:
		out->kind = TYPE_COMPLEX;
		break;
	case ATE_FLOAT:
		out->kind = TYPE_FLOAT;
		break;
	case ATE_SIGNED:
		out->kind = TYPE_SIGNED;
		out->is_signed = true;
		break;
	case ATE_SIGNED_CHAR:
		out->kind = TYPE_CHAR;
		out->is_signed = true;
		break;
	case ATE_UNSIGNED_CHAR:
	case ATE_UTF:
		out->kind = TYPE_CHAR;
		break;
	case ATE_UNSIGNED:
	case ATE_ADDRESS:
		out->kind = TYPE_UNSIGNED;
		break;
	default:
		break;
	}
}

/* The subrange number dim of an array; *last: there is none behind it. */
static bool range_of(const struct dw_entry *array, uint32_t dim,
		     struct dw_entry *out, bool *last)
{
	struct dw_entry e, next;
	bool more = dw_entry_child(array, &e), found = false;

	*last = true;
	for (uint32_t i = 0; more && i < DIMS;) {
		if (e.decl->tag == TAG_SUBRANGE_TYPE) {
			if (i > dim) {
				*last = false;
				break;
			}
			if (i == dim) {
				*out = e;
				found = true;
			}
			i++;
		}
		more = dw_entry_next(&e, &next);
		e = next;
	}
	return found;
}

static uint64_t count_of(const struct dw_entry *range)
{
	struct dw_value v = dw_entry_get(range, AT_COUNT);

	if (v.class == DWARF_CONSTANT)
		return v.u;
	v = dw_entry_get(range, AT_UPPER_BOUND);
	return v.class == DWARF_CONSTANT && v.u < INT64_MAX ? v.u + 1 : 0;
}

static void look_array(const struct dw_entry *e, uint32_t dim,
		       struct type_facts *out)
{
	struct dw_entry range;
	uint64_t size = 1;
	bool last = true, is_first = true;

	out->kind = TYPE_ARRAY;
	out->is_vector = number(e, AT_GNU_VECTOR) != 0;
	for (uint32_t i = dim; i < DIMS; i++) {
		uint64_t n =
		    range_of(e, i, &range, &last) ? count_of(&range) : 0;

		if (is_first) {
			out->count = n;
			out->target =
			    last ? type_under(e)
				 : (struct type){e->u, e->die, i + 1, 0};
		}
		is_first = false;
		if (n != 0 && size > UINT64_MAX / n)
			n = 0;
		size *= n;
		if (last)
			break;
	}
	out->size = size;
}

static const struct {
	uint16_t tag;
	uint8_t kind;
} kinds[] = {
    {TAG_POINTER_TYPE, TYPE_POINTER},
    {TAG_REFERENCE_TYPE, TYPE_REFERENCE},
    {TAG_RVALUE_REFERENCE_TYPE, TYPE_REFERENCE},
    {TAG_STRUCTURE_TYPE, TYPE_STRUCT},
    {TAG_CLASS_TYPE, TYPE_STRUCT},
    {TAG_UNION_TYPE, TYPE_UNION},
    {TAG_ENUMERATION_TYPE, TYPE_ENUM},
    {TAG_SUBROUTINE_TYPE, TYPE_FUNCTION},
    {TAG_SUBPROGRAM, TYPE_FUNCTION},
    {TAG_ARRAY_TYPE, TYPE_ARRAY},
};

static enum type_kind kind_of(uint16_t tag)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (kinds[i].tag == tag)
			return kinds[i].kind;
	return TYPE_OTHER;
}

/* All but the size of an array, which needs the size of its elements. */
static bool look(struct type *t, struct type_facts *out)
{
	struct dw_entry e;

	*out = (struct type_facts){.kind = TYPE_VOID};
	if (!bare(t, &e)) {
		if (t->unit != NULL)
			out->kind = TYPE_OTHER;
		return false;
	}
	out->kind = kind_of(e.decl->tag);
	out->name = dw_entry_name(&e);
	out->size = number(&e, AT_BYTE_SIZE);
	out->is_class = e.decl->tag == TAG_CLASS_TYPE;
	out->is_incomplete = number(&e, AT_DECLARATION) != 0;
	out->by_reference =
	    number(&e, AT_CALLING_CONVENTION) == CC_PASS_BY_REFERENCE;
	if (e.decl->tag == TAG_UNSPECIFIED_TYPE)
		out->kind = TYPE_VOID;
	if (e.decl->tag == TAG_BASE_TYPE)
		look_base(&e, out);
	else if (out->kind == TYPE_ARRAY)
		look_array(&e, t->dim, out);
	else
		out->target = type_under(&e);
	if ((out->kind == TYPE_POINTER || out->kind == TYPE_REFERENCE) &&
	    out->size == 0)
		out->size = 8;
	return true;
}

/* Elements of all dimensions multiply to out->size at first. */
static void size_array(struct type t, struct type_facts *out)
{
	struct type_facts f = *out;
	uint64_t n = 1;

	for (int i = 0; i < DIMS && f.kind == TYPE_ARRAY; i++) {
		if (f.count != 0 && n > UINT64_MAX / f.count)
			f.count = 0;
		n *= f.count;
		t = f.target;
		look(&t, &f);
	}
	if (f.size != 0 && n > UINT64_MAX / f.size)
		n = 0;
	out->size = f.kind == TYPE_ARRAY ? 0 : n * f.size;
}

void type_look(struct type t, struct type_facts *out)
{
	struct type_facts base;

	if (t.stars > 0) {
		*out = (struct type_facts){
		    .kind = TYPE_POINTER, .size = 8, .target = t};
		out->target.stars--;
		return;
	}
	if (type_look_basic(t, out) || !look(&t, out))
		return;
	if (out->kind == TYPE_ARRAY)
		size_array(t, out);
	if (out->kind == TYPE_ENUM) {
		struct type under = out->target;

		if (look(&under, &base))
			out->is_signed = base.is_signed;
	}
}

/* -- Text -- */

struct text {
	char *begin, *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *o,
						      const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(o->at, o->left, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= o->left)
		n = o->left > 0 ? (int)o->left - 1 : 0;
	o->at += n;
	o->left -= (size_t)n;
}

static bool ends_in_star(const struct text *o)
{
	return o->at > o->begin && (o->at[-1] == '*' || o->at[-1] == '&');
}

static const char *keyword(uint16_t tag)
{
	switch (tag) {
	case TAG_STRUCTURE_TYPE:
		return "struct ";
	case TAG_CLASS_TYPE:
		return "class ";
	case TAG_UNION_TYPE:
		return "union ";
	case TAG_ENUMERATION_TYPE:
		return "enum ";
	case TAG_CONST_TYPE:
		return "const ";
	case TAG_VOLATILE_TYPE:
		return "volatile ";
	case TAG_ATOMIC_TYPE:
		return "_Atomic ";
	default:
		return "";
	}
}

static void put_dims(struct text *o, const struct dw_entry *array, uint32_t dim)
{
	struct dw_entry range;
	bool last = false;

	for (uint32_t i = dim; !last && i < DIMS; i++) {
		if (!range_of(array, i, &range, &last) || count_of(&range) == 0)
			put(o, "[]");
		else
			put(o, "[%lu]", (unsigned long)count_of(&range));
	}
}

// NOLINTNEXTLINE(misc-no-recursion): T3
static void put_type(struct text *o, struct type t, int depth)
{
	struct dw_entry e, under;
	const char *name;
	uint16_t tag;

	if (t.unit == NULL || depth == TEXT_DEPTH || !type_entry(t, &e)) {
		put(o, "%s", t.unit != NULL ? "..." : type_basic_name(t));
		return;
	}
	tag = e.decl->tag;
	name = dw_entry_name(&e);
	if (tag == TAG_POINTER_TYPE || tag == TAG_REFERENCE_TYPE ||
	    tag == TAG_RVALUE_REFERENCE_TYPE) {
		bool is_bare = type_entry(type_under(&e), &under) &&
			       under.decl->tag == TAG_SUBROUTINE_TYPE;

		put_type(o, type_under(&e), depth + 1);
		if (is_bare) /* written "int ()", read as a pointer to it */
			return;
		put(o, "%s%s", ends_in_star(o) ? "" : " ",
		    tag == TAG_POINTER_TYPE	? "*"
		    : tag == TAG_REFERENCE_TYPE ? "&"
						: "&&");
	} else if (tag == TAG_ARRAY_TYPE) {
		put_type(o, type_under(&e), depth + 1);
		put(o, " ");
		put_dims(o, &e, t.dim);
	} else if (tag == TAG_SUBROUTINE_TYPE) {
		put_type(o, type_under(&e), depth + 1);
		put(o, " (*)()");
	} else if (name != NULL) {
		put(o, "%s%s", keyword(tag), name);
	} else if (is_passed(tag)) {
		put(o, "%s", keyword(tag));
		put_type(o, type_under(&e), depth + 1);
	} else {
		put(o, "%s{...}", keyword(tag));
	}
}

void type_text(struct type t, char *out, size_t size)
{
	struct text o = {out, out, size};

	if (size > 0)
		out[0] = '\0';
	put_type(&o, t, 0);
	for (uint32_t i = 0; i < t.stars && i < CHAIN; i++)
		put(&o, "%s*", ends_in_star(&o) ? "" : " ");
}

/* -- Fields -- */

enum { OP_PLUS_UCONST = 0x23 };

/* A number, or in DWARF 2 an expression that adds one. */
static uint64_t member_offset(const struct dw_entry *e)
{
	struct dw_value v = dw_entry_get(e, AT_DATA_MEMBER_LOCATION);
	struct cursor c;

	if (v.class == DWARF_CONSTANT)
		return v.u;
	if (v.class != DWARF_BLOCK)
		return 0;
	c = cursor_of(v.text, v.len);
	return cursor_u8(&c) == OP_PLUS_UCONST ? cursor_uleb(&c) : 0;
}

static void set_bits(const struct dw_entry *e, struct type_field *f)
{
	struct dw_value at = dw_entry_get(e, AT_DATA_BIT_OFFSET);
	struct dw_value old = dw_entry_get(e, AT_BIT_OFFSET);
	uint64_t size = number(e, AT_BIT_SIZE), unit;
	struct type_facts facts;

	if (size == 0 || size > 64)
		return;
	f->bit_size = (uint32_t)size;
	if (at.class == DWARF_CONSTANT) {
		f->offset += at.u / 8;
		f->bit_shift = at.u % 8;
	} else if (old.class == DWARF_CONSTANT) {
		/* From the highest bit of its storage, as big ends count. */
		unit = number(e, AT_BYTE_SIZE);
		type_look(f->type, &facts);
		unit = 8 * (unit != 0 ? unit : facts.size);
		at.u = unit - old.u - size;
		if (at.u < 64) {
			f->offset += at.u / 8;
			f->bit_shift = at.u % 8;
		}
	}
}

static void field_of(const struct dw_entry *e, struct type_field *out)
{
	*out = (struct type_field){.name = dw_entry_name(e),
				   .type = type_under(e),
				   .offset = member_offset(e),
				   .is_base = e->decl->tag == TAG_INHERITANCE};
	set_bits(e, out);
}

/* Static members are variables. */
static bool is_field(const struct dw_entry *e)
{
	struct dw_value v;

	if (e->decl->tag == TAG_INHERITANCE)
		return true;
	if (e->decl->tag != TAG_MEMBER)
		return false;
	v = dw_entry_get(e, AT_EXTERNAL);
	if (v.class == DWARF_NONE)
		v = dw_entry_get(e, AT_DECLARATION);
	return v.class == DWARF_NONE;
}

int type_each_field(struct type t,
		    int (*visit)(void *ctx, const struct type_field *f),
		    void *ctx)
{
	struct dw_entry e, next;
	struct type_field f;
	bool more = bare(&t, &e) && dw_entry_child(&e, &next);
	int rc = 0;

	while (more && rc == 0) {
		e = next;
		if (is_field(&e)) {
			field_of(&e, &f);
			rc = visit(ctx, &f);
		}
		more = dw_entry_next(&e, &next);
	}
	return rc;
}

struct wanted {
	const char *name;
	struct type_field *out;
	uint64_t offset;
	int depth;
};

// NOLINTNEXTLINE(misc-no-recursion): T2
static int is_it(void *ctx, const struct type_field *f)
{
	struct wanted *w = ctx;
	struct wanted inner = *w;

	if (f->name != NULL && !f->is_base && strcmp(f->name, w->name) == 0) {
		*w->out = *f;
		w->out->offset += w->offset;
		return 1;
	}
	if ((f->name != NULL && !f->is_base) || w->depth == NEST)
		return 0;
	inner.offset += f->offset;
	inner.depth++;
	return type_each_field(f->type, is_it, &inner);
}

bool type_field(struct type t, const char *name, struct type_field *out)
{
	struct wanted w = {.name = name, .out = out};

	return type_each_field(t, is_it, &w) == 1;
}

/* -- What else is in a class -- */

struct nested {
	const char *name;
	struct type *out;
	int depth;
};

static bool has_nested(struct type t, struct nested *n);

// NOLINTNEXTLINE(misc-no-recursion): T2
static int look_in_base(void *ctx, const struct type_field *f)
{
	struct nested *n = ctx;
	bool found = false;

	if (f->is_base && n->depth < NEST) {
		n->depth++;
		found = has_nested(f->type, n);
		n->depth--;
	}
	return found;
}

// NOLINTNEXTLINE(misc-no-recursion): T2
static bool has_nested(struct type t, struct nested *n)
{
	struct dw_entry e, next;
	bool more = bare(&t, &e) && dw_entry_child(&e, &next);
	const char *has;

	while (more) {
		e = next;
		has = e.decl->tag == TAG_TYPEDEF ? dw_entry_name(&e) : NULL;
		if (has != NULL && strcmp(has, n->name) == 0) {
			*n->out = type_of_entry(&e);
			return true;
		}
		more = dw_entry_next(&e, &next);
	}
	return type_each_field(t, look_in_base, n) == 1;
}

bool type_nested(struct type t, const char *name, struct type *out)
{
	struct nested n = {.name = name, .out = out};

	return has_nested(t, &n);
}

bool type_argument(struct type t, struct type *out)
{
	struct dw_entry e, next;
	bool more = bare(&t, &e) && dw_entry_child(&e, &next);

	while (more) {
		e = next;
		if (e.decl->tag == TAG_TEMPLATE_TYPE) {
			*out = type_under(&e);
			return true;
		}
		more = dw_entry_next(&e, &next);
	}
	return false;
}

/* -- Enums -- */

static int64_t value_of(const struct dw_entry *e)
{
	return (int64_t)dw_entry_get(e, AT_CONST_VALUE).u;
}

/* Values are written in as few bytes as they need, so that the sign of some
 * is lost: all that the enum's own bytes keep is compared. */
static uint64_t mask_of(uint64_t size)
{
	return size == 0 || size >= 8 ? UINT64_MAX
				      : ((uint64_t)1 << 8 * size) - 1;
}

const char *type_enumerator(struct type t, int64_t value)
{
	struct dw_entry e, next;
	bool more = bare(&t, &e) && e.decl->tag == TAG_ENUMERATION_TYPE;
	uint64_t mask = more ? mask_of(number(&e, AT_BYTE_SIZE)) : 0;

	more = more && dw_entry_child(&e, &next);
	while (more) {
		e = next;
		if (e.decl->tag == TAG_ENUMERATOR &&
		    (((uint64_t)value_of(&e) ^ (uint64_t)value) & mask) == 0)
			return dw_entry_name(&e);
		more = dw_entry_next(&e, &next);
	}
	return NULL;
}

bool type_enum_value(struct type t, const char *name, int64_t *out)
{
	struct dw_entry e, next;
	bool more = bare(&t, &e) && e.decl->tag == TAG_ENUMERATION_TYPE &&
		    dw_entry_child(&e, &next);

	while (more) {
		const char *has;

		e = next;
		has = dw_entry_name(&e);
		if (has != NULL && strcmp(has, name) == 0) {
			*out = value_of(&e);
			return true;
		}
		more = dw_entry_next(&e, &next);
	}
	return false;
}

void type_each_enumerator_name(struct image_file *f,
			       void (*visit)(void *ctx, const char *name),
			       void *ctx)
{
	struct dw_names *names;
	struct dw *d;

	dw_begin(f);
	d = dw_of(f, NULL);
	names = d != NULL ? dw_names_of(d, NULL) : NULL;
	for (size_t i = 0; names != NULL && i < names->all.n; i++)
		if (names->all.at[i].tag == TAG_ENUMERATOR)
			visit(ctx, names->all.at[i].name);
}

int type_each_enumerator(struct image_file *f, const char *name, uint64_t pc,
			 int (*visit)(void *ctx, struct type t, int64_t value),
			 void *ctx, struct hark_err *err)
{
	struct dw_names *names;
	const struct dw_name *n;
	const struct dw_unit *unit = NULL;
	struct dw *d;
	int64_t value;
	size_t left = 0;
	int rc = 0;

	dw_begin(f);
	d = dw_of(f, err);
	names = d != NULL ? dw_names_of(d, err) : NULL;
	if (names == NULL)
		return -1;
	if (pc != 0 && dw_unit_at(d, pc) != NULL)
		unit = dw_full(dw_unit_at(d, pc));
	n = dw_names_find(names, name, &left);
	for (; n != NULL && left > 0 && rc == 0 && strcmp(n->name, name) == 0;
	     left--, n++) {
		struct type t = {.unit = n->u, .die = n->die};

		if (n->tag == TAG_ENUMERATOR && (pc == 0 || n->u == unit) &&
		    type_enum_value(t, name, &value))
			rc = visit(ctx, t, value);
	}
	return rc;
}

/* -- Functions -- */

int type_each_parameter(struct type t,
			int (*visit)(void *ctx, struct type parameter),
			void *ctx)
{
	struct dw_entry e, next;
	bool more = bare(&t, &e) && dw_entry_child(&e, &next);
	int rc = 0;

	while (more && rc == 0) {
		e = next;
		if (e.decl->tag == TAG_FORMAL_PARAMETER)
			rc = visit(ctx, type_under(&e));
		more = dw_entry_next(&e, &next);
	}
	return rc;
}

enum { DEFAULTED_IN_CLASS = 1 };

/* A constructor: is it given one of the same class, by reference? */
static bool copies(const struct dw_entry *constructor, uint64_t class)
{
	struct dw_entry e, next;
	bool more = dw_entry_child(constructor, &next);
	struct type_facts f = {0};
	struct type t;
	unsigned n = 0;

	while (more) {
		e = next;
		if (e.decl->tag == TAG_FORMAL_PARAMETER && n++ == 1) {
			t = type_under(&e);
			look(&t, &f);
		}
		more = dw_entry_next(&e, &next);
	}
	return n == 2 && f.kind == TYPE_REFERENCE && bare(&f.target, &e) &&
	       e.die == class;
}

bool type_has_own_copy(struct type t)
{
	struct dw_entry class, e, next;
	bool more = bare(&t, &class) && dw_entry_child(&class, &next);
	const char *name = more ? dw_entry_name(&class) : NULL, *has;

	while (more) {
		e = next;
		has = e.decl->tag == TAG_SUBPROGRAM ? dw_entry_name(&e) : NULL;
		if (has != NULL && number(&e, AT_ARTIFICIAL) == 0 &&
		    number(&e, AT_DELETED) == 0 &&
		    number(&e, AT_DEFAULTED) != DEFAULTED_IN_CLASS &&
		    (has[0] == '~' || (name != NULL && strcmp(has, name) == 0 &&
				       copies(&e, class.die))))
			return true;
		more = dw_entry_next(&e, &next);
	}
	return false;
}

/* -- By name -- */

static const char *without_keyword(const char *name, uint16_t *tag)
{
	static const uint16_t tags[] = {TAG_STRUCTURE_TYPE, TAG_CLASS_TYPE,
					TAG_UNION_TYPE, TAG_ENUMERATION_TYPE};

	*tag = 0;
	for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
		const char *word = keyword(tags[i]);

		if (strncmp(name, word, strlen(word)) == 0) {
			*tag = tags[i];
			return name + strlen(word);
		}
	}
	return name;
}

/* What C has a name space of its own for. */
static bool is_tagged(uint16_t tag)
{
	return tag == TAG_STRUCTURE_TYPE || tag == TAG_CLASS_TYPE ||
	       tag == TAG_UNION_TYPE || tag == TAG_ENUMERATION_TYPE;
}

bool type_is_of_c(struct type t)
{
	/* C89, C, C99, C11, C17, and what is not said */
	static const uint8_t languages[] = {0x01, 0x02, 0x0c, 0x1d, 0x2c, 0};
	struct dw_entry unit;
	struct dw_value v;
	uint64_t language;

	if (t.unit == NULL || !dw_entry_at(t.unit, t.unit->die, &unit))
		return false;
	v = dw_entry_get(&unit, AT_LANGUAGE);
	language = v.class == DWARF_CONSTANT ? v.u : 0;
	for (size_t i = 0; i < sizeof languages; i++)
		if (languages[i] == language)
			return true;
	return false;
}

bool type_needs_keyword(struct type t)
{
	struct dw_entry e;

	return t.unit != NULL && t.stars == 0 &&
	       dw_entry_at(t.unit, t.die, &e) && is_tagged(e.decl->tag) &&
	       type_is_of_c(t);
}

int type_named(struct image_file *f, const char *name, struct type *out,
	       struct hark_err *err)
{
	const struct dw_name *n, *best = NULL;
	struct dw_names *names;
	struct dw *d;
	uint16_t tag;
	size_t left = 0;

	dw_begin(f);
	d = dw_of(f, err);
	names = d != NULL ? dw_names_of(d, err) : NULL;
	if (names == NULL)
		return -1;
	name = without_keyword(name, &tag);
	n = dw_names_find(names, name, &left);
	for (; n != NULL && left > 0 && strcmp(n->name, name) == 0; left--, n++)
		if (n->tag != TAG_VARIABLE && n->tag != TAG_MEMBER &&
		    n->tag != TAG_ENUMERATOR && (tag == 0 || n->tag == tag)) {
			if (best == NULL || !is_tagged(n->tag))
				best = n;
			if (tag != 0 || !is_tagged(n->tag))
				break;
		}
	if (best != NULL) {
		*out = (struct type){best->u, best->die, 0, 0};
		return 0;
	}
	return err_set(err, HARK_ENOENT, 0, "%s: no type '%s'", f->name, name);
}
