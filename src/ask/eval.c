/* ask/eval.c - what does a person mean by WHAT?
 *
 *	what    = sum [':' number | '@' number]
 *	sum     = unary {('+' | '-') unary}
 *	unary   = ('*' | '&' | '-') unary | '(' type ')' unary | postfix
 *	postfix = primary {'.' name | '->' name | '[' sum ']'}
 *	primary = number | name | '$' register | '(' sum ')'
 *
 * C1  Nesting is bounded by DEPTH, the text by its length: parsing ends.
 * C2  Nothing is read but what an answer needs: `&p->next` reads p. */
#include "ask/eval.h"

#include "image/lines.h"
#include "image/vars.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, NAME_MAX_LEN = 512, WORD = 8, CALL_DEPTH = 64 };

struct parse {
	const struct eval *e;
	const char *text, *at;
	unsigned depth;
	struct hark_err *err;
};

/* -- Values -- */

static struct expr_frame frame_of(const struct eval *e, const struct value *v,
				  struct unwind_context *room)
{
	if (v->module != NULL)
		return unwind_global(e->u, v->frame, v->module, room);
	return unwind_expr(e->u, v->frame, room);
}

size_t eval_read(const struct eval *e, const struct value *v, uint64_t offset,
		 uint8_t *out, uint8_t *known, size_t len)
{
	const struct ask_source *src = space_source(e->space);
	struct unwind_context room;
	struct expr_frame f;
	uint64_t addr;

	if (eval_address(v, &addr)) {
		memset(known, 0, len);
		return src->read(src->ctx, addr + offset, len, out, known);
	}
	f = frame_of(e, v, &room);
	return expr_read(&v->place, &f, v->offset + offset, out, known, len);
}

bool eval_address(const struct value *v, uint64_t *out)
{
	if (v->place.n != 1 || v->place.piece[0].kind != EXPR_MEMORY ||
	    v->place.piece[0].bits != 0)
		return false;
	*out = v->place.piece[0].u + v->offset;
	return true;
}

struct value eval_at(struct type type, uint64_t addr, uint64_t len)
{
	struct value v = {.is_typed = true, .type = type, .len = len};
	struct type_facts facts;

	v.place.n = 1;
	v.place.piece[0] = (struct expr_piece){.kind = EXPR_MEMORY, .u = addr};
	if (len == 0) {
		type_look(type, &facts);
		v.len = facts.size;
	}
	return v;
}

static struct value bytes_at(uint64_t addr, uint64_t len)
{
	struct value v = eval_at((struct type){0}, addr, len);

	v.is_typed = false;
	v.len = len;
	return v;
}

static struct value number_of(uint64_t u)
{
	struct value v = {.is_number = true, .len = WORD};

	v.place.n = 1;
	v.place.piece[0] = (struct expr_piece){.kind = EXPR_VALUE, .u = u};
	return v;
}

static struct value pointer_to(struct type type, uint64_t addr)
{
	struct value v = number_of(addr);

	v.is_number = false;
	v.is_typed = true;
	v.type = type;
	v.type.stars++;
	return v;
}

static bool is_scalar(enum type_kind k)
{
	return k == TYPE_SIGNED || k == TYPE_UNSIGNED || k == TYPE_CHAR ||
	       k == TYPE_BOOL || k == TYPE_POINTER || k == TYPE_REFERENCE ||
	       k == TYPE_ENUM;
}

static int64_t extend(uint64_t v, unsigned bits, bool is_signed)
{
	if (bits == 0 || bits >= 64)
		return (int64_t)v;
	v <<= 64 - bits;
	return is_signed ? (int64_t)v >> (64 - bits)
			 : (int64_t)(v >> (64 - bits));
}

int eval_number(const struct eval *e, const struct value *v, int64_t *out)
{
	struct type_facts facts = {.kind = TYPE_UNSIGNED};
	uint8_t bytes[16] = {0}, known[16];
	unsigned bits = v->bit_size;
	size_t len = v->len < WORD ? v->len : WORD;
	uint64_t word;

	if (v->is_typed)
		type_look(v->type, &facts);
	if (!is_scalar(facts.kind) || len == 0 || v->repeated != 0)
		return -1;
	if (bits != 0)
		len = (v->bit_shift + bits + 7) / 8;
	if (len > 9 || eval_read(e, v, 0, bytes, known, len) != len)
		return -1;
	memcpy(&word, bytes, sizeof word);
	if (bits == 0) {
		*out = extend(word, 8 * (unsigned)len, facts.is_signed);
		return 0;
	}
	word >>= v->bit_shift;
	if (len == 9 && v->bit_shift != 0)
		word |= (uint64_t)bytes[8] << (64 - v->bit_shift);
	*out = extend(word, bits, facts.is_signed);
	return 0;
}

