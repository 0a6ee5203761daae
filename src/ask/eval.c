/* ask/eval.c - expressions: what does a person mean by WHAT?
 *
 *	what    = binary [':' number | '@' number]
 *	binary  = unary {operator unary}, by C's precedence: arith.c
 *	unary   = ('*' | '&' | '-' | '+' | '!' | '~') unary
 *	        | '(' type ')' unary | 'sizeof' ('(' type ')' | unary)
 *	        | postfix
 *	postfix = primary {'.' name | '->' name | '[' binary ']'}
 *	primary = literal | name | '$' register | '(' binary ')'
 *
 * C1  Nesting is bounded by DEPTH, the text by TEXT_MAX: parsing ends.
 * C2  Nothing is read but what an answer needs: `&p->next` reads p, and what
 *     stands after a && that is decided is parsed, but not followed. */
#include "ask/eval.h"

#include "ask/eval_priv.h"
#include "ask/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 128, TEXT_MAX = 16384 };

struct parse {
	const struct eval *e;
	const char *text, *at;
	unsigned depth;
	unsigned unneeded; /* in how many parts whose value does not matter */
	struct hark_err *err;
};

/* -- Errors -- */

static int fail(struct parse *p, const char *what)
{
	return err_set(p->err, HARK_EINPUT, 0, "'%.100s': %s at '%.40s'",
		       p->text, what, p->at[0] != '\0' ? p->at : "its end");
}

/* Of what stands from `what` up to where parsing is. */
static int refuse(struct parse *p, const char *what, const char *why)
{
	size_t len = (size_t)(p->at - what);

	while (len > 0 && what[len - 1] == ' ')
		len--;
	return err_set(p->err, HARK_EINPUT, 0, "'%.*s' %s",
		       len < 200 ? (int)len : 200, what, why);
}

