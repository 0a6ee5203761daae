/* script/check_action.c - are the statements of a clause in order?
 *
 * What a clause puts out goes either to the buffer or, from speculate() on,
 * to a speculation. So speculate() comes before any output, and once; and a
 * clause that commits or discards puts nothing out. Aggregations cannot be
 * taken back, so a speculating clause has none. */
#include "script/aggregate.h"
#include "script/check_priv.h"

#include <string.h>

/* -- Aggregations -- */

static struct aggregation *aggregation_find(struct script *s, const char *name)
{
	struct aggregation *a;

	for (size_t i = 0; i < s->aggregations.n; i++)
		if (strcmp(s->aggregations.at[i].name, name) == 0)
			return &s->aggregations.at[i];
	a = vec_push(&s->aggregations, &s->heap);
	if (a == NULL) {
		s->no_memory = s->is_over = true;
		return NULL;
	}
	*a = (struct aggregation){.name = name};
	return a;
}

static bool check_agg_keys(struct check *c, struct node *n,
			   struct probe_part *out, unsigned *count)
{
	unsigned i = 0;

	for (struct node *k = n->list; k != NULL; k = k->next) {
		if (i == PROBE_KEYS_MAX) {
			mistake(c->s, SCRIPT_AGG_KEYS, k->place,
				"more than %u keys", PROBE_KEYS_MAX);
			return false;
		}
		check_expr(c, k);
		if (k->type.kind == SCRIPT_UNKNOWN)
			return false;
		out[i] = check_part(k);
		if (out[i++].kind == PROBE_NOTHING) {
			mistake(c->s, SCRIPT_AGG_KEYS, k->place,
				"this cannot be a key");
			return false;
		}
	}
	*count = i;
	return true;
}

struct aggregation *check_aggregation(struct check *c, struct node *n)
{
	struct probe_part key[PROBE_KEYS_MAX];
	struct aggregation *a;
	unsigned n_keys = 0;

	if (!check_agg_keys(c, n, key, &n_keys))
		return NULL;
	a = aggregation_find(c->s, n->name);
	if (a == NULL)
		return NULL;
	if (!a->has_keys) {
		a->has_keys = true;
		a->n_keys = n_keys;
		memcpy(a->key, key, sizeof key[0] * n_keys);
	}
	n->number = (unsigned)(a - c->s->aggregations.at);
	if (a->n_keys != n_keys) {
		mistake(c->s, SCRIPT_AGG_KEYS, n->place,
			"'@%s' has %u keys, not %u", a->name, a->n_keys,
			n_keys);
		return NULL;
	}
	for (unsigned i = 0; i < n_keys; i++)
		if (a->key[i].kind != key[i].kind ||
		    (key[i].kind == PROBE_STACK &&
		     a->key[i].len != key[i].len)) {
			mistake(c->s, SCRIPT_AGG_KEYS, n->place,
				"key %u of '@%s' is of another kind", i + 1,
				a->name);
			return NULL;
		}
	return a;
}

/* A mention as in printa(@a): without keys. */
static void check_mention(struct check *c, struct node *n)
{
	struct aggregation *a;

	if (n->list != NULL)
		mistake(c->s, SCRIPT_AGG_KEYS, n->place,
			"the aggregation as a whole is meant: no keys");
	for (size_t i = 0; i < c->s->aggregations.n; i++) {
		a = &c->s->aggregations.at[i];
		if (strcmp(a->name, n->name) == 0 && a->has_how) {
			n->number = (unsigned)i;
			return;
		}
	}
	mistake(c->s, SCRIPT_IDENT_UNDEF, n->place,
		"nothing is ever assigned to '@%s'", n->name);
}

