/* script/generate_expression.c - byte code from checked expressions.
 *
 * The value of a node comes into the register it is asked for; what it needs
 * meanwhile lies in the registers above. So the deepest expression needs as
 * many registers as it is deep, and the machine has PROBE_REGISTERS. */
#include "script/generate_priv.h"

#include <stdlib.h>
#include <string.h>

/* -- Tables -- */

uint32_t gen_text_of(struct gen *g, const char *text)
{
	size_t len = strlen(text) + 1, at = 0, start;

	while (at < g->texts.n) {
		if (strcmp(g->texts.at + at, text) == 0)
			return (uint32_t)at;
		at += strlen(g->texts.at + at) + 1;
	}
	start = g->texts.n;
	if (vec_fit(&g->texts, len, &g->s->heap) < 0) {
		g->s->no_memory = g->s->is_over = true;
		return 0;
	}
	memcpy(g->texts.at + start, text, len);
	g->texts.n += len;
	return (uint32_t)start;
}

uint32_t gen_constant_of(struct gen *g, uint64_t value)
{
	for (size_t i = 0; i < g->constants.n; i++)
		if (g->constants.at[i] == value)
			return (uint32_t)i;
	PUSH(g, constants, value);
	return (uint32_t)(g->constants.n - 1);
}

void gen_part_add(struct gen *g, struct probe_part part)
{
	PUSH(g, parts, part.kind, part.size, part.is_signed, 0, part.len);
}

/* -- Instructions -- */

static uint8_t reg(struct gen *g, unsigned r)
{
	if (r < PROBE_REGISTERS)
		return (uint8_t)r;
	mistake(g->s, SCRIPT_REGISTERS, g->place,
		"this needs more than %u values at a time", PROBE_REGISTERS);
	return PROBE_REGISTERS - 1;
}

void gen_put(struct gen *g, enum probe_op op, unsigned d, unsigned a,
	     unsigned b, int32_t imm)
{
	struct probe_insn i = {.op = (uint8_t)op, .imm = imm};

	i.d = reg(g, d);
	i.a = reg(g, a);
	i.b = reg(g, b);
	PUSH(g, code, i.op, i.d, i.a, i.b, i.imm);
}

size_t gen_put_jump(struct gen *g, enum probe_op op, unsigned a)
{
	gen_put(g, op, 0, a, 0, 0);
	return g->code.n - 1;
}

void gen_land(struct gen *g, size_t jump)
{
	if (!g->s->is_over)
		g->code.at[jump].imm = (int32_t)(g->code.n - jump - 1);
}

void gen_put_number(struct gen *g, unsigned r, uint64_t value)
{
	if ((int64_t)value == (int32_t)value)
		gen_put(g, PROBE_IMM, r, 0, 0, (int32_t)value);
	else
		gen_put(g, PROBE_CONST, r, 0, 0,
			(int32_t)gen_constant_of(g, value));
}

static void narrow(struct gen *g, unsigned r, const struct script_type *t)
{
	if (t->stars == 0 && t->count == 0 && t->kind == SCRIPT_INT &&
	    t->size < 8)
		gen_put(g, t->is_signed ? PROBE_SEXT : PROBE_ZEXT, r, r, 0,
			(int32_t)t->size * 8);
}

// NOLINTBEGIN(misc-no-recursion): NEST_MAX and HEIGHT_MAX bound it
/* -- Memory -- */

static uint32_t pointee_size(const struct script_type *t)
{
	if (t->stars > 1 || (t->count > 0 && t->stars > 0))
		return 8;
	return t->size > 0 ? t->size : 1;
}

/* r *= size, by way of spare */
static void scale(struct gen *g, unsigned r, unsigned spare, uint32_t size)
{
	if (size == 1)
		return;
	gen_put_number(g, spare, size);
	gen_put(g, PROBE_MUL, r, r, spare, 0);
}

static void gen_address(struct gen *g, const struct node *n, unsigned r)
{
	gen_expr(g, n->kid[0], r);
	if (n->kind == NODE_INDEX) {
		gen_expr(g, n->list, r + 1);
		scale(g, r + 1, r + 2, pointee_size(&n->kid[0]->type));
		gen_put(g, PROBE_ADD, r, r, r + 1, 0);
	} else if (n->member.offset != 0) {
		gen_put_number(g, r + 1, n->member.offset);
		gen_put(g, PROBE_ADD, r, r, r + 1, 0);
	}
}

static enum probe_width width_of(uint32_t size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? PROBE_S8 : PROBE_U8;
	case 2:
		return is_signed ? PROBE_S16 : PROBE_U16;
	case 4:
		return is_signed ? PROBE_S32 : PROBE_U32;
	default:
		return PROBE_U64;
	}
}

