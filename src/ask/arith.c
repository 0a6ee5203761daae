/* ask/arith.c - C's operators, with C's conversions.
 *
 * A1  An integer's u is always its value extended to 128 bits by its sign, so
 *     that a conversion is a truncation and another extension.
 * A2  float and double are computed as such: what a long double would keep is
 *     not kept, as in the program. */
#include "ask/arith.h"

#include <string.h>

enum { WIDE_BITS = 128, INT_SIZE = 4, LONG_SIZE = 8 };

/* -- Operators -- */

/* ORDER arith_op */
static const struct {
	char text[3];
	uint8_t precedence;
} ops[ARITH_MAX] = {
    [ARITH_NONE] = {"", 0},	  [ARITH_OR_ELSE] = {"||", 1},
    [ARITH_AND_THEN] = {"&&", 2}, [ARITH_OR] = {"|", 3},
    [ARITH_XOR] = {"^", 4},	  [ARITH_AND] = {"&", 5},
    [ARITH_EQ] = {"==", 6},	  [ARITH_NE] = {"!=", 6},
    [ARITH_LE] = {"<=", 7},	  [ARITH_GE] = {">=", 7},
    [ARITH_LT] = {"<", 7},	  [ARITH_GT] = {">", 7},
    [ARITH_SHL] = {"<<", 8},	  [ARITH_SHR] = {">>", 8},
    [ARITH_ADD] = {"+", 9},	  [ARITH_SUB] = {"-", 9},
    [ARITH_MUL] = {"*", 10},	  [ARITH_DIV] = {"/", 10},
    [ARITH_MOD] = {"%", 10},
};

/* "=" and "+=" are assignments, "->" is a member: none of these. */
enum arith_op arith_op_at(const char *text, size_t *len)
{
	enum arith_op best = ARITH_NONE;
	size_t n = 0;

	for (enum arith_op op = ARITH_NONE + 1; op < ARITH_MAX; op++) {
		size_t l = strlen(ops[op].text);

		if (l > n && strncmp(text, ops[op].text, l) == 0) {
			best = op;
			n = l;
		}
	}
	*len = n;
	if (text[n] == '=' && ops[best].precedence != 6 &&
	    ops[best].precedence != 7)
		return ARITH_NONE;
	return best == ARITH_SUB && text[1] == '>' ? ARITH_NONE : best;
}

unsigned arith_precedence(enum arith_op op)
{
	return ops[op].precedence;
}

/* -- Operands -- */

static arith_wide extend(arith_wide u, unsigned bits, bool is_signed)
{
	unsigned gone;

	if (bits == 0 || bits >= WIDE_BITS)
		return u;
	gone = WIDE_BITS - bits;
	u = u << gone >> gone;
	if (is_signed && (u >> (bits - 1) & 1) != 0)
		u |= ~(arith_wide)0 << bits;
	return u;
}

/* Things without a size (void, functions) count as bytes, as in GNU C. */
static void of_pointer(const struct type_facts *f, struct operand *out)
{
	struct type_facts to;

	out->kind = ARITH_POINTER;
	out->size = LONG_SIZE;
	type_look(f->target, &to);
	out->step = to.size != 0 && to.size <= INT64_MAX ? to.size : 1;
}

bool arith_of_type(struct type t, struct operand *out)
{
	struct type_facts f;

	type_look(t, &f);
	*out = (struct operand){.type = t,
				.size = (uint32_t)f.size,
				.is_signed = f.is_signed,
				.kind = ARITH_INTEGER};
	switch (f.kind) {
	case TYPE_POINTER:
		of_pointer(&f, out);
		return f.size == LONG_SIZE;
	case TYPE_FLOAT:
		out->kind = ARITH_FLOAT;
		return f.size == 4 || f.size == 8 || f.size == 16;
	case TYPE_SIGNED:
	case TYPE_UNSIGNED:
	case TYPE_CHAR:
	case TYPE_BOOL:
	case TYPE_ENUM:
		return f.size == 1 || f.size == 2 || f.size == 4 ||
		       f.size == 8 || f.size == 16;
	default:
		return false;
	}
}

struct operand arith_integer(enum type_basic type, arith_wide u)
{
	struct operand o;

	arith_of_type(type_basic(type), &o);
	o.u = extend(u, 8 * o.size, o.is_signed);
	o.is_known = true;
	return o;
}

struct operand arith_float(enum type_basic type, long double f)
{
	struct operand o;

	arith_of_type(type_basic(type), &o);
	o.f = f;
	o.is_known = true;
	return o;
}