/* The constants behind the value of lquantize and llquantize. */
static bool check_limits(struct check *c, struct node *call, enum probe_how how,
			 int64_t *out)
{
	struct node *a = call->list->next;
	struct probe_aggregation limits = {0};
	unsigned n = how == PROBE_LQUANTIZE ? 3 : 4;

	out[2] = 1;
	for (unsigned i = 0; i < n; i++) {
		if (a == NULL && how == PROBE_LQUANTIZE && i == 2)
			break;
		if (a == NULL || !check_const(a, &out[i])) {
			mistake(c->s, SCRIPT_CONST_ARG,
				a != NULL ? a->place : call->place,
				"the limits of %s() are constants", call->name);
			return false;
		}
		a = a->next;
	}
	limits.how = (uint8_t)how;
	memcpy(limits.how_arg, out, sizeof limits.how_arg);
	if (aggregate_is_sound(&limits))
		return true;
	mistake(c->s, SCRIPT_AGG_ARGS, call->place,
		"%s() cannot count between these limits", call->name);
	return false;
}

static bool check_agg_values(struct check *c, struct node *call,
			     enum probe_how how)
{
	static const uint8_t most[PROBE_HOW_MAX] = {0, 1, 1, 1, 1, 1, 2, 5, 6};
	static const uint8_t least[PROBE_HOW_MAX] = {0, 1, 1, 1, 1, 1, 1, 3, 5};
	unsigned n = check_count(call->list);

	if (n < least[how] || n > most[how]) {
		mistake(c->s, SCRIPT_AGG_ARGS, call->place,
			"%s() takes %u to %u arguments, not %u", call->name,
			least[how], most[how], n);
		return false;
	}
	for (struct node *a = call->list; a != NULL; a = a->next) {
		check_expr(c, a);
		if (a->type.kind == SCRIPT_UNKNOWN)
			return false;
		if (!check_is_number(&a->type)) {
			mistake(c->s, SCRIPT_AGG_ARGS, a->place,
				"%s() takes numbers", call->name);
			return false;
		}
	}
	return true;
}

static void check_aggregate(struct check *c, struct node *n)
{
	struct node *call = n->kid[1];
	struct aggregation *a;
	int64_t limits[4] = {0};
	unsigned how;

	if (n->op != '=' || call->kind != NODE_CALL ||
	    word_find(call->name, &how) != WORD_AGGREGATING) {
		mistake(c->s, SCRIPT_AGG_FUNC, n->place,
			"an aggregation is assigned count(), sum(), avg(), "
			"min(), max(), stddev() or a quantize()");
		return;
	}
	if (c->has_speculate)
		mistake(c->s, SCRIPT_SPEC_AGG, n->place,
			"a speculation cannot take back an aggregation");
	call->number = how;
	a = check_aggregation(c, n->kid[0]);
	if (!check_agg_values(c, call, how) || a == NULL)
		return;
	if (how >= PROBE_LQUANTIZE && !check_limits(c, call, how, limits))
		return;
	if (a->has_how &&
	    (a->how != how || memcmp(a->how_arg, limits, sizeof limits) != 0)) {
		mistake(c->s, SCRIPT_AGG_REDEF, n->place,
			"'@%s' is aggregated in another way already", a->name);
		return;
	}
	a->has_how = true;
	a->how = how;
	memcpy(a->how_arg, limits, sizeof limits);
}

/* -- printf and printa -- */

static const char *check_format(struct check *c, struct node *n)
{
	if (n->list->kind == NODE_TEXT)
		return n->list->name;
	mistake(c->s, SCRIPT_CONST_ARG, n->list->place,
		"the format of %s() is a constant text", n->name);
	return NULL;
}

static bool check_star_arg(struct check *c, struct node *n, int size,
			   struct node **arg)
{
	if (size != -2)
		return true;
	if (*arg == NULL) {
		mistake(c->s, SCRIPT_PRINTF_ARGS, n->place,
			"there is no argument for '*'");
		return false;
	}
	if (check_part(*arg).kind != PROBE_NUMBER)
		mistake(c->s, SCRIPT_PRINTF_TYPE, (*arg)->place,
			"'*' takes a number");
	*arg = (*arg)->next;
	return true;
}