static void gen_bits(struct gen *g, const struct script_member *m, unsigned r)
{
	uint32_t bytes = (m->bit_shift + m->bit_size + 7U) / 8;
	uint32_t size = bytes <= 2 ? bytes : bytes <= 4 ? 4 : 8;

	gen_put(g, PROBE_LOAD, r, r, width_of(size, false), 0);
	if (m->bit_shift != 0) {
		gen_put_number(g, r + 1, m->bit_shift);
		gen_put(g, PROBE_SHR, r, r, r + 1, 0);
	}
	gen_put(g, m->type.is_signed ? PROBE_SEXT : PROBE_ZEXT, r, r, 0,
		m->bit_size);
}

static void gen_load(struct gen *g, const struct node *n, unsigned r)
{
	const struct script_type *t = &n->type;

	gen_address(g, n, r);
	if (t->count > 0 || (t->stars == 0 && t->kind == SCRIPT_STRUCT))
		return;
	if (n->member.bit_size != 0)
		gen_bits(g, &n->member, r);
	else
		gen_put(g, PROBE_LOAD, r, r,
			width_of(t->stars > 0 ? 8 : t->size, t->is_signed), 0);
}

/* -- Variables -- */

/* Into registers r and on; returns the first that is free again. */
unsigned gen_keys(struct gen *g, const struct node *list, unsigned r)
{
	for (; list != NULL; list = list->next)
		if (list->is != IS_STACK)
			gen_expr(g, list, r++);
	return r;
}

void gen_put_tuple(struct gen *g, const struct node *list, unsigned r)
{
	gen_put(g, PROBE_TUPLE, 0, 0, 0, 0);
	for (; list != NULL; list = list->next) {
		if (list->is == IS_STACK)
			gen_put(g, PROBE_KEY_STACK, 0, 0, 0,
				(int32_t)list->number);
		else if (check_is_text(&list->type))
			gen_put(g, PROBE_KEY_TEXT, 0, r++, 0, 0);
		else
			gen_put(g, PROBE_KEY, 0, r++, 0, 0);
	}
}

static const struct node *keys_of(const struct node *n)
{
	return n->kind == NODE_INDEX ? n->list : NULL;
}

/* The keys' values, if any, are in the registers from `keys` on. */
static void put_get(struct gen *g, const struct node *v, unsigned r,
		    unsigned keys)
{
	if (keys_of(v) != NULL)
		gen_put_tuple(g, keys_of(v), keys);
	gen_put(g, keys_of(v) != NULL ? PROBE_GET_KEY : PROBE_GET, r, 0, 0,
		(int32_t)v->number);
}

static void put_put(struct gen *g, const struct node *v, unsigned r,
		    unsigned keys)
{
	if (keys_of(v) != NULL)
		gen_put_tuple(g, keys_of(v), keys);
	gen_put(g, keys_of(v) != NULL ? PROBE_PUT_KEY : PROBE_PUT, 0, r, 0,
		(int32_t)v->number);
}

/* -- Operators -- */

static bool is_unsigned(const struct script_type *t)
{
	return t->stars > 0 || t->kind == SCRIPT_NAME || !t->is_signed;
}

static enum probe_op arithmetic(unsigned op, bool unsign)
{
	switch (op) {
	case '+':
		return PROBE_ADD;
	case '-':
		return PROBE_SUB;
	case '*':
		return PROBE_MUL;
	case '/':
		return unsign ? PROBE_UDIV : PROBE_SDIV;
	case '%':
		return unsign ? PROBE_UREM : PROBE_SREM;
	case '&':
		return PROBE_AND;
	case '|':
		return PROBE_OR;
	case '^':
		return PROBE_XOR;
	case OP2('<', '<'):
		return PROBE_SHL;
	default:
		return unsign ? PROBE_SHR : PROBE_SAR;
	}
}

/* a and b are in r and r + 1. */
static void put_comparison(struct gen *g, unsigned op, bool unsign, unsigned r)
{
	enum probe_op less = unsign ? PROBE_ULT : PROBE_SLT;
	enum probe_op most = unsign ? PROBE_ULE : PROBE_SLE;

	switch (op) {
	case OP2('=', '='):
		gen_put(g, PROBE_EQ, r, r, r + 1, 0);
		break;
	case OP2('!', '='):
		gen_put(g, PROBE_NE, r, r, r + 1, 0);
		break;
	case '<':
		gen_put(g, less, r, r, r + 1, 0);
		break;
	case '>':
		gen_put(g, less, r, r + 1, r, 0);
		break;
	case OP2('<', '='):
		gen_put(g, most, r, r, r + 1, 0);
		break;
	default:
		gen_put(g, most, r, r + 1, r, 0);
	}
}

static bool is_comparison(unsigned op)
{
	return op == '<' || op == '>' || op == OP2('<', '=') ||
	       op == OP2('>', '=') || op == OP2('=', '=') ||
	       op == OP2('!', '=');
}

