/* script/generate.c - byte code from checked clauses, and the whole program.
 *
 * Actions, statements, clauses, the tables of what has a name; and all of it
 * in one piece. Expressions are generate_expression.c's. */
#include "script/generate_priv.h"

#include "script/aggregate.h"

#include <stdlib.h>
#include <string.h>

/* -- Actions -- */

static void action(struct gen *g, enum probe_action_kind kind, const char *text,
		   uint32_t aggregation)
{
	struct probe_action a = {.kind = (uint8_t)kind};

	a.first_arg = (uint32_t)g->parts.n;
	a.format = gen_text_of(g, text);
	a.aggregation = aggregation;
	PUSH(g, actions, a.kind, 0, 0, a.first_arg, a.format, a.aggregation);
	gen_put(g, PROBE_EMIT, 0, 0, 0, (int32_t)g->actions.n - 1);
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
	gen_part_add(g, part);
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
		gen_put(g, PROBE_OUT_STACK, 0, 0, 0, (int32_t)part.len);
	else
		gen_put(g,
			part.kind == PROBE_STRING ? PROBE_OUT_TEXT : PROBE_OUT,
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

/* One more aggregation of the printa that action `first` is. */
static void gen_beside(struct gen *g, size_t first, uint32_t aggregation)
{
	PUSH(g, actions, PROBE_BESIDE, 0, 0, (uint32_t)g->parts.n,
	     gen_text_of(g, ""), aggregation);
	if (!g->s->is_over)
		g->actions.at[first].n_beside++;
}

static void gen_printa(struct gen *g, const struct node *n)
{
	bool has_format = n->list->kind != NODE_AGGREGATION;
	const struct node *a = has_format ? n->list->next : n->list;
	size_t first = g->actions.n;

	action(g, PROBE_PRINTA, has_format ? n->list->name : "", a->number);
	for (a = a->next; a != NULL; a = a->next)
		gen_beside(g, first, a->number);
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
	gen_put(g, PROBE_OUT_BYTES, 0, 0, 0, (int32_t)len);
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
	gen_put(g, op, 0, 0, 0, 0);
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
		gen_put_number(g, 0, 1);
	if (weight != NULL)
		weight = weight->next;
	for (; skip > 0 && weight != NULL; skip--)
		weight = weight->next;
	if (weight != NULL)
		gen_expr(g, weight, 1);
	else
		gen_put_number(g, 1, 1);
	gen_keys(g, n->kid[0]->list, 2);
	gen_put_tuple(g, n->kid[0]->list, 2);
	gen_put(g, PROBE_AGGREGATE, 0, 0, 1, (int32_t)n->kid[0]->number);
}

/* -- Statements and clauses -- */

static void gen_statements(struct gen *g, const struct node *list);

// NOLINTNEXTLINE(misc-no-recursion): NEST_MAX
static void gen_if(struct gen *g, const struct node *n)
{
	size_t other, out;

	gen_expr(g, n->kid[0], 0);
	other = gen_put_jump(g, PROBE_JZ, 0);
	gen_statements(g, n->list);
	if (n->other == NULL) {
		gen_land(g, other);
		return;
	}
	out = gen_put_jump(g, PROBE_JUMP, 0);
	gen_land(g, other);
	gen_statements(g, n->other);
	gen_land(g, out);
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
		out->hot_number = gen_text_of(g, n->name);
	} else if (n->kind == NODE_NUMBER) {
		out->hot_source = PROBE_FROM_CONST;
		out->hot_number = gen_constant_of(g, n->value);
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

	out.provider = gen_text_of(g, d->part[0]);
	out.module = gen_text_of(g, d->part[1]);
	out.function = gen_text_of(g, d->part[2]);
	out.name = gen_text_of(g, d->part[3]);
	PUSH(g, descriptions, out.provider, out.module, out.function, out.name,
	     out.when, 0, d->period_ns);
}

static void gen_body(struct gen *g, const struct clause *c)
{
	size_t reserve;

	if (c->predicate != NULL) {
		gen_expr(g, c->predicate, 0);
		gen_put(g, PROBE_JNZ, 0, 0, 0, 1);
		gen_put(g, PROBE_RET, 0, 0, 0, 0);
	}
	reserve = g->code.n;
	gen_put(g, PROBE_RESERVE, 0, 0, 0, 0);
	if (c->body == NULL)
		action(g, PROBE_DEFAULT, "", PROBE_NO_AGGREGATION);
	gen_statements(g, c->body);
	gen_put(g, PROBE_RET, 0, 0, 0, 0);
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

	out.name = gen_text_of(g, v->name);
	out.kind = is_text ? PROBE_STRING : PROBE_NUMBER;
	out.n_keys = (uint8_t)v->n_keys;
	out.first_key = (uint32_t)g->parts.n;
	if (v->n_keys == 0)
		out.slot = g->n_slots[v->scope][is_text]++;
	for (unsigned i = 0; i < v->n_keys; i++)
		gen_part_add(g, check_is_text(&v->key[i]) ? text : number);
	PUSH(g, variables, out.name, out.scope, out.kind, out.n_keys, 0,
	     out.slot, out.first_key);
}

static void gen_aggregation(struct gen *g, const struct aggregation *a)
{
	struct probe_aggregation out = {.how = (uint8_t)a->how};

	out.name = gen_text_of(g, a->name);
	out.n_keys = (uint8_t)a->n_keys;
	out.first_key = (uint32_t)g->parts.n;
	memcpy(out.how_arg, a->how_arg, sizeof out.how_arg);
	out.n_cells = (uint16_t)aggregate_cells(&out);
	for (unsigned i = 0; i < a->n_keys; i++)
		gen_part_add(g, a->key[i]);
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
		mistake(g->s, SCRIPT_TOO_LARGE, (struct place){1, 1, 0},
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

	gen_text_of(&g, "");
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
