/* script/check.c - what do the names in an expression mean, and of what type
 * is it?
 *
 * Variables are declared by their first assignment, which may stand in a
 * later clause than their use: clauses run when probes are hit, not in the
 * order of the text. So all clauses are looked through quietly until nothing
 * new is learnt, and mistakes are told in one last round. */
#include "script/check_priv.h"

#include <string.h>

static const struct script_type unknown = {0};

static struct script_type int_type(uint32_t size, bool is_signed)
{
	return (struct script_type){
	    .kind = SCRIPT_INT, .size = size, .is_signed = is_signed};
}

static struct script_type text_type(void)
{
	return (struct script_type){.kind = SCRIPT_TEXT};
}

bool check_is_number(const struct script_type *t)
{
	return t->stars > 0 || t->kind == SCRIPT_INT || t->kind == SCRIPT_NAME;
}

bool check_is_text(const struct script_type *t)
{
	return t->stars == 0 && t->kind == SCRIPT_TEXT;
}

static bool is_unknown(const struct script_type *t)
{
	return t->kind == SCRIPT_UNKNOWN;
}

/* Values that only an address stands for. */
static bool is_aggregate(const struct script_type *t)
{
	return t->count > 0 || (t->stars == 0 && t->kind == SCRIPT_STRUCT);
}

unsigned check_count(const struct node *list)
{
	unsigned n = 0;

	for (; list != NULL; list = list->next)
		n++;
	return n;
}

// NOLINTNEXTLINE(misc-no-recursion): HEIGHT_MAX
bool check_const(const struct node *n, int64_t *out)
{
	int64_t inner;

	if (n->kind == NODE_NUMBER || n->is == IS_CONST) {
		*out = (int64_t)n->value;
		return true;
	}
	if (n->kind == NODE_UNARY && n->op == '-' &&
	    check_const(n->kid[0], &inner)) {
		*out = (int64_t)(0 - (uint64_t)inner);
		return true;
	}
	return false;
}

static bool is_zero(const struct node *n)
{
	int64_t value;

	return check_const(n, &value) && value == 0;
}

struct probe_part check_part(const struct node *n)
{
	const struct script_type *t = &n->type;
	struct probe_part part = {.kind = PROBE_NOTHING};

	if (t->stars > 0 || t->count > 0) {
		part = (struct probe_part){.kind = PROBE_NUMBER, .size = 8};
	} else if (t->kind == SCRIPT_INT) {
		part.kind = PROBE_NUMBER;
		part.size = (uint8_t)t->size;
		part.is_signed = t->is_signed;
	} else if (t->kind == SCRIPT_TEXT) {
		part.kind = PROBE_STRING;
	} else if (t->kind == SCRIPT_STACK) {
		part.kind = PROBE_STACK;
		part.len = n->number;
	} else if (t->kind == SCRIPT_NAME) {
		part.kind = t->part;
		part.size = 8;
	}
	return part;
}

/* -- Names -- */

static struct variable *variable_find(struct script *s, enum probe_scope scope,
				      const char *name)
{
	for (size_t i = 0; i < s->variables.n; i++)
		if (s->variables.at[i].scope == scope &&
		    strcmp(s->variables.at[i].name, name) == 0)
			return &s->variables.at[i];
	return NULL;
}

static enum probe_scope scope_of(const struct node *n)
{
	if (n->kind == NODE_SELF)
		return PROBE_SELF;
	return n->kind == NODE_THIS ? PROBE_THIS : PROBE_GLOBAL;
}

static struct script_type builtin_type(unsigned number)
{
	switch (number) {
	case PROBE_BUILTIN_TIMESTAMP:
	case PROBE_BUILTIN_VTIMESTAMP:
	case PROBE_BUILTIN_WALLTIMESTAMP:
	case PROBE_BUILTIN_UCALLER:
		return int_type(8, false);
	case PROBE_BUILTIN_RETVAL:
		return int_type(8, true);
	case PROBE_BUILTIN_UID:
	case PROBE_BUILTIN_GID:
	case PROBE_BUILTIN_ID:
	case PROBE_BUILTIN_EPID:
	case PROBE_BUILTIN_USTACKDEPTH:
		return int_type(4, false);
	default:
		return number >= PROBE_BUILTIN_FIRST_TEXT ? text_type()
							  : int_type(4, true);
	}
}

/* An argument of the probed function by its name or number: as
 * script_types.argument. */