void arith_load(struct operand *o, const uint8_t bytes[16])
{
	double d;
	float f;

	o->is_known = true;
	if (o->kind != ARITH_FLOAT) {
		memcpy(&o->u, bytes, sizeof o->u);
		o->u = extend(o->u, 8 * o->size,
			      o->is_signed && o->kind == ARITH_INTEGER);
	} else if (o->size == 4) {
		memcpy(&f, bytes, 4);
		o->f = f;
	} else if (o->size == 8) {
		memcpy(&d, bytes, 8);
		o->f = d;
	} else {
		memcpy(&o->f, bytes, 10);
	}
}

void arith_store(const struct operand *o, uint8_t bytes[16])
{
	double d;
	float f;

	memset(bytes, 0, 16);
	if (o->kind != ARITH_FLOAT) {
		memcpy(bytes, &o->u, o->size);
	} else if (o->size == 4) {
		f = (float)o->f;
		memcpy(bytes, &f, 4);
	} else if (o->size == 8) {
		d = (double)o->f;
		memcpy(bytes, &d, 8);
	} else {
		memcpy(bytes, &o->f, 10);
	}
}

/* -- Conversions -- */

/* An integer of at least the rank of int. A bit-field becomes an int if all of
 * its values fit. */
static struct operand promoted(const struct operand *a)
{
	unsigned bits = a->bits != 0 ? a->bits : 8 * a->size;
	struct operand o = *a;

	o.bits = 0;
	if (a->kind != ARITH_INTEGER)
		return o;
	if (bits < 8 * INT_SIZE || (bits == 8 * INT_SIZE && a->is_signed))
		o.type = type_basic(TYPE_BASIC_INT);
	else if (bits == 8 * INT_SIZE)
		o.type = type_basic(TYPE_BASIC_UINT);
	else if (a->size == LONG_SIZE)
		o.type = type_basic(a->is_signed ? TYPE_BASIC_LONG
						 : TYPE_BASIC_ULONG);
	else
		o.type = type_basic(a->is_signed ? TYPE_BASIC_INT128
						 : TYPE_BASIC_UINT128);
	if (bits <= 8 * INT_SIZE) {
		o.size = INT_SIZE;
		o.is_signed = bits < 8 * INT_SIZE || a->is_signed;
	}
	o.u = extend(o.u, 8 * o.size, o.is_signed);
	return o;
}

/* An integer in floating point: rounded once, to the type that it gets. */
static long double rounded(const struct operand *a, unsigned size)
{
	arith_wide u = a->u;
	bool minus = a->is_signed && u >> (WIDE_BITS - 1) != 0;
	long double f;

	if (a->kind == ARITH_FLOAT)
		return size == 4   ? (long double)(float)a->f
		       : size == 8 ? (long double)(double)a->f
				   : a->f;
	u = minus ? ~u + 1 : u;
	f = size == 4	? (long double)(float)u
	    : size == 8 ? (long double)(double)u
			: (long double)u;
	return minus ? -f : f;
}

/* To the common type of both, which is in *to. */
static struct operand raised(const struct operand *a, const struct operand *to)
{
	struct operand o = *to;

	o.is_known = a->is_known;
	o.bits = 0;
	if (to->kind == ARITH_FLOAT)
		o.f = rounded(a, to->size);
	else
		o.u = extend(a->u, 8 * to->size, to->is_signed);
	return o;
}

static bool outranks(const struct operand *a, const struct operand *b)
{
	if (a->kind != b->kind)
		return a->kind == ARITH_FLOAT;
	return a->size > b->size || (a->size == b->size && !a->is_signed);
}

/* The usual arithmetic conversions. */
static void balance(struct operand *a, struct operand *b)
{
	struct operand x = promoted(a), y = promoted(b);
	struct operand to = outranks(&x, &y) ? x : y;

	*a = raised(&x, &to);
	*b = raised(&y, &to);
}

int arith_truth(const struct operand *a)
{
	if (!a->is_known)
		return -1;
	return a->kind == ARITH_FLOAT ? a->f != 0 : a->u != 0;
}

static const char *from_float(const struct operand *a, struct operand *o)
{
	unsigned bits = 8 * o->size - (o->is_signed ? 1 : 0);
	long double f = a->f, limit = 1;

	for (unsigned i = 0; i < bits; i++)
		limit *= 2;
	if (!(f < limit && f > (o->is_signed ? -limit - 1 : -1)))
		return "converts a number that does not fit";
	o->u = f < 0 ? ~(arith_wide)-f + 1 : (arith_wide)f;
	return NULL;
}

const char *arith_convert(const struct operand *a, struct type to,
			  struct operand *out)
{
	struct operand o;
	struct type_facts f;
	const char *why = NULL;