/* -- Errors -- */

static int fail(struct parse *p, const char *what)
{
	return err_set(p->err, HARK_EINPUT, 0, "'%.100s': %s at '%.40s'",
		       p->text, what, p->at[0] != '\0' ? p->at : "its end");
}

static int refuse(struct parse *p, const char *what, size_t len,
		  const char *why)
{
	return err_set(p->err, HARK_EINPUT, 0, "'%.*s' %s",
		       len < 200 ? (int)len : 200, what, why);
}

static void skip_space(struct parse *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static bool take(struct parse *p, const char *token)
{
	size_t len = strlen(token);

	skip_space(p);
	if (strncmp(p->at, token, len) != 0)
		return false;
	p->at += len;
	return true;
}

/* -- Names -- */

static bool is_first(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

/* "a", "a::b", "a.0" (a local symbol, by a compiler); its length. */
static size_t name_len(const char *at)
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

static int take_name(struct parse *p, char out[NAME_MAX_LEN])
{
	size_t n;

	skip_space(p);
	n = name_len(p->at);
	if (n == 0 || n >= NAME_MAX_LEN)
		return fail(p, "a name is missing");
	memcpy(out, p->at, n);
	out[n] = '\0';
	p->at += n;
	return 0;
}

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

void eval_var(const struct eval *e, const struct var *v, unsigned frame,
	      const struct space_module *m, struct value *out)
{
	struct unwind_context room;
	struct type_facts facts;
	struct expr_frame f;

	*out = (struct value){
	    .is_typed = true, .type = v->type, .frame = frame, .module = m};
	f = frame_of(e, out, &room);
	vars_place(v, &f, &out->place);
	type_look(v->type, &facts);
	out->len = facts.size;
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

/* In the program before its libraries. */
static bool global_of(const struct eval *e, const char *name,
		      enum vars_which which, struct value *out)
{
	struct var v;

	for (size_t i = 0; i < space_count(e->space); i++) {
		const struct space_module *m = space_get(e->space, i);

		if (vars_global_in(m->file, name, which, 0, &v, NULL) < 0)
			continue;
		eval_var(e, &v, e->frame, m, out);
		return true;
	}
	return false;
}

/* Of the same source file, then what all can see, then any. */
static bool global(const struct eval *e, const char *name, struct value *out)
{
	const struct unwind_frame *f = &e->u->frame[e->frame];
	struct var v;

	if (f->module != NULL &&
	    vars_global_in(f->module->file, name, VARS_OF_UNIT,
			   f->pc - f->is_return - f->module->bias, &v,
			   NULL) == 0) {
		eval_var(e, &v, e->frame, f->module, out);
		return true;
	}
	return global_of(e, name, VARS_EXTERNAL, out) ||
	       global_of(e, name, VARS_ALL, out);
}

/* -- Steps -- */

/* An array is a pointer to its first element. */
static bool first_element(struct value *v)
{
	struct type_facts facts, of;

	if (!v->is_typed || v->bit_size != 0)
		return false;
	type_look(v->type, &facts);
	if (facts.kind != TYPE_ARRAY)
		return false;
	type_look(facts.target, &of);
	v->type = facts.target;
	v->len = of.size;
	return true;
}

static int deref(struct parse *p, struct value *v, const char *from)
{
	struct type_facts facts;
	int64_t addr;

	if (first_element(v))
		return 0;
	if (eval_number(p->e, v, &addr) < 0)
		return refuse(p, from, (size_t)(p->at - from),
			      "is no pointer, or is not known at this moment");
	if (!v->is_typed) {
		*v = bytes_at((uint64_t)addr, WORD);
		return 0;
	}
	type_look(v->type, &facts);
	if (facts.kind != TYPE_POINTER && facts.kind != TYPE_REFERENCE) {
		*v = bytes_at((uint64_t)addr, WORD);
		return 0;
	}
	*v = eval_at(facts.target, (uint64_t)addr, 0);
	type_look(facts.target, &facts);
	v->is_code = facts.kind == TYPE_FUNCTION;
	if (facts.kind == TYPE_VOID || facts.kind == TYPE_FUNCTION) {
		v->is_typed = false;
		v->len = WORD;
	}
	return 0;
}

/* References are what they refer to. */
static int through_reference(struct parse *p, struct value *v, const char *from)
{
	struct type_facts facts;

	if (!v->is_typed)
		return 0;
	type_look(v->type, &facts);
	return facts.kind == TYPE_REFERENCE ? deref(p, v, from) : 0;
}

static void set_field(struct value *v, const struct type_field *f)
{
	struct type_facts facts;

	v->type = f->type;
	v->offset += f->offset;
	v->bit_size = f->bit_size;
	v->bit_shift = f->bit_shift;
	type_look(f->type, &facts);
	v->len = facts.size;
}

static int member(struct parse *p, struct value *v, const char *from)
{
	char name[NAME_MAX_LEN], text[128];
	struct type_facts facts;
	struct type_field f;

	if (take_name(p, name) < 0)
		return -1;
	if (!v->is_typed)
		return refuse(p, from, (size_t)(p->at - from),
			      "has no known type, so no fields");
	type_look(v->type, &facts);
	if (facts.kind == TYPE_POINTER && deref(p, v, from) < 0)
		return -1;
	if (v->is_typed && type_field(v->type, name, &f)) {
		set_field(v, &f);
		return through_reference(p, v, from);
	}
	type_text(v->type, text, sizeof text);
	return err_set(p->err, HARK_ENOENT, 0, "there is no field '%s' in '%s'",
		       name, text);
}

static int element(struct parse *p, struct value *v, int64_t i,
		   const char *from)
{
	struct type_facts facts, of;

	if (!v->is_typed || v->bit_size != 0)
		return refuse(p, from, (size_t)(p->at - from),
			      "is no array and no pointer");
	type_look(v->type, &facts);
	if (facts.kind == TYPE_POINTER) {
		if (deref(p, v, from) < 0)
			return -1;
		v->offset += (uint64_t)i * (v->is_typed ? v->len : 1);
		return 0;
	}
	if (facts.kind != TYPE_ARRAY)
		return refuse(p, from, (size_t)(p->at - from),
			      "is no array and no pointer");
	type_look(facts.target, &of);
	v->type = facts.target;
	v->len = of.size;
	v->offset += (uint64_t)i * of.size;
	return 0;
}

static int address_of(struct parse *p, struct value *v, const char *from)
{
	uint64_t addr;

	if (!eval_address(v, &addr) || v->bit_size != 0)
		return refuse(p, from, (size_t)(p->at - from),
			      "is not in memory, so it has no address");
	*v = v->is_typed ? pointer_to(v->type, addr) : number_of(addr);
	v->is_address = !v->is_typed;
	return 0;
}

static int add(struct parse *p, struct value *v, int64_t by, const char *from)
{
	struct type_facts facts = {.kind = TYPE_OTHER}, of;
	uint64_t addr, step = 1;
	int64_t n;

	if (v->is_typed)
		type_look(v->type, &facts);
	if (v->is_typed && !is_scalar(facts.kind) && eval_address(v, &addr)) {
		*v = bytes_at(addr + (uint64_t)by, WORD);
		return 0;
	}
	if (!v->is_typed && !v->is_number && eval_address(v, &addr)) {
		*v = bytes_at(addr + (uint64_t)by, WORD);
		return 0;
	}
	if (eval_number(p->e, v, &n) < 0)
		return refuse(p, from, (size_t)(p->at - from),
			      "is no number, or is not known at this moment");
	if (facts.kind == TYPE_POINTER) {
		type_look(facts.target, &of);
		step = of.size != 0 ? of.size : 1;
		*v =
		    pointer_to(facts.target, (uint64_t)n + (uint64_t)by * step);
		return 0;
	}
	*v = number_of((uint64_t)n + (uint64_t)by);
	return 0;
}

/* -- Primaries -- */

static int take_number(struct parse *p, uint64_t *out)
{
	char *end;

	skip_space(p);
	if (!isdigit((unsigned char)*p->at))
		return fail(p, "a number is missing");
	errno = 0;
	*out = strtoull(p->at, &end, 0);
	if (errno != 0 || is_first(*end) || isdigit((unsigned char)*end))
		return fail(p, "no number that fits");
	p->at = end;
	return 0;
}

static int register_value(struct parse *p, struct value *out)
{
	char name[NAME_MAX_LEN];
	uint8_t bytes[16];
	uint64_t v;
	size_t len;

	if (take_name(p, name) < 0)
		return -1;
	if (unwind_register(p->e->u, p->e->frame, name, bytes, &len) < 0)
		return err_set(p->err, HARK_ENOENT, 0,
			       "register '%s' is not known there", name);
	memcpy(&v, bytes, sizeof v);
	*out = number_of(v);
	out->is_number = false;
	return 0;
}

static bool field_of_this(const struct eval *e, const char *name,
			  struct value *out)
{
	struct parse p = {.e = e, .text = name, .at = name};
	struct type_field f;
	struct value v = {0};

	if (!local(e, "this", &v) || deref(&p, &v, name) < 0 || !v.is_typed ||
	    !type_field(v.type, name, &f))
		return false;
	set_field(&v, &f);
	*out = v;
	return true;
}

static int named(struct parse *p, struct value *out)
{
	const char *from = p->at;
	struct space_symbol sym;
	char name[NAME_MAX_LEN];

	if (take_name(p, name) < 0)
		return -1;
	if (local(p->e, name, out) || field_of_this(p->e, name, out) ||
	    global(p->e, name, out))
		return through_reference(p, out, from);
	if (space_symbol(p->e->space, name, &sym, p->err) < 0)
		return -1;
	*out = bytes_at(sym.addr, sym.size != 0 ? sym.size : WORD);
	out->is_code = sym.is_code;
	return 0;
}

static int sum(struct parse *p, struct value *out);

// NOLINTNEXTLINE(misc-no-recursion): C1
static int primary(struct parse *p, struct value *out)
{
	uint64_t n;

	skip_space(p);
	if (isdigit((unsigned char)*p->at)) {
		if (take_number(p, &n) < 0)
			return -1;
		*out = number_of(n);
		return 0;
	}
	if (take(p, "$"))
		return register_value(p, out);
	if (!take(p, "("))
		return named(p, out);
	if (sum(p, out) < 0)
		return -1;
	return take(p, ")") ? 0 : fail(p, "a ')' is missing");
}

// NOLINTNEXTLINE(misc-no-recursion): C1
static int subscript(struct parse *p, struct value *v, const char *from)
{
	struct value index = {0};
	int64_t i;

	if (sum(p, &index) < 0)
		return -1;
	if (!take(p, "]"))
		return fail(p, "a ']' is missing");
	if (eval_number(p->e, &index, &i) < 0)
		return refuse(p, from, (size_t)(p->at - from),
			      "has an index that is not known");
	return element(p, v, i, from);
}

// NOLINTNEXTLINE(misc-no-recursion): C1
static int postfix(struct parse *p, struct value *out)
{
	const char *from;
	int rc;

	skip_space(p);
	from = p->at;
	rc = primary(p, out);
	while (rc == 0) {
		if (take(p, "->") || take(p, "."))
			rc = member(p, out, from);
		else if (take(p, "["))
			rc = subscript(p, out, from);
		else
			break;
	}
	return rc;
}

/* -- Casts -- */

/* What C calls them, and what compilers write. */
static const struct {
	const char *from, *to;
} aliases[] = {
    {"unsigned", "unsigned int"},
    {"long", "long int"},
    {"unsigned long", "long unsigned int"},
    {"short", "short int"},
    {"unsigned short", "short unsigned int"},
    {"long long", "long long int"},
    {"unsigned long long", "long long unsigned int"},
};

static bool find_type(const struct eval *e, const char *name, struct type *out)
{
	for (size_t i = 0; i < space_count(e->space); i++)
		if (type_named(space_get(e->space, i)->file, name, out, NULL) ==
		    0)
			return true;
	for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		for (size_t k = 0; strcmp(aliases[i].from, name) == 0 &&
				   k < space_count(e->space);
		     k++)
			if (type_named(space_get(e->space, k)->file,
				       aliases[i].to, out, NULL) == 0)
				return true;
	return false;
}

/* "struct a *", "unsigned long", up to ')'; false, and nothing is taken, if
 * that is no type. */
static bool take_type(struct parse *p, struct type *out)
{
	const char *begin = p->at;
	char name[NAME_MAX_LEN];
	uint32_t stars = 0;
	size_t len = 0;

	for (;;) {
		size_t n;

		skip_space(p);
		n = name_len(p->at);
		if (n == 0 || len + n + 2 > sizeof name)
			break;
		len += (size_t)snprintf(name + len, sizeof name - len, "%s%.*s",
					len > 0 ? " " : "", (int)n, p->at);
		p->at += n;
	}
	while (take(p, "*"))
		stars++;
	if (len == 0 || !take(p, ")")) {
		p->at = begin;
		return false;
	}
	*out = (struct type){0};
	if ((strcmp(name, "void") == 0 && stars > 0) ||
	    find_type(p->e, name, out)) {
		out->stars += stars;
		return true;
	}
	p->at = begin;
	return false;
}

static int cast(struct parse *p, struct type to, struct value *v,
		const char *from)
{
	struct type_facts facts;
	int64_t n;

	type_look(to, &facts);
	if (!is_scalar(facts.kind))
		return refuse(p, from, (size_t)(p->at - from),
			      "casts to what is no number and no pointer");
	if (eval_number(p->e, v, &n) < 0)
		return refuse(p, from, (size_t)(p->at - from),
			      "is no number, or is not known at this moment");
	*v = number_of((uint64_t)n);
	v->is_number = false;
	v->is_typed = true;
	v->type = to;
	v->len = facts.size;
	return 0;
}

/* -- Operators -- */

// NOLINTNEXTLINE(misc-no-recursion): C1
static int unary(struct parse *p, struct value *out)
{
	const char *from = p->at;
	struct type type = {0};
	int64_t n;
	int rc;

	if (p->depth++ == DEPTH)
		return fail(p, "it is nested too deeply");
	if (take(p, "*")) {
		rc = unary(p, out) < 0 ? -1 : deref(p, out, from);
	} else if (take(p, "&")) {
		rc = unary(p, out) < 0 ? -1 : address_of(p, out, from);
	} else if (take(p, "-")) {
		rc = unary(p, out);
		if (rc == 0 && eval_number(p->e, out, &n) == 0)
			*out = number_of(-(uint64_t)n);
	} else if (take(p, "(") && take_type(p, &type)) {
		rc = unary(p, out) < 0 ? -1 : cast(p, type, out, from);
	} else {
		p->at = from;
		rc = postfix(p, out);
	}
	p->depth--;
	return rc;
}

// NOLINTNEXTLINE(misc-no-recursion): C1
static int sum(struct parse *p, struct value *out)
{
	const char *from = p->at;
	struct value more = {0};
	int rc;

	if (p->depth++ == DEPTH)
		return fail(p, "it is nested too deeply");
	rc = unary(p, out);
	while (rc == 0) {
		bool minus;
		int64_t by = 0;

		skip_space(p);
		minus = p->at[0] == '-' && p->at[1] != '>';
		if (!minus && p->at[0] != '+')
			break;
		p->at++;
		rc = unary(p, &more);
		if (rc == 0 && eval_number(p->e, &more, &by) < 0)
			rc = fail(p, "only numbers can be added, before");
		if (rc == 0)
			rc = add(p, out, minus ? (int64_t) - (uint64_t)by : by,
				 from);
	}
	p->depth--;
	return rc;
}

/* -- The whole -- */

static int suffix(struct parse *p, struct value *v)
{
	uint64_t n = 0, addr = 0;

	if (take(p, ":")) {
		if (take_number(p, &n) < 0)
			return -1;
		if (v->is_number)
			addr = v->place.piece[0].u;
		else if (!eval_address(v, &addr))
			return refuse(p, p->text, (size_t)(p->at - p->text),
				      "is not in memory");
		*v = bytes_at(addr, n);
	} else if (take(p, "@")) {
		if (take_number(p, &n) < 0)
			return -1;
		if (v->is_number)
			*v = bytes_at(v->place.piece[0].u, 1);
		if (v->len != 0 && n > UINT32_MAX / v->len)
			return fail(p, "too many of them");
		v->repeated = n;
		v->len *= n;
	}
	skip_space(p);
	return *p->at == '\0' ? 0 : fail(p, "something that is not understood");
}

int eval_text(const struct eval *e, const char *text, struct value *out,
	      struct hark_err *err)
{
	struct parse p = {.e = e, .text = text, .at = text, .err = err};
	struct value v = {0};

	if (sum(&p, &v) < 0 || suffix(&p, &v) < 0)
		return -1;
	*out = v;
	return 0;
}