static int find_argument(struct check *c, const char *name, unsigned *index,
			 struct script_type *out)
{
	const struct script_types *types = c->s->settings.types;

	if (types == NULL || c->clause == NULL || types->argument == NULL ||
	    c->clause->descriptions == NULL)
		return -1;
	return types->argument(types->ctx, c->clause->descriptions->part, name,
			       index, out);
}

static void tell_hidden(struct check *c, struct node *n)
{
	mistake(c->s, SCRIPT_ARG_TYPE, n->place,
		"this argument cannot be read: only integers and pointers can");
	n->type = unknown;
}

/* Behind a mistake that debug information might have prevented. */
static const char *lacks(const struct check *c)
{
	const struct script_types *types = c->s->settings.types;

	if (types == NULL)
		return "there is no debug information";
	return types->lacks;
}

static bool check_known_name(struct check *c, struct node *n)
{
	enum word_kind word = word_find(n->name, &n->number);
	int found;

	if (strncmp(n->name, "arg", 3) == 0 && n->name[3] >= '0' &&
	    n->name[3] <= '9' && n->name[4] == '\0') {
		n->is = IS_ARG;
		n->number = (unsigned)(n->name[3] - '0');
		n->type = int_type(8, true);
	} else if (strcmp(n->name, "NULL") == 0) {
		n->is = IS_CONST;
		n->value = 0;
		n->type = int_type(8, true);
	} else if (word == WORD_BUILTIN) {
		n->is = IS_BUILTIN;
		n->type = builtin_type(n->number);
	} else if (word == WORD_UREG) {
		n->is = IS_CONST;
		n->value = n->number;
		n->type = int_type(4, true);
	} else if (word == WORD_UNSUPPORTED) {
		mistake(c->s, SCRIPT_UNSUPPORTED, n->place,
			"'%s' is known from DTrace but not supported here",
			n->name);
		n->type = unknown;
	} else {
		found = find_argument(c, n->name, &n->number, &n->type);
		if (found == 0)
			n->is = IS_ARG;
		else if (found == -2)
			tell_hidden(c, n);
		else
			return false;
	}
	return true;
}

static void tell_undefined(struct check *c, const struct node *n)
{
	const char *scope = n->kind == NODE_SELF   ? "self->"
			    : n->kind == NODE_THIS ? "this->"
						   : "";
	const char *near = n->kind == NODE_NAME ? word_near(n->name) : NULL;

	mistake(c->s, SCRIPT_IDENT_UNDEF, n->place,
		"'%s%s' is neither declared nor assigned%s%s%s", scope, n->name,
		near != NULL ? "; is it '" : "", near != NULL ? near : "",
		near != NULL ? "'?" : "");
}

static void use_variable(struct script *s, struct node *n, struct variable *v)
{
	n->is = IS_VARIABLE;
	n->number = (unsigned)(v - s->variables.at);
	n->type = v->type;
}

static void check_name(struct check *c, struct node *n)
{
	struct variable *v = variable_find(c->s, scope_of(n), n->name);

	n->type = unknown;
	if (v != NULL && v->n_keys == 0) {
		use_variable(c->s, n, v);
	} else if (v != NULL) {
		mistake(c->s, SCRIPT_VAR_KEYS, n->place,
			"'%s' is an array of %u keys", n->name, v->n_keys);
	} else if (n->kind != NODE_NAME || !check_known_name(c, n)) {
		tell_undefined(c, n);
	}
}

// NOLINTBEGIN(misc-no-recursion): NEST_MAX and HEIGHT_MAX bound it
/* -- Arrays -- */

static bool same_key(const struct script_type *a, const struct script_type *b)
{
	return (check_is_text(a) && check_is_text(b)) ||
	       (check_is_number(a) && check_is_number(b));
}

static bool check_keys(struct check *c, struct node *n)
{
	bool is_known = true;

	if (check_count(n->list) > PROBE_KEYS_MAX || n->list == NULL) {
		mistake(c->s, SCRIPT_VAR_KEYS, n->place,
			"an array has 1 to %u keys", PROBE_KEYS_MAX);
		return false;
	}
	for (struct node *k = n->list; k != NULL; k = k->next) {
		check_expr(c, k);
		if (is_unknown(&k->type)) {
			is_known = false;
		} else if (!check_is_text(&k->type) &&
			   !check_is_number(&k->type)) {
			mistake(c->s, SCRIPT_VAR_KEYS, k->place,
				"a key of an array is a number or a text");
			is_known = false;
		}
	}
	return is_known;
}