	if (!arith_of_type(to, &o))
		return "casts to what is no number and no pointer";
	if ((a->kind == ARITH_FLOAT && o.kind == ARITH_POINTER) ||
	    (a->kind == ARITH_POINTER && o.kind == ARITH_FLOAT))
		return "casts between a pointer and a floating-point number";
	type_look(to, &f);
	o.is_known = a->is_known;
	if (!a->is_known)
		;
	else if (f.kind == TYPE_BOOL)
		o.u = (arith_wide)arith_truth(a);
	else if (o.kind == ARITH_FLOAT)
		o.f = rounded(a, o.size);
	else if (a->kind == ARITH_FLOAT)
		why = from_float(a, &o);
	else
		o.u = extend(a->u, 8 * o.size, o.is_signed);
	if (why == NULL)
		*out = o;
	return why;
}

/* -- Unary operators -- */

const char *arith_unary(char op, const struct operand *a, struct operand *out)
{
	struct operand o = promoted(a);
	int truth = arith_truth(a);

	if (op == '!') {
		o = arith_integer(TYPE_BASIC_INT, truth == 0);
		o.is_known = truth >= 0;
	} else if (a->kind == ARITH_POINTER) {
		return "has an operator that pointers do not have";
	} else if (op == '~' && a->kind == ARITH_FLOAT) {
		return "has '~', which wants an integer";
	} else if (op == '~') {
		o.u = extend(~o.u, 8 * o.size, o.is_signed);
	} else if (op == '-' && o.kind == ARITH_FLOAT) {
		o.f = -o.f;
	} else if (op == '-') {
		o.u = extend(~o.u + 1, 8 * o.size, o.is_signed);
	}
	*out = o;
	return NULL;
}

/* -- Binary operators -- */

static bool is_negative(const struct operand *a)
{
	return a->is_signed && a->u >> (WIDE_BITS - 1) != 0;
}

static arith_wide magnitude(const struct operand *a)
{
	return is_negative(a) ? ~a->u + 1 : a->u;
}

/* Towards zero; the rest has the sign of the dividend. */
static arith_wide divide(const struct operand *a, const struct operand *b,
			 bool rest)
{
	arith_wide x = magnitude(a), y = magnitude(b), q = rest ? x % y : x / y;
	bool minus = rest ? is_negative(a) : is_negative(a) != is_negative(b);

	return minus ? ~q + 1 : q;
}

/* <0, 0, >0; 2: one is not a number. */
static int order(const struct operand *a, const struct operand *b)
{
	if (a->kind == ARITH_FLOAT)
		return a->f < b->f    ? -1
		       : a->f > b->f  ? 1
		       : a->f == b->f ? 0
				      : 2;
	if (is_negative(a) != is_negative(b))
		return is_negative(a) ? -1 : 1;
	return a->u < b->u ? -1 : a->u > b->u;
}

static bool compare(enum arith_op op, const struct operand *a,
		    const struct operand *b)
{
	int o = order(a, b);

	switch (op) {
	case ARITH_EQ:
		return o == 0;
	case ARITH_NE:
		return o != 0;
	case ARITH_LT:
		return o == -1;
	case ARITH_GT:
		return o == 1;
	case ARITH_LE:
		return o == -1 || o == 0;
	default:
		return o == 1 || o == 0;
	}
}

static bool is_comparison(enum arith_op op)
{
	return op >= ARITH_EQ && op <= ARITH_GT;
}

static struct operand truth_of(bool is_known, bool value)
{
	struct operand o = arith_integer(TYPE_BASIC_INT, value);

	o.is_known = is_known;
	return o;
}

/* A2 */
#define FLOAT_OP(type, op, x, y)                     \
	((op) == ARITH_ADD   ? (type)(x) + (type)(y) \
	 : (op) == ARITH_SUB ? (type)(x) - (type)(y) \
	 : (op) == ARITH_MUL ? (type)(x) * (type)(y) \
			     : (type)(x) / (type)(y))

static const char *of_floats(enum arith_op op, struct operand *a,
			     const struct operand *b, struct operand *out)
{
	if (op < ARITH_ADD || op == ARITH_MOD)
		return "has an operator that wants integers";
	if (a->size == 4)
		a->f = FLOAT_OP(float, op, a->f, b->f);
	else if (a->size == 8)
		a->f = FLOAT_OP(double, op, a->f, b->f);
	else
		a->f = FLOAT_OP(long double, op, a->f, b->f);
	a->is_known = a->is_known && b->is_known;
	*out = *a;
	return NULL;
}

static const char *shift(enum arith_op op, const struct operand *left,
			 const struct operand *by, struct operand *out)
{
	struct operand a = promoted(left), b = promoted(by);

	if (a.kind == ARITH_FLOAT || b.kind == ARITH_FLOAT)
		return "has an operator that wants integers";
	if (b.is_known && (is_negative(&b) || b.u >= (arith_wide)8 * a.size))
		return "shifts by as many bits as there are, or more";
	a.is_known = a.is_known && b.is_known;
	if (!a.is_known)
		a.u = 0;
	else if (op == ARITH_SHL)
		a.u = extend(a.u << (unsigned)b.u, 8 * a.size, a.is_signed);
	else /* A1: what is shifted in is the sign */
		a.u = extend(a.u >> (unsigned)b.u |
				 (is_negative(&a) && b.u != 0
				      ? ~(arith_wide)0 << (WIDE_BITS - b.u)
				      : 0),
			     8 * a.size, a.is_signed);
	*out = a;
	return NULL;
}