static bool check_conversion(struct check *c, struct node *n,
			     const struct conversion *v, struct node **arg)
{
	if (v->letter == '%')
		return true;
	if (v->letter == '\0' || v->is_aggregation ||
	    strchr("diuxXocpsSaAkYT", v->letter) == NULL) {
		mistake(c->s, SCRIPT_PRINTF_FORMAT, n->place,
			"there is no conversion '%.*s'", (int)v->len, v->at);
		return false;
	}
	if (!check_star_arg(c, n, v->width, arg) ||
	    !check_star_arg(c, n, v->precision, arg))
		return false;
	if (*arg == NULL) {
		mistake(c->s, SCRIPT_PRINTF_ARGS, n->place,
			"there is no argument for '%.*s'", (int)v->len, v->at);
		return false;
	}
	if ((*arg)->type.kind != SCRIPT_UNKNOWN &&
	    !conversion_fits(v->letter, check_part(*arg).kind))
		mistake(c->s, SCRIPT_PRINTF_TYPE, (*arg)->place,
			"'%.*s' cannot show this", (int)v->len, v->at);
	*arg = (*arg)->next;
	return true;
}

static void check_printf(struct check *c, struct node *n)
{
	const char *at = n->list != NULL ? check_format(c, n) : NULL;
	struct node *arg = n->list != NULL ? n->list->next : NULL;
	struct conversion v;

	if (n->list == NULL)
		mistake(c->s, SCRIPT_FUNC_ARGS, n->place, "%s() takes a format",
			n->name);
	for (struct node *a = arg; a != NULL; a = a->next)
		check_expr(c, a);
	while (at != NULL && conversion_next(at, &v)) {
		if (!check_conversion(c, n, &v, &arg))
			return;
		at = v.at + v.len;
	}
	if (at != NULL && arg != NULL)
		mistake(c->s, SCRIPT_PRINTF_ARGS, arg->place,
			"the format has no conversion for this");
}

/* n_columns: aggregations; of one alone there may be any number of '%@'. */
static void check_printa_format(struct check *c, struct node *n,
				const struct aggregation *a, unsigned n_columns)
{
	const char *at = check_format(c, n);
	struct conversion v;
	unsigned key = 0, column = 0;

	while (at != NULL && conversion_next(at, &v)) {
		at = v.at + v.len;
		if (v.is_aggregation && ++column > n_columns && n_columns > 1) {
			mistake(c->s, SCRIPT_PRINTF_ARGS, n->place,
				"there is no aggregation for '%.*s'",
				(int)v.len, v.at);
			return;
		}
		if (v.letter == '%' || v.is_aggregation)
			continue;
		if (key == a->n_keys) {
			mistake(c->s, SCRIPT_PRINTF_ARGS, n->place,
				"'@%s' has no more than %u keys", a->name,
				a->n_keys);
			return;
		}
		if (!conversion_fits(v.letter, a->key[key].kind))
			mistake(c->s, SCRIPT_PRINTF_TYPE, n->place,
				"'%.*s' cannot show key %u of '@%s'",
				(int)v.len, v.at, key + 1, a->name);
		key++;
	}
}

/* Rows of both have the same keys, or could have. */
static void check_columns(struct check *c, const struct node *first,
			  const struct node *other)
{
	const struct aggregation *a, *b;
	bool fits;

	if (first->number >= c->s->aggregations.n ||
	    other->number >= c->s->aggregations.n)
		return;
	a = &c->s->aggregations.at[first->number];
	b = &c->s->aggregations.at[other->number];
	fits = a->n_keys == b->n_keys;
	for (unsigned i = 0; fits && i < a->n_keys; i++)
		fits = a->key[i].kind == b->key[i].kind &&
		       a->key[i].len == b->key[i].len;
	if (!fits)
		mistake(c->s, SCRIPT_AGG_KEYS, other->place,
			"the keys of '@%s' are not those of '@%s'", b->name,
			a->name);
}