static void check_cell(struct check *c, struct node *n, struct variable *v)
{
	struct node *k = n->list;

	if (check_count(n->list) != v->n_keys) {
		mistake(c->s, SCRIPT_VAR_KEYS, n->place,
			"'%s' has %u keys, not %u", v->name, v->n_keys,
			check_count(n->list));
		return;
	}
	for (unsigned i = 0; i < v->n_keys; i++, k = k->next)
		if (!same_key(&v->key[i], &k->type)) {
			mistake(c->s, SCRIPT_VAR_KEYS, k->place,
				"key %u of '%s' is a %s", i + 1, v->name,
				check_is_text(&v->key[i]) ? "text" : "number");
			return;
		}
	use_variable(c->s, n, v);
}

static void check_special_index(struct check *c, struct node *n,
				struct node *base)
{
	int64_t index = 0;
	int found;

	check_expr(c, n->list);
	if (strcmp(base->name, "uregs") == 0) {
		if (!check_is_number(&n->list->type) || n->list->next != NULL) {
			mistake(c->s, SCRIPT_ARG_TYPE, n->place,
				"uregs[] takes the number of a register");
			return;
		}
		n->is = IS_UREGS;
		n->type = int_type(8, false);
		return;
	}
	if (!check_const(n->list, &index) || index < 0 ||
	    index >= PROBE_ARGUMENTS || n->list->next != NULL) {
		mistake(c->s, SCRIPT_CONST_ARG, n->place,
			"args[] takes a constant from 0 to %u",
			PROBE_ARGUMENTS - 1);
		return;
	}
	n->is = IS_ARG;
	n->number = (unsigned)index;
	found = find_argument(c, NULL, &n->number, &n->type);
	if (found == -2)
		tell_hidden(c, n);
	else if (found < 0)
		n->type = int_type(8, true);
}

static void check_pointer_index(struct check *c, struct node *n)
{
	struct script_type t = n->kid[0]->type;

	if (is_unknown(&t) || is_unknown(&n->list->type))
		return;
	if ((t.stars == 0 && t.count == 0) || n->list->next != NULL ||
	    !check_is_number(&n->list->type)) {
		mistake(c->s, SCRIPT_DEREF, n->place,
			"only arrays and pointers have elements");
		return;
	}
	if (t.count > 0)
		t.count = 0;
	else
		t.stars--;
	n->is = IS_MEMBER;
	n->member = (struct script_member){.type = t};
	n->type = t;
}

static void check_index(struct check *c, struct node *n)
{
	struct node *base = n->kid[0];
	bool has_name = base->kind == NODE_NAME || base->kind == NODE_SELF ||
			base->kind == NODE_THIS;
	struct variable *v;

	n->type = unknown;
	if (n->list == NULL) {
		mistake(c->s, SCRIPT_VAR_KEYS, n->place, "a key is missing");
		return;
	}
	if (base->kind == NODE_NAME && (strcmp(base->name, "uregs") == 0 ||
					strcmp(base->name, "args") == 0)) {
		check_special_index(c, n, base);
		return;
	}
	v = has_name ? variable_find(c->s, scope_of(base), base->name) : NULL;
	if (v != NULL && v->n_keys > 0) {
		if (check_keys(c, n))
			check_cell(c, n, v);
		return;
	}
	check_expr(c, base);
	for (struct node *k = n->list; k != NULL; k = k->next)
		check_expr(c, k);
	check_pointer_index(c, n);
}

/* -- Operators -- */

static void tell_operands(struct check *c, struct node *n)
{
	mistake(c->s, SCRIPT_OP_TYPE, n->place, "this operator cannot take %s",
		check_is_text(&n->kid[0]->type) ||
			(n->kid[1] != NULL && check_is_text(&n->kid[1]->type))
		    ? "texts"
		    : "such operands");
	n->type = unknown;
}

static bool is_comparison(unsigned op)
{
	return op == '<' || op == '>' || op == OP2('<', '=') ||
	       op == OP2('>', '=') || op == OP2('=', '=') ||
	       op == OP2('!', '=');
}

static bool is_logical(unsigned op)
{
	return op == OP2('&', '&') || op == OP2('|', '|') ||
	       op == OP2('^', '^');
}