static void gen_text_comparison(struct gen *g, const struct node *n, unsigned r)
{
	const struct node *a = n->kid[0], *b = n->kid[1];
	bool both = check_is_text(&a->type) && check_is_text(&b->type);

	if (!both) {
		gen_expr(g, check_is_text(&a->type) ? a : b, r);
		gen_put(g, PROBE_IS_NULL, r, r, 0, 0);
		if (n->op == OP2('!', '=')) {
			gen_put_number(g, r + 1, 1);
			gen_put(g, PROBE_XOR, r, r, r + 1, 0);
		}
		return;
	}
	gen_expr(g, a, r);
	gen_expr(g, b, r + 1);
	gen_put(g, PROBE_COMPARE, r, r, r + 1, 0);
	gen_put_number(g, r + 1, 0);
	put_comparison(g, n->op, false, r);
}

static void put_truth(struct gen *g, unsigned r)
{
	gen_put_number(g, r + 1, 0);
	gen_put(g, PROBE_NE, r, r, r + 1, 0);
}

static void gen_logical(struct gen *g, const struct node *n, unsigned r)
{
	size_t out;

	gen_expr(g, n->kid[0], r);
	put_truth(g, r);
	if (n->op == OP2('^', '^')) {
		gen_expr(g, n->kid[1], r + 1);
		put_truth(g, r + 1);
		gen_put(g, PROBE_XOR, r, r, r + 1, 0);
		return;
	}
	out = gen_put_jump(g, n->op == OP2('&', '&') ? PROBE_JZ : PROBE_JNZ, r);
	gen_expr(g, n->kid[1], r);
	put_truth(g, r);
	gen_land(g, out);
}

/* r = r op (r + 1), with operands of the types a and b */
static void put_arithmetic(struct gen *g, unsigned op,
			   const struct script_type *a,
			   const struct script_type *b,
			   const struct script_type *result, unsigned r)
{
	bool is_sum = op == '+' || op == '-';

	if (is_sum && a->stars > 0 && b->stars == 0)
		scale(g, r + 1, r + 2, pointee_size(a));
	if (is_sum && b->stars > 0 && a->stars == 0)
		scale(g, r, r + 2, pointee_size(b));
	gen_put(g, arithmetic(op, is_unsigned(result)), r, r, r + 1, 0);
}

static void gen_binary(struct gen *g, const struct node *n, unsigned r)
{
	const struct script_type *a = &n->kid[0]->type, *b = &n->kid[1]->type;
	bool unsign;

	if (n->op == OP2('&', '&') || n->op == OP2('|', '|') ||
	    n->op == OP2('^', '^')) {
		gen_logical(g, n, r);
		return;
	}
	if (check_is_text(a) || check_is_text(b)) {
		gen_text_comparison(g, n, r);
		return;
	}
	gen_expr(g, n->kid[0], r);
	gen_expr(g, n->kid[1], r + 1);
	/* C compares as unsigned only at the operands' full width. */
	unsign = (is_unsigned(a) && (a->stars > 0 || a->size >= 4) &&
		  (b->stars > 0 || a->size >= b->size || a->stars > 0)) ||
		 (is_unsigned(b) && (b->stars > 0 || b->size >= 4) &&
		  (a->stars > 0 || b->size >= a->size || b->stars > 0));
	if (is_comparison(n->op))
		put_comparison(g, n->op, unsign, r);
	else
		put_arithmetic(g, n->op, a, b, &n->type, r);
}

static void gen_step(struct gen *g, const struct node *n, unsigned r)
{
	const struct node *v = n->kid[0];
	unsigned keys = r + 1, top = gen_keys(g, keys_of(v), keys);
	int32_t by = n->op == OP2('-', '-') ? -1 : 1;

	if (v->type.stars > 0)
		by *= (int32_t)pointee_size(&v->type);
	put_get(g, v, r, keys);
	gen_put_number(g, top, (uint64_t)(int64_t)by);
	gen_put(g, PROBE_ADD, top, r, top, 0);
	narrow(g, top, &v->type);
	put_put(g, v, top, keys);
	if (n->kind == NODE_UNARY)
		gen_put(g, PROBE_MOVE, r, top, 0, 0);
}

static void gen_unary(struct gen *g, const struct node *n, unsigned r)
{
	if (n->op == OP2('+', '+') || n->op == OP2('-', '-')) {
		gen_step(g, n, r);
		return;
	}
	if (n->op == '&') {
		gen_address(g, n->kid[0], r);
		return;
	}
	gen_expr(g, n->kid[0], r);
	if (n->op == '-') {
		gen_put(g, PROBE_NEG, r, r, 0, 0);
	} else if (n->op == '~') {
		gen_put(g, PROBE_NOT, r, r, 0, 0);
	} else if (n->op == '!') {
		gen_put_number(g, r + 1, 0);
		gen_put(g, PROBE_EQ, r, r, r + 1, 0);
	}
}