static arith_wide of_integers(enum arith_op op, const struct operand *a,
			      const struct operand *b)
{
	switch (op) {
	case ARITH_OR:
		return a->u | b->u;
	case ARITH_XOR:
		return a->u ^ b->u;
	case ARITH_AND:
		return a->u & b->u;
	case ARITH_ADD:
		return a->u + b->u;
	case ARITH_SUB:
		return a->u - b->u;
	case ARITH_MUL:
		return a->u * b->u;
	default:
		return divide(a, b, op == ARITH_MOD);
	}
}

static const char *of_numbers(enum arith_op op, const struct operand *left,
			      const struct operand *right, struct operand *out)
{
	struct operand a = *left, b = *right;
	bool is_known = a.is_known && b.is_known;

	if (op == ARITH_SHL || op == ARITH_SHR)
		return shift(op, left, right, out);
	balance(&a, &b);
	if (is_comparison(op)) {
		*out = truth_of(is_known, is_known && compare(op, &a, &b));
		return NULL;
	}
	if (a.kind == ARITH_FLOAT)
		return of_floats(op, &a, &b, out);
	if ((op == ARITH_DIV || op == ARITH_MOD) && b.is_known && b.u == 0)
		return "divides by zero";
	a.is_known = is_known;
	a.u = is_known
		  ? extend(of_integers(op, &a, &b), 8 * a.size, a.is_signed)
		  : 0;
	*out = a;
	return NULL;
}

/* -- Pointers -- */

static struct operand moved(const struct operand *pointer,
			    const struct operand *by, bool back)
{
	struct operand o = *pointer;
	uint64_t n = (uint64_t)by->u * pointer->step;

	o.is_known = pointer->is_known && by->is_known;
	o.u = back ? (uint64_t)o.u - n : (uint64_t)o.u + n;
	return o;
}

static const char *of_pointers(enum arith_op op, const struct operand *a,
			       const struct operand *b, struct operand *out)
{
	bool is_known = a->is_known && b->is_known;
	int64_t apart = (int64_t)((uint64_t)a->u - (uint64_t)b->u);

	if (op != ARITH_SUB)
		return "has an operator that pointers do not have";
	if (a->step != b->step)
		return "is the difference of pointers to things of different "
		       "sizes";
	if (is_known && apart % (int64_t)a->step != 0)
		return "is the difference of pointers that are not a whole "
		       "number of elements apart";
	*out = arith_integer(TYPE_BASIC_LONG,
			     (arith_wide)(apart / (int64_t)a->step));
	out->is_known = is_known;
	return NULL;
}

static const char *with_pointer(enum arith_op op, const struct operand *a,
				const struct operand *b, struct operand *out)
{
	bool is_known = a->is_known && b->is_known;
	struct operand x, y;

	if (a->kind == ARITH_FLOAT || b->kind == ARITH_FLOAT)
		return "is of a pointer and a floating-point number";
	if (is_comparison(op)) {
		x = arith_integer(TYPE_BASIC_ULONG, a->u);
		y = arith_integer(TYPE_BASIC_ULONG, b->u);
		*out = truth_of(is_known, is_known && compare(op, &x, &y));
	} else if (a->kind == b->kind) {
		return of_pointers(op, a, b, out);
	} else if (op == ARITH_ADD) {
		*out = a->kind == ARITH_POINTER ? moved(a, b, false)
						: moved(b, a, false);
	} else if (op == ARITH_SUB && a->kind == ARITH_POINTER) {
		*out = moved(a, b, true);
	} else {
		return "has an operator that pointers do not have";
	}
	return NULL;
}

/* Known if one side decides: a known 0 makes && false whatever the other. */
static struct operand logical(enum arith_op op, const struct operand *a,
			      const struct operand *b)
{
	int decides = op == ARITH_OR_ELSE, x = arith_truth(a);
	int y = arith_truth(b);

	if (x == decides)
		return truth_of(true, decides);
	return truth_of(x >= 0 && y >= 0, y == 1);
}

const char *arith_binary(enum arith_op op, const struct operand *a,
			 const struct operand *b, struct operand *out)
{
	if (op == ARITH_OR_ELSE || op == ARITH_AND_THEN) {
		*out = logical(op, a, b);
		return NULL;
	}
	if (a->kind == ARITH_POINTER || b->kind == ARITH_POINTER)
		return with_pointer(op, a, b, out);
	return of_numbers(op, a, b, out);
}