/* C's usual arithmetic conversions. */
static struct script_type joined(const struct script_type *a,
				 const struct script_type *b)
{
	uint32_t size_a = a->stars > 0 ? 8 : a->size;
	uint32_t size_b = b->stars > 0 ? 8 : b->size;
	bool signed_a = a->stars == 0 && (a->is_signed || size_a < 4);
	bool signed_b = b->stars == 0 && (b->is_signed || size_b < 4);
	uint32_t size = size_a > size_b ? size_a : size_b;

	if (a->kind == SCRIPT_NAME || b->kind == SCRIPT_NAME)
		return int_type(8, false);
	if (size < 4)
		return int_type(4, true);
	return int_type(size, (signed_a || size_a < size) &&
				  (signed_b || size_b < size));
}

static void check_arithmetic(struct check *c, struct node *n)
{
	const struct script_type *a = &n->kid[0]->type, *b = &n->kid[1]->type;

	if (!check_is_number(a) || !check_is_number(b)) {
		tell_operands(c, n);
		return;
	}
	if ((n->op == '/' || n->op == '%') && is_zero(n->kid[1])) {
		mistake(c->s, SCRIPT_DIV_ZERO, n->place,
			"this divides by zero every time");
		return;
	}
	n->type = joined(a, b);
	if (n->op == OP2('<', '<') || n->op == OP2('>', '>'))
		n->type = joined(a, a);
	if ((n->op == '+' || n->op == '-') && a->stars > 0 && b->stars == 0)
		n->type = *a;
	if (n->op == '+' && b->stars > 0 && a->stars == 0)
		n->type = *b;
}

static void check_binary(struct check *c, struct node *n)
{
	const struct script_type *a, *b;
	bool texts;

	check_expr(c, n->kid[0]);
	check_expr(c, n->kid[1]);
	a = &n->kid[0]->type;
	b = &n->kid[1]->type;
	n->type = unknown;
	if (is_unknown(a) || is_unknown(b))
		return;
	texts = check_is_text(a) || check_is_text(b);
	if (is_comparison(n->op) && texts) {
		bool is_null =
		    (n->op == OP2('=', '=') || n->op == OP2('!', '=')) &&
		    (is_zero(n->kid[0]) || is_zero(n->kid[1]));

		if (is_null || (check_is_text(a) && check_is_text(b)))
			n->type = int_type(4, true);
		else
			tell_operands(c, n);
	} else if (is_comparison(n->op) || is_logical(n->op)) {
		if (check_is_number(a) && check_is_number(b))
			n->type = int_type(4, true);
		else
			tell_operands(c, n);
	} else {
		check_arithmetic(c, n);
	}
}

static bool has_address(const struct node *n)
{
	return n->is == IS_MEMBER;
}

/* A variable that is assigned for the first time. */
static void create(struct check *c, struct node *place, struct node *name,
		   const struct script_type *type)
{
	struct variable v = {.name = name->name, .scope = scope_of(name)};
	struct variable *new;

	v.type = *type;
	if (type->stars == 0 && type->kind == SCRIPT_INT)
		v.type = int_type(8, type->is_signed);
	if (type->stars == 0 && type->kind == SCRIPT_NAME)
		v.type = int_type(8, false);
	if (place->kind == NODE_INDEX) {
		if (!check_keys(c, place))
			return;
		for (struct node *k = place->list; k != NULL; k = k->next)
			v.key[v.n_keys++] = k->type;
	}
	new = vec_push(&c->s->variables, &c->s->heap);
	if (new == NULL)
		c->s->no_memory = c->s->is_over = true;
	else
		*new = v;
}

static void declare_by_use(struct check *c, struct node *place,
			   const struct script_type *type)
{
	struct node *name = place;
	unsigned number;

	if (place->kind == NODE_INDEX)
		name = place->kid[0];
	if (name->kind != NODE_NAME && name->kind != NODE_SELF &&
	    name->kind != NODE_THIS)
		return;
	if (variable_find(c->s, scope_of(name), name->name) != NULL)
		return;
	if (name->kind == NODE_NAME &&
	    (word_find(name->name, &number) != WORD_NONE ||
	     strncmp(name->name, "arg", 3) == 0 ||
	     strcmp(name->name, "uregs") == 0))
		return;
	if (check_is_text(type) || check_is_number(type))
		create(c, place, name, type);
}