static void check_printa(struct check *c, struct node *n)
{
	struct node *a = n->list;
	unsigned n_columns = 0;

	if (a != NULL && a->kind != NODE_AGGREGATION)
		a = a->next;
	if (a == NULL || a->kind != NODE_AGGREGATION) {
		mistake(c->s, SCRIPT_FUNC_ARGS, n->place,
			"printa() takes a format, or none, and an "
			"aggregation");
		return;
	}
	for (struct node *b = a; b != NULL; b = b->next) {
		if (b->kind != NODE_AGGREGATION ||
		    ++n_columns > PROBE_COLUMNS_MAX) {
			mistake(c->s, SCRIPT_FUNC_ARGS, b->place,
				"behind a format, printa() takes up to %u "
				"aggregations",
				PROBE_COLUMNS_MAX);
			return;
		}
		check_mention(c, b);
		check_columns(c, a, b);
	}
	if (a != n->list && a->number < c->s->aggregations.n)
		check_printa_format(c, n, &c->s->aggregations.at[a->number],
				    n_columns);
}

/* -- Other actions -- */

static void check_number_arg(struct check *c, struct node *n, struct node *a)
{
	check_expr(c, a);
	if (a->type.kind != SCRIPT_UNKNOWN && !check_is_number(&a->type))
		mistake(c->s, SCRIPT_ARG_TYPE, a->place,
			"%s() takes a number here", n->name);
}

static void check_on_aggregation(struct check *c, struct node *n)
{
	if (n->list->kind != NODE_AGGREGATION) {
		mistake(c->s, SCRIPT_ARG_TYPE, n->list->place,
			"%s() takes an aggregation", n->name);
		return;
	}
	check_mention(c, n->list);
	if (n->list->next != NULL)
		check_number_arg(c, n, n->list->next);
}

static void check_tracemem(struct check *c, struct node *n)
{
	int64_t len = 0;

	check_number_arg(c, n, n->list);
	check_expr(c, n->list->next);
	if (!check_const(n->list->next, &len) || len < 1 ||
	    len > PROBE_STRING_MAX)
		mistake(c->s, SCRIPT_CONST_ARG, n->list->next->place,
			"the length is a constant from 1 to %u",
			PROBE_STRING_MAX);
	n->list->next->value = (uint64_t)len;
}

static void check_value_arg(struct check *c, struct node *n)
{
	if (n->list->kind == NODE_AGGREGATION) {
		mistake(c->s, SCRIPT_AGG_USE, n->list->place,
			"an aggregation is shown by printa()");
		return;
	}
	check_expr(c, n->list);
	if (n->list->type.kind != SCRIPT_UNKNOWN &&
	    check_part(n->list).kind == PROBE_NOTHING)
		mistake(c->s, SCRIPT_ARG_TYPE, n->list->place,
			"%s() cannot show this", n->name);
}

/* How many arguments; 9: as many as one likes. ORDER action_word */
static const struct {
	uint8_t least, most;
	bool is_output, is_destructive;
} arity[ACTION_MAX] = {
    [ACTION_PRINTF] = {1, 63, true, false},
    [ACTION_TRACE] = {1, 1, true, false},
    [ACTION_PRINT] = {1, 1, true, false},
    [ACTION_PRINTA] = {1, 63, true, false},
    [ACTION_TRACEMEM] = {2, 2, true, false},
    [ACTION_USTACK] = {0, 1, true, false},
    [ACTION_EXIT] = {1, 1, true, false},
    [ACTION_CLEAR] = {1, 1, true, false},
    [ACTION_TRUNC] = {1, 2, true, false},
    [ACTION_NORMALIZE] = {2, 2, true, false},
    [ACTION_DENORMALIZE] = {1, 1, true, false},
    [ACTION_SYSTEM] = {1, 63, true, true},
    [ACTION_FREOPEN] = {1, 63, true, true},
    [ACTION_SPECULATE] = {1, 1, false, false},
    [ACTION_COMMIT] = {1, 1, false, false},
    [ACTION_DISCARD] = {1, 1, false, false},
    [ACTION_STOP] = {0, 0, false, true},
    [ACTION_RAISE] = {1, 1, false, true},
};

