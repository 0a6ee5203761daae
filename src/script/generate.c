/* script/generate.c - byte code from checked nodes.
 *
 * The value of a node comes into the register it is asked for; what it needs
 * meanwhile lies in the registers above. So the deepest expression needs as
 * many registers as it is deep, and the machine has PROBE_REGISTERS. */
#include "script/aggregate.h"
#include "script/check_priv.h"

#include <stdlib.h>
#include <string.h>

struct gen {
	struct script *s;
	struct place place; /* of the node at work, for mistakes */
	struct {
		VEC(struct probe_insn);
	} code;
	struct {
		VEC(uint64_t);
	} constants;
	struct {
		VEC(struct probe_action);
	} actions;
	struct {
		VEC(struct probe_part);
	} parts;
	struct {
		VEC(struct probe_clause);
	} clauses;
	struct {
		VEC(struct probe_description);
	} descriptions;
	struct {
		VEC(struct probe_variable);
	} variables;
	struct {
		VEC(struct probe_aggregation);
	} aggregations;
	struct {
		VEC(char);
	} texts;
	uint32_t n_slots[PROBE_SCOPE_MAX][2];
	uint32_t output; /* of this clause */
};

static void gen_expr(struct gen *g, const struct node *n, unsigned r);

/* -- Tables -- */

#define PUSH(g, vec, ...)                                           \
	do {                                                        \
		__typeof__((g)->vec.at) push_ =                     \
		    vec_push(&(g)->vec, &(g)->s->heap);             \
		if (push_ == NULL)                                  \
			(g)->s->no_memory = (g)->s->is_over = true; \
		else                                                \
			*push_ = (__typeof__(*push_)){__VA_ARGS__}; \
	} while (0)

static uint32_t text_of(struct gen *g, const char *text)
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

static uint32_t constant_of(struct gen *g, uint64_t value)
{
	for (size_t i = 0; i < g->constants.n; i++)
		if (g->constants.at[i] == value)
			return (uint32_t)i;
	PUSH(g, constants, value);
	return (uint32_t)(g->constants.n - 1);
}

static void part_add(struct gen *g, struct probe_part part)
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

static void put(struct gen *g, enum probe_op op, unsigned d, unsigned a,
		unsigned b, int32_t imm)
{
	struct probe_insn i = {.op = (uint8_t)op, .imm = imm};

	i.d = reg(g, d);
	i.a = reg(g, a);
	i.b = reg(g, b);
	PUSH(g, code, i.op, i.d, i.a, i.b, i.imm);
}

static size_t put_jump(struct gen *g, enum probe_op op, unsigned a)
{
	put(g, op, 0, a, 0, 0);
	return g->code.n - 1;
}

static void land(struct gen *g, size_t jump)
{
	if (!g->s->is_over)
		g->code.at[jump].imm = (int32_t)(g->code.n - jump - 1);
}

static void put_number(struct gen *g, unsigned r, uint64_t value)
{
	if ((int64_t)value == (int32_t)value)
		put(g, PROBE_IMM, r, 0, 0, (int32_t)value);
	else
		put(g, PROBE_CONST, r, 0, 0, (int32_t)constant_of(g, value));
}