static void check_step(struct check *c, struct node *n)
{
	struct script_type number = int_type(8, true);
	struct node *v = n->kid[0];

	declare_by_use(c, v, &number);
	check_expr(c, v);
	n->type = v->type;
	if (is_unknown(&v->type))
		return;
	if (v->is != IS_VARIABLE)
		mistake(c->s,
			v->is == IS_BUILTIN || v->is == IS_ARG
			    ? SCRIPT_READ_ONLY
			    : SCRIPT_OP_LVALUE,
			n->place, "only variables can be stepped");
	else if (!check_is_number(&v->type))
		tell_operands(c, n);
}

static void check_star(struct check *c, struct node *n)
{
	struct script_type t = n->kid[0]->type;

	n->type = unknown;
	if (t.count > 0) {
		t.count = 0;
	} else if (t.stars > 0 && !(t.stars == 1 && t.kind == SCRIPT_VOID)) {
		t.stars--;
	} else {
		mistake(c->s, SCRIPT_DEREF, n->place,
			"'*' needs a pointer to something: *(int *)...");
		return;
	}
	if (t.stars == 0 && t.kind == SCRIPT_TEXT) {
		mistake(c->s, SCRIPT_DEREF, n->place,
			"a text in memory is had by copyinstr()");
		return;
	}
	n->is = IS_MEMBER;
	n->member = (struct script_member){.type = t};
	n->type = t;
}

static void check_unary(struct check *c, struct node *n)
{
	struct node *k = n->kid[0];

	if (n->op == OP2('+', '+') || n->op == OP2('-', '-')) {
		check_step(c, n);
		return;
	}
	check_expr(c, k);
	n->type = unknown;
	if (is_unknown(&k->type))
		return;
	if (n->op == '*') {
		check_star(c, n);
	} else if (n->op == '&') {
		if (!has_address(k) || k->member.bit_size != 0) {
			mistake(c->s, SCRIPT_OP_TYPE, n->place,
				"only what is in the program's memory has an "
				"address");
			return;
		}
		n->type = k->type;
		n->type.count = 0;
		n->type.stars++;
	} else if (!check_is_number(&k->type)) {
		tell_operands(c, n);
	} else {
		n->type = n->op == '!' ? int_type(4, true)
				       : joined(&k->type, &k->type);
	}
}

static void check_choice(struct check *c, struct node *n)
{
	const struct script_type *a, *b;

	for (unsigned i = 0; i < 3; i++)
		check_expr(c, n->kid[i]);
	a = &n->kid[1]->type;
	b = &n->kid[2]->type;
	n->type = unknown;
	if (is_unknown(&n->kid[0]->type) || is_unknown(a) || is_unknown(b))
		return;
	if (!check_is_number(&n->kid[0]->type)) {
		tell_operands(c, n);
	} else if (check_is_text(a) && check_is_text(b)) {
		n->type = *a;
	} else if (check_is_number(a) && check_is_number(b)) {
		n->type = a->stars > 0 ? *a : joined(a, b);
	} else {
		mistake(c->s, SCRIPT_OP_TYPE, n->place,
			"both sides of ':' must be numbers or both texts");
	}
}

static void check_cast(struct check *c, struct node *n)
{
	const struct script_type *t = &n->type, *from = &n->kid[0]->type;

	check_expr(c, n->kid[0]);
	if (is_unknown(t) || is_unknown(from))
		return;
	if (check_is_text(t) && check_is_number(from))
		return; /* as stringof() */
	if (check_is_text(t) ? !check_is_text(from)
			     : (!check_is_number(t) ||
				(!check_is_number(from) && from->count == 0)))
		mistake(c->s, SCRIPT_OP_TYPE, n->place,
			"this cannot be cast to that type");
}

static void check_member(struct check *c, struct node *n)
{
	const struct script_types *types = c->s->settings.types;
	struct node *of = n->kid[0];
	unsigned stars = n->op == '.' ? 0 : 1;

	check_expr(c, of);
	n->type = unknown;
	if (is_unknown(&of->type))
		return;
	if (of->type.kind != SCRIPT_STRUCT || of->type.stars != stars ||
	    of->type.count > 0 || types == NULL) {
		mistake(c->s, SCRIPT_MEMBER, n->place,
			"'%s' is sought in what is no %sstruct%s%s", n->name,
			stars > 0 ? "pointer to a " : "",
			lacks(c) != NULL ? ": " : "",
			lacks(c) != NULL ? lacks(c) : "");
		return;
	}
	if (types->member(types->ctx, &of->type, n->name, &n->member) < 0) {
		mistake(c->s, SCRIPT_MEMBER, n->place,
			"there is no member '%s'", n->name);
		return;
	}
	n->is = IS_MEMBER;
	n->type = n->member.type;
}