static void skip_space(struct parse *p)
{
	while (isspace((unsigned char)*p->at))
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

static int take_name(struct parse *p, char out[EVAL_NAME_MAX])
{
	size_t n;

	skip_space(p);
	n = eval_name_len(p->at);
	if (n == 0 || n >= EVAL_NAME_MAX)
		return fail(p, n == 0 ? "a name is missing"
				      : "a name is too long");
	memcpy(out, p->at, n);
	out[n] = '\0';
	p->at += n;
	return 0;
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
	v->is_referred = false;
	return true;
}

/* What a pointer that is not known leads to, where that does not matter. */
static int deref_unknown(struct parse *p, struct value *v, const char *from)
{
	struct type_facts facts = {.kind = TYPE_OTHER};

	if (v->is_typed)
		type_look(v->type, &facts);
	if (p->unneeded == 0 ||
	    (facts.kind != TYPE_POINTER && facts.kind != TYPE_REFERENCE))
		return refuse(p, from,
			      "is no pointer, or is not known at this moment");
	*v = eval_unknown(facts.target);
	return 0;
}

static int deref(struct parse *p, struct value *v, const char *from)
{
	struct type_facts facts;
	int64_t addr;

	if (first_element(v))
		return 0;
	if (eval_number(p->e, v, &addr) < 0)
		return deref_unknown(p, v, from);
	if (!v->is_typed) {
		*v = eval_bytes_at((uint64_t)addr, EVAL_WORD);
		return 0;
	}
	type_look(v->type, &facts);
	if (facts.kind != TYPE_POINTER && facts.kind != TYPE_REFERENCE) {
		*v = eval_bytes_at((uint64_t)addr, EVAL_WORD);
		return 0;
	}
	*v = eval_at(facts.target, (uint64_t)addr, 0);
	type_look(facts.target, &facts);
	v->is_code = facts.kind == TYPE_FUNCTION;
	if (facts.kind == TYPE_VOID || facts.kind == TYPE_FUNCTION) {
		v->is_typed = false;
		v->len = EVAL_WORD;
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
	if (facts.kind != TYPE_REFERENCE)
		return 0;
	if (deref(p, v, from) < 0)
		return -1;
	v->is_referred = true;
	return 0;
}

/* By '*'. Of a reference to what is no pointer, what it refers to: C++ has no
 * such expression, but debuggers show references as pointers. */
static int star(struct parse *p, struct value *v, const char *from)
{
	struct type_facts facts;

	if (v->is_referred && v->is_typed) {
		type_look(v->type, &facts);
		if (facts.kind != TYPE_POINTER && facts.kind != TYPE_ARRAY)
			return 0;
	}
	if (deref(p, v, from) < 0)
		return -1;
	return through_reference(p, v, from);
}

static void set_field(struct value *v, const struct type_field *f)
{
	struct type_facts facts;

	v->type = f->type;
	v->offset += f->offset;
	v->bit_size = f->bit_size;
	v->bit_shift = f->bit_shift;
	v->is_referred = false;
	type_look(f->type, &facts);
	v->len = facts.size;
}

static int member(struct parse *p, struct value *v, const char *from)
{
	char name[EVAL_NAME_MAX];
	struct type_facts facts;
	struct type_field f;

	if (take_name(p, name) < 0)
		return -1;
	if (!v->is_typed)
		return refuse(p, from, "has no known type, so no fields");
	type_look(v->type, &facts);
	if (facts.kind == TYPE_POINTER && deref(p, v, from) < 0)
		return -1;
	if (v->is_typed && type_field(v->type, name, &f)) {
		set_field(v, &f);
		return through_reference(p, v, from);
	}
	return eval_no_member(v->type, name, p->err);
}

static int element(struct parse *p, struct value *v, int64_t i,
		   const char *from)
{
	struct type_facts facts, of;

	if (!v->is_typed || v->bit_size != 0)
		return refuse(p, from, "is no array and no pointer");
	type_look(v->type, &facts);
	if (facts.kind == TYPE_POINTER) {
		if (deref(p, v, from) < 0)
			return -1;
		v->offset += (uint64_t)i * (v->is_typed ? v->len : 1);
		return through_reference(p, v, from);
	}
	if (facts.kind != TYPE_ARRAY)
		return refuse(p, from, "is no array and no pointer");
	type_look(facts.target, &of);
	v->type = facts.target;
	v->len = of.size;
	v->offset += (uint64_t)i * of.size;
	v->is_referred = false;
	return 0;
}

static int address_of(struct parse *p, struct value *v, const char *from)
{
	uint64_t addr;

	if (v->is_unknown && p->unneeded > 0) {
		v->type.stars++;
		*v = eval_unknown(v->type);
		return 0;
	}
	if (!eval_address(v, &addr) || v->bit_size != 0)
		return refuse(p, from,
			      "is not in memory, so it has no address");
	*v =
	    v->is_typed ? eval_pointer_to(v->type, addr) : eval_number_of(addr);
	v->is_address = !v->is_typed;
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
	if (errno != 0 || isalnum((unsigned char)*end) || *end == '_')
		return fail(p, "no number that fits");
	p->at = end;
	return 0;
}

static int literal(struct parse *p, struct value *out)
{
	struct operand o;
	struct type_facts f;
	const char *why = "";
	size_t len = literal_read(p->at, &o, &why);

	if (len == 0)
		return fail(p, why);
	p->at += len;
	type_look(o.type, &f);
	if (f.kind != TYPE_SIGNED && f.kind != TYPE_UNSIGNED) {
		*out = eval_of_operand(&o);
		return 0;
	}
	*out = eval_number_of((uint64_t)o.u);
	out->is_literal = true;
	out->type = o.type;
	return 0;
}

static int register_value(struct parse *p, struct value *out)
{
	char name[EVAL_NAME_MAX];
	uint8_t bytes[16];
	uint64_t v;
	size_t len;

	if (take_name(p, name) < 0)
		return -1;
	if (unwind_register(p->e->u, p->e->frame, name, bytes, &len) < 0)
		return err_set(p->err, HARK_ENOENT, 0,
			       "register '%s' is not known there", name);
	memcpy(&v, bytes, sizeof v);
	*out = eval_number_of(v);
	out->is_number = false;
	return 0;
}

static int named(struct parse *p, struct value *out)
{
	const char *from = p->at;
	struct space_symbol sym;
	char name[EVAL_NAME_MAX];
	int rc;

	if (take_name(p, name) < 0)
		return -1;
	rc = eval_named(p->e, name, out, p->err);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return through_reference(p, out, from);
	if (!space_has_symbol(p->e->space, name, &sym))
		return eval_no_name(p->e, name, p->err);
	*out = eval_bytes_at(sym.addr, sym.size != 0 ? sym.size : EVAL_WORD);
	out->is_code = sym.is_code;
	return 0;
}

static int binary(struct parse *p, unsigned least, struct value *out);

// NOLINTNEXTLINE(misc-no-recursion): C1
static int primary(struct parse *p, struct value *out)
{
	skip_space(p);
	if (literal_begins(p->at))
		return literal(p, out);
	if (take(p, "$"))
		return register_value(p, out);
	if (!take(p, "("))
		return named(p, out);
	if (binary(p, 1, out) < 0)
		return -1;
	return take(p, ")") ? 0 : fail(p, "a ')' is missing");
}

// NOLINTNEXTLINE(misc-no-recursion): C1
static int subscript(struct parse *p, struct value *v, const char *from)
{
	struct value index = {0};
	struct operand i;

	if (binary(p, 1, &index) < 0)
		return -1;
	if (!take(p, "]"))
		return fail(p, "a ']' is missing");
	if (eval_operand(p->e, &index, &i) != NULL || i.kind != ARITH_INTEGER)
		return refuse(p, from, "has an index that is no integer");
	if (!i.is_known && p->unneeded == 0)
		return refuse(p, from, "has an index that is not known");
	return element(p, v, (int64_t)i.u, from);
}

/* Is it "i++" or "i--", and not the begin of "i - -1"? */
static bool is_change(struct parse *p)
{
	skip_space(p);
	return (strncmp(p->at, "++", 2) == 0 || strncmp(p->at, "--", 2) == 0) &&
	       (p->at[2] == '\0' || strchr(" )];,", p->at[2]) != NULL);
}

static int refuse_change(struct parse *p)
{
	return fail(p, "a recording cannot be changed, as it would be");
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
		else if (is_change(p))
			return refuse_change(p);
		else
			break;
	}
	return rc;
}

/* -- Casts and sizeof -- */

static bool is_qualifier(const char *word, size_t len)
{
	static const char *const words[] = {"const", "volatile", "restrict",
					    "_Atomic", "typename"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strlen(words[i]) == len &&
		    strncmp(words[i], word, len) == 0)
			return true;
	return false;
}

/* The words of a type's name, without qualifiers; how many there are. */
static unsigned take_words(struct parse *p, char out[EVAL_NAME_MAX])
{
	size_t len = 0, n;
	unsigned words = 0;

	out[0] = '\0';
	for (;;) {
		skip_space(p);
		n = eval_name_len(p->at);
		if (n == 0 || len + n + 2 > EVAL_NAME_MAX)
			return words;
		if (!is_qualifier(p->at, n)) {
			len += (size_t)snprintf(out + len, EVAL_NAME_MAX - len,
						"%s%.*s", len > 0 ? " " : "",
						(int)n, p->at);
			words++;
		}
		p->at += n;
	}
}

/* "struct a *", "unsigned long", up to ')'; false, and nothing is taken, if
 * that is no type. A variable hides a type of its name. */
static bool take_type(struct parse *p, struct type *out)
{
	const char *begin = p->at;
	char name[EVAL_NAME_MAX];
	unsigned words = take_words(p, name);
	uint32_t stars = 0;
	struct value hides;

	while (take(p, "*") || take(p, "const"))
		stars += p->at[-1] == '*';
	*out = (struct type){0};
	if (words > 0 && take(p, ")") &&
	    !(words == 1 && stars == 0 &&
	      eval_named(p->e, name, &hides, NULL) == 0) &&
	    ((strcmp(name, "void") == 0 && stars > 0) ||
	     eval_type_named(p->e, name, out))) {
		out->stars += stars;
		return true;
	}
	p->at = begin;
	return false;
}

static int set_operand(struct parse *p, const char *why,
		       const struct operand *o, const char *from,
		       struct value *out)
{
	if (why != NULL && p->unneeded > 0)
		*out = eval_unknown(type_basic(TYPE_BASIC_INT));
	else if (why != NULL)
		return refuse(p, from, why);
	else
		*out = eval_of_operand(o);
	return 0;
}

static int cast(struct parse *p, struct type to, struct value *v,
		const char *from)
{
	struct operand o = {0};
	const char *why = eval_operand(p->e, v, &o);

	if (why == NULL)
		why = arith_convert(&o, to, &o);
	return set_operand(p, why, &o, from, v);
}

static int size_of(struct parse *p, uint64_t size, const char *from,
		   struct value *out)
{
	struct operand o = arith_integer(TYPE_BASIC_ULONG, size);

	if (size == 0)
		return refuse(p, from, "asks for a size that is not known");
	*out = eval_of_operand(&o);
	return 0;
}

/* Is this word next, and no longer name? */
static bool take_word(struct parse *p, const char *word)
{
	skip_space(p);
	return eval_name_len(p->at) == strlen(word) && take(p, word);
}

static int unary(struct parse *p, struct value *out);

// NOLINTNEXTLINE(misc-no-recursion): C1
static int take_sizeof(struct parse *p, struct value *out, const char *from)
{
	const char *begin = p->at;
	struct type_facts facts;
	struct type type = {0};
	int rc;

	if (take(p, "(") && take_type(p, &type)) {
		type_look(type, &facts);
		return size_of(p, facts.size, from, out);
	}
	p->at = begin;
	p->unneeded++;
	rc = unary(p, out);
	p->unneeded--;
	if (rc < 0)
		return -1;
	if (out->bit_size != 0)
		return refuse(p, from, "asks for the size of a bit-field");
	if (out->is_literal)
		type_look(out->type, &facts);
	return size_of(p, out->is_literal ? facts.size : out->len, from, out);
}

/* -- Operators -- */

static int apply_unary(struct parse *p, char op, struct value *v,
		       const char *from)
{
	struct operand o = {0};
	const char *why;

	if (op == '*')
		return star(p, v, from);
	if (op == '&')
		return address_of(p, v, from);
	why = eval_operand(p->e, v, &o);
	if (why == NULL)
		why = arith_unary(op, &o, &o);
	return set_operand(p, why, &o, from, v);
}

// NOLINTNEXTLINE(misc-no-recursion): C1
static int unary(struct parse *p, struct value *out)
{
	const char *from;
	struct type type = {0};
	int rc;
	char op;

	skip_space(p);
	from = p->at;
	op = *from;
	if (p->depth++ == DEPTH)
		return fail(p, "it is nested too deeply");
	if (op != '\0' && strchr("*&-+!~", op) != NULL) {
		p->at++;
		rc = unary(p, out) < 0 ? -1 : apply_unary(p, op, out, from);
	} else if (take_word(p, "sizeof")) {
		rc = take_sizeof(p, out, from);
	} else if (take(p, "(") && take_type(p, &type)) {
		rc = unary(p, out) < 0 ? -1 : cast(p, type, out, from);
	} else {
		p->at = from;
		rc = postfix(p, out);
	}
	p->depth--;
	return rc;
}

/* -- Sums that are addresses -- */

/* Is it an address, or part of one, whatever stands beside it? */
static bool is_place(const struct value *v)
{
	return !v->is_typed && !v->is_literal;
}

/* What is added, as a number of bytes. */
static int take_bytes(struct parse *p, const struct value *v, const char *from,
		      uint64_t *out)
{
	struct operand o = {0};
	const char *why = eval_operand(p->e, v, &o);

	if (why == NULL && (o.kind != ARITH_INTEGER || !o.is_known))
		why = "adds what is no integer, or is not known at this moment";
	*out = (uint64_t)o.u;
	return why != NULL ? refuse(p, from, why) : 0;
}

/* Of bytes in memory: the bytes at another place. Of a number or a register:
 * another number. */
static int move_place(struct parse *p, struct value *a, const struct value *by,
		      bool minus, const char *from)
{
	uint64_t n, addr;
	int64_t number;

	if (take_bytes(p, by, from, &n) < 0)
		return -1;
	n = minus ? -n : n;
	if (!a->is_number && eval_address(a, &addr)) {
		*a = eval_bytes_at(addr + n, EVAL_WORD);
		return 0;
	}
	if (eval_number(p->e, a, &number) < 0)
		return refuse(p, from,
			      "is no number, or is not known at this moment");
	*a = eval_number_of((uint64_t)number + n);
	return 0;
}

/* Two literals: still one. */
static void add_literals(struct value *a, const struct value *b, bool minus)
{
	struct operand x = {0}, y = {0}, sum = {0};

	arith_of_type(a->type, &x);
	arith_of_type(b->type, &y);
	x.u = a->place.piece[0].u;
	y.u = b->place.piece[0].u;
	arith_binary(ARITH_ADD, &x, &y, &sum);
	*a = eval_number_of(minus ? (uint64_t)(x.u - y.u)
				  : (uint64_t)(x.u + y.u));
	a->is_literal = true;
	a->type = sum.type;
}

static bool is_struct(const struct value *v)
{
	struct type_facts facts;

	if (!v->is_typed)
		return false;
	type_look(v->type, &facts);
	return facts.kind == TYPE_STRUCT || facts.kind == TYPE_UNION;
}

/* 1: it is no such sum. */
static int add_place(struct parse *p, enum arith_op op, struct value *a,
		     const struct value *b, const char *from)
{
	bool minus = op == ARITH_SUB;
	struct value sum;

	if (op != ARITH_ADD && op != ARITH_SUB)
		return 1;
	if (a->is_literal && b->is_literal) {
		add_literals(a, b, minus);
		return 0;
	}
	if (is_struct(a) || (is_place(a) && !(minus && is_place(b))))
		return move_place(p, a, b, minus, from);
	if (!minus && is_place(b) && a->is_literal) {
		sum = *b;
		if (move_place(p, &sum, a, false, from) < 0)
			return -1;
		*a = sum;
		return 0;
	}
	return 1;
}

/* table + 16: what C means, and what is 16 bytes after the table's begin. */
static void note_offset(const struct value *a, const struct operand *by,
			bool minus, struct value *out)
{
	struct type_facts facts;
	uint64_t addr, n = minus ? -(uint64_t)by->u : (uint64_t)by->u;

	if (!a->is_typed || by->kind != ARITH_INTEGER || !by->is_known)
		return;
	type_look(a->type, &facts);
	if (a->is_offset)
		addr = a->offset_at;
	else if (facts.kind != TYPE_ARRAY || !eval_address(a, &addr))
		return;
	out->is_offset = true;
	out->offset_at = addr + n;
}

/* -- Binary operators -- */

static int apply_binary(struct parse *p, enum arith_op op, struct value *a,
			const struct value *b, const char *from)
{
	struct operand x = {0}, y = {0}, result = {0};
	const struct value left = *a;
	const char *why;
	int rc = add_place(p, op, a, b, from);

	if (rc <= 0)
		return rc;
	why = eval_operand(p->e, a, &x);
	if (why == NULL)
		why = eval_operand(p->e, b, &y);
	if (why == NULL)
		why = arith_binary(op, &x, &y, &result);
	if (set_operand(p, why, &result, from, a) < 0)
		return -1;
	if (op == ARITH_ADD || op == ARITH_SUB)
		note_offset(&left, &y, op == ARITH_SUB, a);
	return 0;
}

/* Does a && or || after this not need its other side? */
static bool is_decided(const struct parse *p, enum arith_op op,
		       const struct value *a)
{
	struct operand o = {0};

	return (op == ARITH_AND_THEN || op == ARITH_OR_ELSE) &&
	       eval_operand(p->e, a, &o) == NULL &&
	       arith_truth(&o) != (op == ARITH_AND_THEN);
}

/* Operators of this precedence or more. */
// NOLINTNEXTLINE(misc-no-recursion): C1
static int binary(struct parse *p, unsigned least, struct value *out)
{
	const char *from;
	struct value more = {0};
	enum arith_op op;
	size_t len;
	int rc;

	skip_space(p);
	from = p->at;
	if (p->depth++ == DEPTH)
		return fail(p, "it is nested too deeply");
	rc = unary(p, out);
	while (rc == 0) {
		bool unneeded;

		skip_space(p);
		op = arith_op_at(p->at, &len);
		if (op == ARITH_NONE || arith_precedence(op) < least)
			break;
		p->at += len;
		unneeded = is_decided(p, op, out);
		p->unneeded += unneeded;
		rc = binary(p, arith_precedence(op) + 1, &more);
		p->unneeded -= unneeded;
		if (rc == 0)
			rc = apply_binary(p, op, out, &more, from);
	}
	p->depth--;
	return rc;
}

/* -- The whole -- */

/* `:N` */
static int suffix_bytes(struct parse *p, struct value *v)
{
	uint64_t n = 0, addr = 0;

	if (take_number(p, &n) < 0)
		return -1;
	if (v->is_number)
		addr = v->place.piece[0].u;
	else if (!eval_address(v, &addr))
		return refuse(p, p->text, "is not in memory");
	*v = eval_bytes_at(addr, n);
	return 0;
}

/* `@N` */
static int suffix_repeat(struct parse *p, struct value *v)
{
	uint64_t n = 0;

	if (take_number(p, &n) < 0)
		return -1;
	if (v->is_computed)
		return refuse(p, p->text, "is not in memory");
	if (v->is_number)
		*v = eval_bytes_at(v->place.piece[0].u, 1);
	if (v->len != 0 && n > UINT32_MAX / v->len)
		return fail(p, "too many of them");
	v->repeated = n;
	v->len *= n;
	return 0;
}

/* Is an assignment next: "=", "+=", "<<="? */
static bool is_assignment(const char *at)
{
	return at[strspn(at, "+-*/%&|^<>")] == '=';
}

static int suffix(struct parse *p, struct value *v)
{
	int rc = 0;

	if (v->is_offset)
		*v = eval_bytes_at(v->offset_at, EVAL_WORD);
	if (take(p, ":"))
		rc = suffix_bytes(p, v);
	else if (take(p, "@"))
		rc = suffix_repeat(p, v);
	skip_space(p);
	if (rc < 0 || *p->at == '\0')
		return rc;
	if (is_assignment(p->at))
		return refuse_change(p);
	return fail(p, "something that is not understood");
}

int eval_text(const struct eval *e, const char *text, struct value *out,
	      struct hark_err *err)
{
	struct parse p = {.e = e, .text = text, .at = text, .err = err};
	struct value v = {0};

	if (strlen(text) > TEXT_MAX)
		return err_set(err, HARK_EINPUT, 0,
			       "an expression of %zu characters is too long",
			       strlen(text));
	if (binary(&p, 1, &v) < 0 || suffix(&p, &v) < 0)
		return -1;
	*out = v;
	return 0;
}