static void narrow(struct gen *g, unsigned r, const struct script_type *t)
{
	if (t->stars == 0 && t->count == 0 && t->kind == SCRIPT_INT &&
	    t->size < 8)
		put(g, t->is_signed ? PROBE_SEXT : PROBE_ZEXT, r, r, 0,
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
	put_number(g, spare, size);
	put(g, PROBE_MUL, r, r, spare, 0);
}

static void gen_address(struct gen *g, const struct node *n, unsigned r)
{
	gen_expr(g, n->kid[0], r);
	if (n->kind == NODE_INDEX) {
		gen_expr(g, n->list, r + 1);
		scale(g, r + 1, r + 2, pointee_size(&n->kid[0]->type));
		put(g, PROBE_ADD, r, r, r + 1, 0);
	} else if (n->member.offset != 0) {
		put_number(g, r + 1, n->member.offset);
		put(g, PROBE_ADD, r, r, r + 1, 0);
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

	put(g, PROBE_LOAD, r, r, width_of(size, false), 0);
	if (m->bit_shift != 0) {
		put_number(g, r + 1, m->bit_shift);
		put(g, PROBE_SHR, r, r, r + 1, 0);
	}
	put(g, m->type.is_signed ? PROBE_SEXT : PROBE_ZEXT, r, r, 0,
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
		put(g, PROBE_LOAD, r, r,
		    width_of(t->stars > 0 ? 8 : t->size, t->is_signed), 0);
}

/* -- Variables -- */

/* Into registers r and on; returns the first that is free again. */
static unsigned gen_keys(struct gen *g, const struct node *list, unsigned r)
{
	for (; list != NULL; list = list->next)
		if (list->is != IS_STACK)
			gen_expr(g, list, r++);
	return r;
}

static void put_tuple(struct gen *g, const struct node *list, unsigned r)
{
	put(g, PROBE_TUPLE, 0, 0, 0, 0);
	for (; list != NULL; list = list->next) {
		if (list->is == IS_STACK)
			put(g, PROBE_KEY_STACK, 0, 0, 0, (int32_t)list->number);
		else if (check_is_text(&list->type))
			put(g, PROBE_KEY_TEXT, 0, r++, 0, 0);
		else
			put(g, PROBE_KEY, 0, r++, 0, 0);
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
		put_tuple(g, keys_of(v), keys);
	put(g, keys_of(v) != NULL ? PROBE_GET_KEY : PROBE_GET, r, 0, 0,
	    (int32_t)v->number);
}

static void put_put(struct gen *g, const struct node *v, unsigned r,
		    unsigned keys)
{
	if (keys_of(v) != NULL)
		put_tuple(g, keys_of(v), keys);
	put(g, keys_of(v) != NULL ? PROBE_PUT_KEY : PROBE_PUT, 0, r, 0,
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
		put(g, PROBE_EQ, r, r, r + 1, 0);
		break;
	case OP2('!', '='):
		put(g, PROBE_NE, r, r, r + 1, 0);
		break;
	case '<':
		put(g, less, r, r, r + 1, 0);
		break;
	case '>':
		put(g, less, r, r + 1, r, 0);
		break;
	case OP2('<', '='):
		put(g, most, r, r, r + 1, 0);
		break;
	default:
		put(g, most, r, r + 1, r, 0);
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
		put(g, PROBE_IS_NULL, r, r, 0, 0);
		if (n->op == OP2('!', '=')) {
			put_number(g, r + 1, 1);
			put(g, PROBE_XOR, r, r, r + 1, 0);
		}
		return;
	}
	gen_expr(g, a, r);
	gen_expr(g, b, r + 1);
	put(g, PROBE_COMPARE, r, r, r + 1, 0);
	put_number(g, r + 1, 0);
	put_comparison(g, n->op, false, r);
}

static void put_truth(struct gen *g, unsigned r)
{
	put_number(g, r + 1, 0);
	put(g, PROBE_NE, r, r, r + 1, 0);
}

static void gen_logical(struct gen *g, const struct node *n, unsigned r)
{
	size_t out;

	gen_expr(g, n->kid[0], r);
	put_truth(g, r);
	if (n->op == OP2('^', '^')) {
		gen_expr(g, n->kid[1], r + 1);
		put_truth(g, r + 1);
		put(g, PROBE_XOR, r, r, r + 1, 0);
		return;
	}
	out = put_jump(g, n->op == OP2('&', '&') ? PROBE_JZ : PROBE_JNZ, r);
	gen_expr(g, n->kid[1], r);
	put_truth(g, r);
	land(g, out);
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
	put(g, arithmetic(op, is_unsigned(result)), r, r, r + 1, 0);
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
	put_number(g, top, (uint64_t)(int64_t)by);
	put(g, PROBE_ADD, top, r, top, 0);
	narrow(g, top, &v->type);
	put_put(g, v, top, keys);
	if (n->kind == NODE_UNARY)
		put(g, PROBE_MOVE, r, top, 0, 0);
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
		put(g, PROBE_NEG, r, r, 0, 0);
	} else if (n->op == '~') {
		put(g, PROBE_NOT, r, r, 0, 0);
	} else if (n->op == '!') {
		put_number(g, r + 1, 0);
		put(g, PROBE_EQ, r, r, r + 1, 0);
	}
}

static void gen_choice(struct gen *g, const struct node *n, unsigned r)
{
	size_t other, out;

	gen_expr(g, n->kid[0], r);
	other = put_jump(g, PROBE_JZ, r);
	gen_expr(g, n->kid[1], r);
	out = put_jump(g, PROBE_JUMP, 0);
	land(g, other);
	gen_expr(g, n->kid[2], r);
	land(g, out);
}

static void gen_assign(struct gen *g, const struct node *n, unsigned r)
{
	const struct node *v = n->kid[0], *value = n->kid[1];
	unsigned keys = r + 1, top = gen_keys(g, keys_of(v), keys);

	if (n->op != '=') {
		put_get(g, v, top, keys);
		gen_expr(g, value, top + 1);
		put_arithmetic(g, n->op, &v->type, &value->type, &v->type, top);
		put(g, PROBE_MOVE, r, top, 0, 0);
	} else if (check_is_text(&v->type) && !check_is_text(&value->type)) {
		put(g, PROBE_NULL, r, 0, 0, 0);
	} else if (keys_of(v) == NULL) {
		gen_expr(g, value, r);
	} else {
		gen_expr(g, value, top);
		put(g, PROBE_MOVE, r, top, 0, 0);
	}
	narrow(g, r, &v->type);
	put_put(g, v, r, keys);
}

static void gen_cast(struct gen *g, const struct node *n, unsigned r)
{
	gen_expr(g, n->kid[0], r);
	if (check_is_text(&n->type) && !check_is_text(&n->kid[0]->type)) {
		put_number(g, r + 1, PROBE_STRING_MAX);
		put(g, PROBE_CALL, r, r, 0, PROBE_CALL_COPYINSTR);
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
		put_number(g, r + i, (uint64_t)(int64_t)f.otherwise);
	put(g, PROBE_CALL, r, r, 0, (int32_t)n->number);
}

static void gen_known(struct gen *g, const struct node *n, unsigned r)
{
	switch (n->is) {
	case IS_ARG:
		put(g, PROBE_ARG, r, 0, 0, (int32_t)n->number);
		narrow(g, r, &n->type);
		break;
	case IS_BUILTIN:
		put(g,
		    n->number >= PROBE_BUILTIN_FIRST_TEXT ? PROBE_BUILTIN_TEXT
							  : PROBE_BUILTIN,
		    r, 0, 0, (int32_t)n->number);
		break;
	case IS_UREGS:
		gen_expr(g, n->list, r);
		put(g, PROBE_UREG, r, r, 0, 0);
		break;
	case IS_CONST:
		put_number(g, r, n->value);
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

static void gen_expr(struct gen *g, const struct node *n, unsigned r)
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
		put_number(g, r, n->value);
		break;
	case NODE_TEXT:
		put(g, PROBE_TEXT, r, 0, 0, (int32_t)text_of(g, n->name));
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

/* -- Actions -- */

static void action(struct gen *g, enum probe_action_kind kind, const char *text,
		   uint32_t aggregation)
{
	struct probe_action a = {.kind = (uint8_t)kind};

	a.first_arg = (uint32_t)g->parts.n;
	a.format = text_of(g, text);
	a.aggregation = aggregation;
	PUSH(g, actions, a.kind, 0, 0, a.first_arg, a.format, a.aggregation);
	put(g, PROBE_EMIT, 0, 0, 0, (int32_t)g->actions.n - 1);
	g->output += sizeof(struct probe_entry);
}

static void argument_is(struct gen *g, struct probe_part part)
{
	if (g->s->is_over)
		return;
	if (g->actions.at[g->actions.n - 1].n_args == PROBE_ARGS_MAX) {
		mistake(g->s, SCRIPT_TOO_LARGE, g->place,
			"more than %u arguments", PROBE_ARGS_MAX);
		return;
	}
	part_add(g, part);
	g->actions.at[g->actions.n - 1].n_args++;
	g->output += probe_part_max(&part, g->s->settings.string_size);
}

static void argument(struct gen *g, const struct node *n)
{
	struct probe_part part = check_part(n);

	if (n->is != IS_STACK)
		gen_expr(g, n, 0);
	argument_is(g, part);
	if (part.kind == PROBE_STACK)
		put(g, PROBE_OUT_STACK, 0, 0, 0, (int32_t)part.len);
	else
		put(g, part.kind == PROBE_STRING ? PROBE_OUT_TEXT : PROBE_OUT,
		    0, 0, 0, 0);
}

static void gen_formatted(struct gen *g, enum probe_action_kind kind,
			  const struct node *n)
{
	action(g, kind, n->list->name, PROBE_NO_AGGREGATION);
	for (const struct node *a = n->list->next; a != NULL; a = a->next)
		argument(g, a);
}

static void gen_on_aggregation(struct gen *g, enum probe_action_kind kind,
			       const struct node *n)
{
	action(g, kind, "", n->list->number);
	if (n->list->next != NULL)
		argument(g, n->list->next);
}

static void gen_printa(struct gen *g, const struct node *n)
{
	if (n->list->kind == NODE_AGGREGATION)
		action(g, PROBE_PRINTA, "", n->list->number);
	else
		action(g, PROBE_PRINTA, n->list->name, n->list->next->number);
}

static void gen_tracemem(struct gen *g, const struct node *n)
{
	struct probe_part part = {.kind = PROBE_BYTES};
	int64_t len = 0;

	check_const(n->list->next, &len);
	part.len = (uint32_t)len;
	action(g, PROBE_TRACE, "", PROBE_NO_AGGREGATION);
	gen_expr(g, n->list, 0);
	argument_is(g, part);
	put(g, PROBE_OUT_BYTES, 0, 0, 0, (int32_t)len);
}

static void gen_value(struct gen *g, enum probe_action_kind kind,
		      const struct node *n)
{
	action(g, kind, "", PROBE_NO_AGGREGATION);
	argument(g, n);
}

static void gen_effect(struct gen *g, enum probe_op op, const struct node *n)
{
	if (n->list != NULL)
		gen_expr(g, n->list, 0);
	put(g, op, 0, 0, 0, 0);
}

static void gen_action(struct gen *g, const struct node *n)
{
	/* ORDER action_word; what has no other way is an effect. */
	static const uint8_t as[ACTION_MAX] = {
	    [ACTION_PRINTF] = PROBE_PRINTF,
	    [ACTION_TRACE] = PROBE_TRACE,
	    [ACTION_PRINT] = PROBE_PRINT,
	    [ACTION_EXIT] = PROBE_EXIT,
	    [ACTION_CLEAR] = PROBE_CLEAR,
	    [ACTION_TRUNC] = PROBE_TRUNC,
	    [ACTION_NORMALIZE] = PROBE_NORMALIZE,
	    [ACTION_DENORMALIZE] = PROBE_DENORMALIZE,
	    [ACTION_SYSTEM] = PROBE_SYSTEM,
	    [ACTION_FREOPEN] = PROBE_FREOPEN,
	    [ACTION_SPECULATE] = PROBE_SPECULATE,
	    [ACTION_COMMIT] = PROBE_COMMIT,
	    [ACTION_DISCARD] = PROBE_DISCARD,
	    [ACTION_STOP] = PROBE_STOP,
	    [ACTION_RAISE] = PROBE_RAISE,
	};

	switch (n->number) {
	case ACTION_PRINTF:
	case ACTION_SYSTEM:
	case ACTION_FREOPEN:
		gen_formatted(g, as[n->number], n);
		break;
	case ACTION_PRINTA:
		gen_printa(g, n);
		break;
	case ACTION_TRACEMEM:
		gen_tracemem(g, n);
		break;
	case ACTION_TRACE:
	case ACTION_PRINT:
	case ACTION_EXIT:
		gen_value(g, as[n->number], n->list);
		break;
	case ACTION_CLEAR:
	case ACTION_TRUNC:
	case ACTION_NORMALIZE:
	case ACTION_DENORMALIZE:
		gen_on_aggregation(g, as[n->number], n);
		break;
	default:
		gen_effect(g, as[n->number], n);
	}
}

static unsigned n_limits(unsigned how)
{
	return how == PROBE_LQUANTIZE ? 3 : how == PROBE_LLQUANTIZE ? 4 : 0;
}

static void gen_aggregate(struct gen *g, const struct node *n)
{
	const struct node *call = n->kid[1], *weight = call->list;
	unsigned skip = n_limits(call->number);

	if (call->list != NULL)
		gen_expr(g, call->list, 0);
	else
		put_number(g, 0, 1);
	if (weight != NULL)
		weight = weight->next;
	for (; skip > 0 && weight != NULL; skip--)
		weight = weight->next;
	if (weight != NULL)
		gen_expr(g, weight, 1);
	else
		put_number(g, 1, 1);
	gen_keys(g, n->kid[0]->list, 2);
	put_tuple(g, n->kid[0]->list, 2);
	put(g, PROBE_AGGREGATE, 0, 0, 1, (int32_t)n->kid[0]->number);
}

/* -- Statements and clauses -- */

static void gen_statements(struct gen *g, const struct node *list);

// NOLINTNEXTLINE(misc-no-recursion): NEST_MAX
static void gen_if(struct gen *g, const struct node *n)
{
	size_t other, out;

	gen_expr(g, n->kid[0], 0);
	other = put_jump(g, PROBE_JZ, 0);
	gen_statements(g, n->list);
	if (n->other == NULL) {
		land(g, other);
		return;
	}
	out = put_jump(g, PROBE_JUMP, 0);
	land(g, other);
	gen_statements(g, n->other);
	land(g, out);
}

// NOLINTNEXTLINE(misc-no-recursion): NEST_MAX
static void gen_statements(struct gen *g, const struct node *list)
{
	for (const struct node *n = list; n != NULL; n = n->next) {
		const struct node *e = n->kid[0];

		g->place = n->place;
		if (g->s->is_over || g->s->mistakes.n > 0)
			return;
		if (n->kind == NODE_IF)
			gen_if(g, n);
		else if (e->kind == NODE_ASSIGN &&
			 e->kid[0]->kind == NODE_AGGREGATION)
			gen_aggregate(g, e);
		else if (e->is == IS_ACTION)
			gen_action(g, e);
		else if (e->is == IS_STACK || e->is == IS_NAMED)
			gen_value(g, PROBE_TRACE, e);
		else
			gen_expr(g, e, 0);
	}
}

static bool source_of(struct gen *g, const struct node *n,
		      struct probe_clause *out)
{
	if (n->is == IS_ARG && (n->type.size == 8 || n->type.stars > 0)) {
		out->hot_source = PROBE_FROM_ARG;
		out->hot_number = n->number;
	} else if (n->is == IS_BUILTIN) {
		out->hot_source = PROBE_FROM_BUILTIN;
		out->hot_number = n->number;
	} else if (n->kind == NODE_TEXT) {
		out->hot_source = PROBE_FROM_TEXT;
		out->hot_number = text_of(g, n->name);
	} else if (n->kind == NODE_NUMBER) {
		out->hot_source = PROBE_FROM_CONST;
		out->hot_number = constant_of(g, n->value);
	} else {
		return false;
	}
	return true;
}

static void mark_hot(struct gen *g, const struct clause *c,
		     struct probe_clause *out)
{
	const struct node *e = c->body != NULL ? c->body->kid[0] : NULL;
	const struct node *keys, *call;
	unsigned n_keys, n_args;

	if (e == NULL || c->body->next != NULL || c->predicate != NULL ||
	    c->body->kind != NODE_DO || e->kind != NODE_ASSIGN ||
	    e->kid[0]->kind != NODE_AGGREGATION)
		return;
	keys = e->kid[0]->list;
	call = e->kid[1];
	n_keys = check_count(keys);
	n_args = check_count(call->list);
	if (call->number == PROBE_COUNT && n_keys == 0)
		out->hot = PROBE_HOT_COUNT;
	else if (call->number == PROBE_COUNT && n_keys == 1 &&
		 source_of(g, keys, out))
		out->hot = PROBE_HOT_COUNT_KEYED;
	else if (call->number == PROBE_QUANTIZE && n_keys == 0 && n_args == 1 &&
		 source_of(g, call->list, out))
		out->hot = PROBE_HOT_QUANTIZE;
	if (out->hot != PROBE_NOT_HOT)
		out->hot_aggregation = e->kid[0]->number;
}

// NOLINTNEXTLINE(misc-no-recursion): NEST_MAX
static uint8_t flags_of(const struct node *list)
{
	uint8_t flags = 0;

	for (const struct node *n = list; n != NULL; n = n->next) {
		const struct node *e = n->kid[0];

		flags |= flags_of(n->list) | flags_of(n->other);
		if (n->kind == NODE_IF || e->is != IS_ACTION)
			continue;
		if (e->number == ACTION_STOP || e->number == ACTION_RAISE)
			flags |= PROBE_IS_DESTRUCTIVE;
		if (e->number == ACTION_SPECULATE)
			flags |= PROBE_SPECULATES;
	}
	return flags;
}

static void gen_description(struct gen *g, const struct description *d)
{
	struct probe_description out = {.when = d->when};

	out.provider = text_of(g, d->part[0]);
	out.module = text_of(g, d->part[1]);
	out.function = text_of(g, d->part[2]);
	out.name = text_of(g, d->part[3]);
	PUSH(g, descriptions, out.provider, out.module, out.function, out.name,
	     out.when, 0, d->period_ns);
}

static void gen_body(struct gen *g, const struct clause *c)
{
	size_t reserve;

	if (c->predicate != NULL) {
		gen_expr(g, c->predicate, 0);
		put(g, PROBE_JNZ, 0, 0, 0, 1);
		put(g, PROBE_RET, 0, 0, 0, 0);
	}
	reserve = g->code.n;
	put(g, PROBE_RESERVE, 0, 0, 0, 0);
	if (c->body == NULL)
		action(g, PROBE_DEFAULT, "", PROBE_NO_AGGREGATION);
	gen_statements(g, c->body);
	put(g, PROBE_RET, 0, 0, 0, 0);
	if (g->output == 0 && !g->s->is_over) {
		/* Nothing is put out: the place of RESERVE is closed. */
		memmove(&g->code.at[reserve], &g->code.at[reserve + 1],
			(g->code.n - reserve - 1) * sizeof *g->code.at);
		g->code.n--;
	}
}

static void gen_clause(struct gen *g, const struct clause *c)
{
	struct probe_clause out = {.line = c->place.line};

	out.first_description = (uint32_t)g->descriptions.n;
	for (const struct description *d = c->descriptions; d; d = d->next)
		gen_description(g, d);
	out.n_descriptions =
	    (uint32_t)g->descriptions.n - out.first_description;
	out.first_insn = (uint32_t)g->code.n;
	out.flags = flags_of(c->body);
	if (c->predicate != NULL)
		out.flags |= PROBE_HAS_PREDICATE;
	g->output = 0;
	gen_body(g, c);
	mark_hot(g, c, &out);
	out.n_insns = (uint32_t)g->code.n - out.first_insn;
	out.output_max = g->output;
	if (out.n_insns > PROBE_CODE_MAX || out.output_max > PROBE_OUTPUT_MAX)
		mistake(g->s, SCRIPT_TOO_LARGE, c->place,
			"the clause has %u instructions (of at most %u) and "
			"puts out %u bytes (of %u)",
			out.n_insns, PROBE_CODE_MAX, out.output_max,
			PROBE_OUTPUT_MAX);
	if (vec_push(&g->clauses, &g->s->heap) == NULL)
		g->s->no_memory = g->s->is_over = true;
	else
		g->clauses.at[g->clauses.n - 1] = out;
}

/* -- Tables of named things -- */

static void gen_variable(struct gen *g, const struct variable *v)
{
	static const struct probe_part text = {.kind = PROBE_STRING};
	static const struct probe_part number = {
	    .kind = PROBE_NUMBER, .size = 8, .is_signed = 1};
	struct probe_variable out = {.scope = (uint8_t)v->scope};
	bool is_text = check_is_text(&v->type);

	out.name = text_of(g, v->name);
	out.kind = is_text ? PROBE_STRING : PROBE_NUMBER;
	out.n_keys = (uint8_t)v->n_keys;
	out.first_key = (uint32_t)g->parts.n;
	if (v->n_keys == 0)
		out.slot = g->n_slots[v->scope][is_text]++;
	for (unsigned i = 0; i < v->n_keys; i++)
		part_add(g, check_is_text(&v->key[i]) ? text : number);
	PUSH(g, variables, out.name, out.scope, out.kind, out.n_keys, 0,
	     out.slot, out.first_key);
}

static void gen_aggregation(struct gen *g, const struct aggregation *a)
{
	struct probe_aggregation out = {.how = (uint8_t)a->how};

	out.name = text_of(g, a->name);
	out.n_keys = (uint8_t)a->n_keys;
	out.first_key = (uint32_t)g->parts.n;
	memcpy(out.how_arg, a->how_arg, sizeof out.how_arg);
	out.n_cells = (uint16_t)aggregate_cells(&out);
	for (unsigned i = 0; i < a->n_keys; i++)
		part_add(g, a->key[i]);
	if (vec_push(&g->aggregations, &g->s->heap) == NULL)
		g->s->no_memory = g->s->is_over = true;
	else
		g->aggregations.at[g->aggregations.n - 1] = out;
}

/* -- The program -- */

static struct probe_table place(uint64_t *size, size_t n, size_t each)
{
	struct probe_table t = {.offset = (uint32_t)*size, .n = (uint32_t)n};

	*size = (*size + n * each + 7) & ~7ULL;
	return t;
}

static void pack(struct gen *g)
{
	struct probe_program h = {.magic = PROBE_MAGIC,
				  .version = PROBE_VERSION};
	uint64_t size = sizeof h;
	uint8_t *out;

#define TABLES(T)       \
	T(clauses)      \
	T(descriptions) \
	T(code)         \
	T(constants) T(variables) T(aggregations) T(actions) T(parts) T(texts)
#define T(name) h.name = place(&size, g->name.n, sizeof *g->name.at);
	TABLES(T)
#undef T
	if (size > PROBE_PROGRAM_MAX) {
		mistake(g->s, SCRIPT_TOO_LARGE, (struct place){1, 1},
			"the script has more than %u bytes of code",
			PROBE_PROGRAM_MAX);
		return;
	}
	h.size = (uint32_t)size;
	h.string_size = g->s->settings.string_size;
	memcpy(h.n_slots, g->n_slots, sizeof h.n_slots);
	out = calloc(1, size);
	if (out == NULL) {
		g->s->no_memory = true;
		return;
	}
	memcpy(out, &h, sizeof h);
#define T(name)                                         \
	if (g->name.n > 0)                              \
		memcpy(out + h.name.offset, g->name.at, \
		       g->name.n * sizeof *g->name.at);
	TABLES(T)
#undef T
	g->s->program = (struct probe_program *)(void *)out;
	g->s->program_size = h.size;
}

void script_generate(struct script *s)
{
	struct gen g = {.s = s};

	text_of(&g, "");
	for (size_t i = 0; i < s->variables.n; i++)
		gen_variable(&g, &s->variables.at[i]);
	for (size_t i = 0; i < s->aggregations.n; i++)
		gen_aggregation(&g, &s->aggregations.at[i]);
	for (const struct clause *c = s->clauses; c != NULL; c = c->next)
		if (!s->is_over)
			gen_clause(&g, c);
	if (!s->is_over && s->mistakes.n == 0)
		pack(&g);
#define T(name) vec_free(&g.name, &s->heap);
	TABLES(T)
#undef T
}