/* -- Assignments -- */

static bool fits(const struct variable *v, const struct node *value)
{
	if (check_is_text(&v->type))
		return check_is_text(&value->type) || is_zero(value);
	return check_is_number(&v->type) && check_is_number(&value->type);
}

static void check_assign(struct check *c, struct node *n)
{
	struct node *to = n->kid[0], *value = n->kid[1];

	check_expr(c, value);
	n->type = unknown;
	if (is_unknown(&value->type))
		return;
	/* 0 may be "no text": whoever assigns more says what it is. */
	if (c->s->zeros_count || n->op != '=' || !is_zero(value))
		declare_by_use(c, to, &value->type);
	check_expr(c, to);
	if (is_unknown(&to->type))
		return;
	if (to->is != IS_VARIABLE) {
		bool is_fixed = to->is == IS_BUILTIN || to->is == IS_ARG ||
				to->is == IS_CONST || to->is == IS_UREGS;

		mistake(c->s, is_fixed ? SCRIPT_READ_ONLY : SCRIPT_OP_LVALUE,
			n->place, "only variables can be assigned to");
		return;
	}
	n->type = to->type;
	if (!fits(&c->s->variables.at[to->number], value) ||
	    (n->op != '=' && check_is_text(&to->type)))
		mistake(c->s, SCRIPT_VAR_TYPE, n->place,
			"the variable is a %s, the value is not",
			check_is_text(&to->type) ? "text" : "number");
	if ((n->op == '/' || n->op == '%') && is_zero(value))
		mistake(c->s, SCRIPT_DIV_ZERO, n->place,
			"this divides by zero every time");
}

/* -- Calls that have a value -- */

static void check_stack(struct check *c, struct node *n)
{
	int64_t frames = c->s->settings.stack_frames;

	n->is = IS_STACK;
	n->type = (struct script_type){.kind = SCRIPT_STACK};
	if (n->list != NULL) {
		check_expr(c, n->list);
		if (!check_const(n->list, &frames) || frames < 1 ||
		    frames > PROBE_FRAMES_MAX)
			mistake(c->s, SCRIPT_CONST_ARG, n->list->place,
				"the number of frames is a constant from 1 "
				"to %u",
				PROBE_FRAMES_MAX);
	}
	n->number = (unsigned)frames;
}

static bool check_arity(struct check *c, const struct node *n, unsigned least,
			unsigned most)
{
	unsigned given = check_count(n->list);

	if (given >= least && given <= most)
		return true;
	if (least == most)
		mistake(c->s, SCRIPT_FUNC_ARGS, n->place,
			"%s() takes %u argument%s, not %u", n->name, least,
			least == 1 ? "" : "s", given);
	else
		mistake(c->s, SCRIPT_FUNC_ARGS, n->place,
			"%s() takes %u to %u arguments, not %u", n->name, least,
			most, given);
	return false;
}

static void check_function(struct check *c, struct node *n)
{
	struct probe_signature f = probe_signature_of(n->number);
	unsigned i = 0;

	n->is = IS_FUNCTION;
	n->type = f.result == 's' ? text_type() : int_type(8, true);
	if (n->number == PROBE_CALL_COPYIN)
		n->type = (struct script_type){
		    .kind = SCRIPT_VOID, .size = 1, .stars = 1};
	if (!check_arity(c, n, f.needed, (unsigned)strlen(f.in)))
		return;
	for (struct node *a = n->list; a != NULL; a = a->next, i++) {
		check_expr(c, a);
		if (is_unknown(&a->type))
			continue;
		if (f.in[i] == 's'
			? !check_is_text(&a->type)
			: !check_is_number(&a->type) && a->type.count == 0)
			mistake(c->s, SCRIPT_ARG_TYPE, a->place,
				"argument %u of %s() is a %s", i + 1, n->name,
				f.in[i] == 's' ? "text" : "number");
	}
}