static void check_order(struct check *c, const struct node *n)
{
	bool ends = n->number == ACTION_COMMIT || n->number == ACTION_DISCARD;

	if (n->number == ACTION_SPECULATE) {
		if (c->has_output || c->has_speculate || c->has_commit)
			mistake(c->s, SCRIPT_SPECULATE, n->place,
				"speculate() comes once, before all output");
		c->has_speculate = true;
	} else if (ends) {
		if (c->has_output || c->has_speculate)
			mistake(c->s, SCRIPT_COMMIT, n->place,
				"a clause that ends a speculation puts "
				"nothing out");
		c->has_commit = true;
	} else if (arity[n->number].is_output) {
		if (c->has_commit)
			mistake(c->s, SCRIPT_COMMIT, n->place,
				"a clause that ends a speculation puts "
				"nothing out");
		c->has_output = true;
	}
	if (n->number == ACTION_EXIT && c->has_speculate)
		mistake(c->s, SCRIPT_SPEC_AGG, n->place,
			"exit() cannot be speculative");
	if (arity[n->number].is_destructive && !c->s->settings.may_destroy)
		mistake(c->s, SCRIPT_DESTRUCTIVE, n->place,
			"%s() changes more than it observes: allow it with "
			"-x destructive",
			n->name);
}

static void check_action(struct check *c, struct node *n)
{
	unsigned given = check_count(n->list);

	n->is = IS_ACTION;
	check_order(c, n);
	if (given < arity[n->number].least || given > arity[n->number].most) {
		mistake(c->s, SCRIPT_FUNC_ARGS, n->place,
			"%s() takes %u to %u arguments, not %u", n->name,
			arity[n->number].least, arity[n->number].most, given);
		return;
	}
	switch (n->number) {
	case ACTION_PRINTF:
	case ACTION_SYSTEM:
	case ACTION_FREOPEN:
		check_printf(c, n);
		break;
	case ACTION_PRINTA:
		check_printa(c, n);
		break;
	case ACTION_TRACE:
	case ACTION_PRINT:
		check_value_arg(c, n);
		break;
	case ACTION_TRACEMEM:
		check_tracemem(c, n);
		break;
	case ACTION_CLEAR:
	case ACTION_TRUNC:
	case ACTION_NORMALIZE:
	case ACTION_DENORMALIZE:
		check_on_aggregation(c, n);
		break;
	case ACTION_STOP:
		break;
	default:
		check_number_arg(c, n, n->list);
	}
}

/* -- Statements -- */

static void check_do(struct check *c, struct node *n)
{
	struct node *e = n->kid[0];
	unsigned number;
	enum word_kind word = WORD_NONE;

	if (e->kind == NODE_CALL)
		word = word_find(e->name, &number);
	if (e->kind == NODE_ASSIGN && e->kid[0]->kind == NODE_AGGREGATION) {
		check_aggregate(c, e);
	} else if (word == WORD_ACTION && number != ACTION_USTACK) {
		e->number = number;
		check_action(c, e);
	} else if (word == WORD_NAMED || word == WORD_ACTION) {
		/* ustack(); usym(x): shown as trace() would */
		c->has_output = true;
		check_expr(c, e);
	} else {
		check_expr(c, e);
		if (e->kind != NODE_ASSIGN && e->kind != NODE_POSTFIX &&
		    e->kind != NODE_CALL &&
		    !(e->kind == NODE_UNARY &&
		      (e->op == OP2('+', '+') || e->op == OP2('-', '-'))))
			mistake(c->s, SCRIPT_EFFECT, e->place,
				"this statement does nothing");
	}
}

// NOLINTNEXTLINE(misc-no-recursion): NEST_MAX
void check_statements(struct check *c, struct node *list)
{
	for (struct node *n = list; n != NULL && !c->s->is_over; n = n->next) {
		if (n->kind != NODE_IF) {
			check_do(c, n);
			continue;
		}
		check_expr(c, n->kid[0]);
		if (n->kid[0]->type.kind != SCRIPT_UNKNOWN &&
		    !check_is_number(&n->kid[0]->type))
			mistake(c->s, SCRIPT_PREDICATE, n->kid[0]->place,
				"a condition is a number; ask '!= NULL' of a "
				"text");
		check_statements(c, n->list);
		check_statements(c, n->other);
	}
}