static void gen_choice(struct gen *g, const struct node *n, unsigned r)
{
	size_t other, out;

	gen_expr(g, n->kid[0], r);
	other = gen_put_jump(g, PROBE_JZ, r);
	gen_expr(g, n->kid[1], r);
	out = gen_put_jump(g, PROBE_JUMP, 0);
	gen_land(g, other);
	gen_expr(g, n->kid[2], r);
	gen_land(g, out);
}

static void gen_assign(struct gen *g, const struct node *n, unsigned r)
{
	const struct node *v = n->kid[0], *value = n->kid[1];
	unsigned keys = r + 1, top = gen_keys(g, keys_of(v), keys);

	if (n->op != '=') {
		put_get(g, v, top, keys);
		gen_expr(g, value, top + 1);
		put_arithmetic(g, n->op, &v->type, &value->type, &v->type, top);
		gen_put(g, PROBE_MOVE, r, top, 0, 0);
	} else if (check_is_text(&v->type) && !check_is_text(&value->type)) {
		gen_put(g, PROBE_NULL, r, 0, 0, 0);
	} else if (keys_of(v) == NULL) {
		gen_expr(g, value, r);
	} else {
		gen_expr(g, value, top);
		gen_put(g, PROBE_MOVE, r, top, 0, 0);
	}
	narrow(g, r, &v->type);
	put_put(g, v, r, keys);
}

static void gen_cast(struct gen *g, const struct node *n, unsigned r)
{
	gen_expr(g, n->kid[0], r);
	if (check_is_text(&n->type) && !check_is_text(&n->kid[0]->type)) {
		gen_put_number(g, r + 1, PROBE_STRING_MAX);
		gen_put(g, PROBE_CALL, r, r, 0, PROBE_CALL_COPYINSTR);
	} else {
		narrow(g, r, &n->type);
	}
}

static void gen_call(struct gen *g, const struct node *n, unsigned r)
{
	struct probe_signature f = probe_signature_of(n->number);
	unsigned i = 0;

	for (const struct node *a = n->list; a != NULL; a = a->next)
		gen_expr(g, a, r + i++);
	for (; f.in[i] != '\0'; i++)
		gen_put_number(g, r + i, (uint64_t)(int64_t)f.otherwise);
	gen_put(g, PROBE_CALL, r, r, 0, (int32_t)n->number);
}

static void gen_known(struct gen *g, const struct node *n, unsigned r)
{
	switch (n->is) {
	case IS_ARG:
		gen_put(g, PROBE_ARG, r, 0, 0, (int32_t)n->number);
		narrow(g, r, &n->type);
		break;
	case IS_BUILTIN:
		gen_put(g,
			n->number >= PROBE_BUILTIN_FIRST_TEXT
			    ? PROBE_BUILTIN_TEXT
			    : PROBE_BUILTIN,
			r, 0, 0, (int32_t)n->number);
		break;
	case IS_UREGS:
		gen_expr(g, n->list, r);
		gen_put(g, PROBE_UREG, r, r, 0, 0);
		break;
	case IS_CONST:
		gen_put_number(g, r, n->value);
		break;
	case IS_VARIABLE:
		gen_keys(g, keys_of(n), r + 1);
		put_get(g, n, r, r + 1);
		break;
	case IS_MEMBER:
		gen_load(g, n, r);
		break;
	case IS_FUNCTION:
		gen_call(g, n, r);
		break;
	default: /* IS_NAMED */
		gen_expr(g, n->list, r);
	}
}

void gen_expr(struct gen *g, const struct node *n, unsigned r)
{
	g->place = n->place;
	reg(g, r);
	if (g->s->is_over || g->s->mistakes.n > 0)
		return;
	if (n->is != IS_PLAIN) {
		gen_known(g, n, r);
		return;
	}
	switch (n->kind) {
	case NODE_NUMBER:
		gen_put_number(g, r, n->value);
		break;
	case NODE_TEXT:
		gen_put(g, PROBE_TEXT, r, 0, 0,
			(int32_t)gen_text_of(g, n->name));
		break;
	case NODE_UNARY:
		gen_unary(g, n, r);
		break;
	case NODE_POSTFIX:
		gen_step(g, n, r);
		break;
	case NODE_BINARY:
		gen_binary(g, n, r);
		break;
	case NODE_ASSIGN:
		gen_assign(g, n, r);
		break;
	case NODE_CHOICE:
		gen_choice(g, n, r);
		break;
	default:
		gen_cast(g, n, r);
	}
}

// NOLINTEND(misc-no-recursion)