static void check_named(struct check *c, struct node *n)
{
	n->is = IS_NAMED;
	n->type = (struct script_type){.kind = SCRIPT_NAME, .size = 8};
	n->type.part = (uint8_t)n->number;
	if (!check_arity(c, n, 1, 1))
		return;
	check_expr(c, n->list);
	if (!is_unknown(&n->list->type) && !check_is_number(&n->list->type))
		mistake(c->s, SCRIPT_ARG_TYPE, n->list->place,
			"%s() takes an address", n->name);
}

static void check_stringof(struct check *c, struct node *n)
{
	if (!check_arity(c, n, 1, 1))
		return;
	check_expr(c, n->list);
	n->kind = NODE_CAST;
	n->kid[0] = n->list;
	n->list = NULL;
	n->type = text_type();
}

static void check_call(struct check *c, struct node *n)
{
	enum word_kind word = word_find(n->name, &n->number);
	const char *near;

	n->type = unknown;
	if (word == WORD_FUNCTION) {
		check_function(c, n);
	} else if (word == WORD_NAMED) {
		check_named(c, n);
	} else if (strcmp(n->name, "ustack") == 0) {
		if (check_arity(c, n, 0, 1))
			check_stack(c, n);
	} else if (strcmp(n->name, "stringof") == 0) {
		check_stringof(c, n);
	} else if (word == WORD_ACTION) {
		mistake(c->s, SCRIPT_ACTION_VALUE, n->place,
			"%s() is an action and has no value", n->name);
	} else if (word == WORD_AGGREGATING) {
		mistake(c->s, SCRIPT_AGG_FUNC, n->place,
			"%s() can only be assigned to an aggregation", n->name);
	} else if (word == WORD_UNSUPPORTED) {
		mistake(c->s, SCRIPT_UNSUPPORTED, n->place,
			"%s() is known from DTrace but not supported here",
			n->name);
	} else {
		near = word_near(n->name);
		mistake(c->s, SCRIPT_FUNC_UNDEF, n->place,
			"there is no function %s()%s%s%s", n->name,
			near != NULL ? "; is it " : "",
			near != NULL ? near : "", near != NULL ? "()?" : "");
	}
}

void check_expr(struct check *c, struct node *n)
{
	n->is = IS_PLAIN;
	switch (n->kind) {
	case NODE_NUMBER:
		break;
	case NODE_TEXT:
		n->type = text_type();
		break;
	case NODE_NAME:
	case NODE_SELF:
	case NODE_THIS:
		check_name(c, n);
		break;
	case NODE_INDEX:
		check_index(c, n);
		break;
	case NODE_CALL:
		check_call(c, n);
		break;
	case NODE_UNARY:
		check_unary(c, n);
		break;
	case NODE_POSTFIX:
		check_step(c, n);
		break;
	case NODE_BINARY:
		check_binary(c, n);
		break;
	case NODE_ASSIGN:
		check_assign(c, n);
		break;
	case NODE_CHOICE:
		check_choice(c, n);
		break;
	case NODE_MEMBER:
		check_member(c, n);
		break;
	case NODE_CAST:
		check_cast(c, n);
		break;
	default:
		mistake(c->s, SCRIPT_AGG_USE, n->place,
			"the value of an aggregation cannot be used");
		n->type = unknown;
	}
}

// NOLINTEND(misc-no-recursion)

/* -- Clauses -- */

static void check_clause(struct script *s, struct clause *clause)
{
	struct check c = {.s = s, .clause = clause};

	if (clause->predicate != NULL) {
		check_expr(&c, clause->predicate);
		if (!is_unknown(&clause->predicate->type) &&
		    (!check_is_number(&clause->predicate->type) ||
		     is_aggregate(&clause->predicate->type)))
			mistake(s, SCRIPT_PREDICATE, clause->predicate->place,
				"a predicate is a number; ask '!= NULL' of a "
				"text");
	}
	check_statements(&c, clause->body);
}

static void learn(struct script *s)
{
	size_t known;
	unsigned rounds = 0;

	do {
		known = s->variables.n;
		for (struct clause *c = s->clauses; c != NULL; c = c->next)
			check_clause(s, c);
	} while (s->variables.n > known && ++rounds < 64);
}

void script_check(struct script *s)
{
	s->is_quiet = true;
	learn(s);
	s->zeros_count = true;
	learn(s);
	s->is_quiet = false;
	for (struct clause *c = s->clauses; c != NULL; c = c->next)
		check_clause(s, c);
}
