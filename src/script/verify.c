/* script/verify.c - every program that passes is safe to run.
 *
 * Jumps go forward, so one pass meets every way to an instruction before the
 * instruction itself. What is known there is one word:
 *
 *	bits 0..31	2 for each register: empty, number, text
 *	bits 32..55	the action whose entry lacks arguments, plus 1
 *	bits 56..61	how many of its arguments are out
 *	bit 62		room is reserved
 *	bit 63		something leads here
 *
 * V1  No register is read that is empty on some way, or of another kind.
 * V2  A key tuple is made and used without a jump between, and fits the
 *     signature of what it is used for.
 * V3  An entry has all of its arguments, of the kinds that its action says.
 * V4  All that a clause may put out is within its output_max.
 * V5  Every index is within its table. */
#include "script/verify.h"

#include "script/aggregate.h"

enum { EMPTY, NUMBER, TEXT };

#define SEEN	 (1ULL << 63)
#define RESERVED (1ULL << 62)
#define ENTRY	 0x3fffffff00000000ULL

struct verify {
	const struct probe_program *p;
	const struct probe_clause *clause;
	struct verify_room *room;
	uint64_t now; /* what is known here */
	uint32_t pc;
	uint32_t output;
	bool has_tuple;
	uint8_t n_keys;
	struct probe_part key[PROBE_KEYS_MAX];
};

/* -- Tables -- */

static bool table_fits(const struct probe_program *p, struct probe_table t,
		       uint64_t each)
{
	return t.offset % 8 == 0 && t.offset <= p->size &&
	       t.n <= (p->size - t.offset) / each;
}

static bool tables_fit(const struct probe_program *p)
{
	return table_fits(p, p->clauses, sizeof(struct probe_clause)) &&
	       table_fits(p, p->descriptions,
			  sizeof(struct probe_description)) &&
	       table_fits(p, p->code, sizeof(struct probe_insn)) &&
	       table_fits(p, p->constants, sizeof(uint64_t)) &&
	       table_fits(p, p->variables, sizeof(struct probe_variable)) &&
	       table_fits(p, p->aggregations,
			  sizeof(struct probe_aggregation)) &&
	       table_fits(p, p->actions, sizeof(struct probe_action)) &&
	       table_fits(p, p->parts, sizeof(struct probe_part)) &&
	       table_fits(p, p->texts, 1);
}

static bool in_range(uint32_t first, uint32_t n, uint32_t of)
{
	return first <= of && n <= of - first;
}

static bool part_is_sound(const struct probe_part *part)
{
	bool is_number =
	    part->kind == PROBE_NUMBER ||
	    (part->kind >= PROBE_ADDRESS && part->kind < PROBE_KIND_MAX);

	if (is_number)
		return part->size == 1 || part->size == 2 || part->size == 4 ||
		       part->size == 8;
	if (part->kind == PROBE_STACK)
		return part->len >= 1 && part->len <= PROBE_FRAMES_MAX;
	if (part->kind == PROBE_BYTES)
		return part->len >= 1 && part->len <= PROBE_STRING_MAX;
	return part->kind == PROBE_STRING;
}

static const char *check_parts(const struct probe_program *p)
{
	for (uint32_t i = 0; i < p->parts.n; i++)
		if (!part_is_sound(&probe_parts(p)[i]))
			return "a part that cannot be";
	return NULL;
}

static const char *check_variables(const struct probe_program *p)
{
	for (uint32_t i = 0; i < p->variables.n; i++) {
		const struct probe_variable *v = &probe_variables(p)[i];

		if (v->name >= p->texts.n || v->scope >= PROBE_SCOPE_MAX ||
		    (v->kind != PROBE_NUMBER && v->kind != PROBE_STRING) ||
		    v->n_keys > PROBE_KEYS_MAX ||
		    !in_range(v->first_key, v->n_keys, p->parts.n))
			return "a variable that cannot be";
		if (v->n_keys == 0 &&
		    v->slot >= p->n_slots[v->scope][v->kind == PROBE_STRING])
			return "a variable without a place";
		for (unsigned k = 0; k < v->n_keys; k++)
			if (probe_parts(p)[v->first_key + k].kind >
			    PROBE_STRING)
				return "a variable with a key that cannot be";
	}
	return NULL;
}

static const char *check_aggregations(const struct probe_program *p)
{
	for (uint32_t i = 0; i < p->aggregations.n; i++) {
		const struct probe_aggregation *a = &probe_aggregations(p)[i];

		if (a->name >= p->texts.n || a->n_keys > PROBE_KEYS_MAX ||
		    !in_range(a->first_key, a->n_keys, p->parts.n) ||
		    !aggregate_is_sound(a) || a->n_cells != aggregate_cells(a))
			return "an aggregation that cannot be";
		for (unsigned k = 0; k < a->n_keys; k++)
			if (probe_parts(p)[a->first_key + k].kind ==
			    PROBE_BYTES)
				return "an aggregation with a key that cannot "
				       "be";
	}
	return NULL;
}

/* Rows of two aggregations can stand side by side. */
static bool have_same_keys(const struct probe_program *p,
			   const struct probe_aggregation *a,
			   const struct probe_aggregation *b)
{
	const struct probe_part *x = probe_parts(p) + a->first_key;
	const struct probe_part *y = probe_parts(p) + b->first_key;

	for (unsigned i = 0; i < a->n_keys && i < b->n_keys; i++)
		if (x[i].kind != y[i].kind || x[i].len != y[i].len)
			return false;
	return a->n_keys == b->n_keys;
}

static bool is_sound_beside(const struct probe_program *p, uint32_t action)
{
	const struct probe_action *a = &probe_actions(p)[action];

	if (a->n_beside == 0)
		return true;
	if (a->kind != PROBE_PRINTA || a->n_beside >= PROBE_COLUMNS_MAX ||
	    a->n_beside >= p->actions.n - action)
		return false;
	for (unsigned i = 1; i <= a->n_beside; i++)
		if (a[i].kind != PROBE_BESIDE ||
		    a[i].aggregation >= p->aggregations.n ||
		    !have_same_keys(p, &probe_aggregations(p)[a->aggregation],
				    &probe_aggregations(p)[a[i].aggregation]))
			return false;
	return true;
}

static const char *check_actions(const struct probe_program *p)
{
	for (uint32_t i = 0; i < p->actions.n; i++) {
		const struct probe_action *a = &probe_actions(p)[i];
		bool needs =
		    a->kind == PROBE_PRINTA || a->kind == PROBE_BESIDE ||
		    (a->kind >= PROBE_CLEAR && a->kind <= PROBE_DENORMALIZE);

		if (a->kind >= PROBE_ACTION_MAX || a->format >= p->texts.n ||
		    a->n_args > PROBE_ARGS_MAX ||
		    !in_range(a->first_arg, a->n_args, p->parts.n) ||
		    needs != (a->aggregation < p->aggregations.n) ||
		    (!needs && a->aggregation != PROBE_NO_AGGREGATION) ||
		    !is_sound_beside(p, i))
			return "an action that cannot be";
	}
	return NULL;
}

static const char *check_descriptions(const struct probe_program *p)
{
	for (uint32_t i = 0; i < p->descriptions.n; i++) {
		const struct probe_description *d = &probe_descriptions(p)[i];
		bool is_timed =
		    d->when == PROBE_AT_TICK || d->when == PROBE_AT_PROFILE;

		if (d->provider >= p->texts.n || d->module >= p->texts.n ||
		    d->function >= p->texts.n || d->name >= p->texts.n ||
		    d->when >= PROBE_WHEN_MAX || is_timed != (d->period_ns > 0))
			return "a probe description that cannot be";
	}
	return NULL;
}

static bool hot_is_sound(const struct probe_program *p,
			 const struct probe_clause *c)
{
	static const uint8_t how[PROBE_HOT_MAX] = {0, PROBE_COUNT, PROBE_COUNT,
						   PROBE_QUANTIZE};
	uint32_t limit = 1;

	if (c->hot == PROBE_NOT_HOT)
		return true;
	if (c->hot >= PROBE_HOT_MAX || c->hot_source >= PROBE_SOURCE_MAX ||
	    c->hot_aggregation >= p->aggregations.n ||
	    probe_aggregations(p)[c->hot_aggregation].how != how[c->hot] ||
	    probe_aggregations(p)[c->hot_aggregation].n_keys !=
		(c->hot == PROBE_HOT_COUNT_KEYED))
		return false;
	if (c->hot_source == PROBE_FROM_ARG)
		limit = PROBE_ARGUMENTS;
	if (c->hot_source == PROBE_FROM_BUILTIN)
		limit = PROBE_BUILTIN_MAX;
	if (c->hot_source == PROBE_FROM_CONST)
		limit = p->constants.n;
	if (c->hot_source == PROBE_FROM_TEXT)
		limit = p->texts.n;
	return c->hot_number < limit;
}

static const char *check_clauses(const struct probe_program *p)
{
	for (uint32_t i = 0; i < p->clauses.n; i++) {
		const struct probe_clause *c = &probe_clauses(p)[i];

		if (!in_range(c->first_description, c->n_descriptions,
			      p->descriptions.n) ||
		    !in_range(c->first_insn, c->n_insns, p->code.n) ||
		    c->n_insns == 0 || c->n_insns > PROBE_CODE_MAX ||
		    c->output_max > PROBE_OUTPUT_MAX ||
		    c->flags > PROBE_FLAGS_ALL || !hot_is_sound(p, c))
			return "a clause that cannot be";
	}
	return NULL;
}

static const char *check_head(const struct probe_program *p, size_t len)
{
	if (len < sizeof *p || p->magic != PROBE_MAGIC)
		return "no probe program";
	if (p->version != PROBE_VERSION)
		return "a probe program of another version";
	if (p->size != len || len > PROBE_PROGRAM_MAX || !tables_fit(p))
		return "tables that are not within the program";
	if (p->texts.n == 0 || probe_texts(p)[p->texts.n - 1] != '\0')
		return "texts without an end";
	if (p->string_size < PROBE_STRING_MIN ||
	    p->string_size > PROBE_STRING_MAX || p->string_size % 8 != 0)
		return "a size of texts that cannot be";
	for (unsigned i = 0; i < PROBE_SCOPE_MAX; i++)
		if (p->n_slots[i][0] > p->variables.n ||
		    p->n_slots[i][1] > p->variables.n)
			return "more places than variables";
	return NULL;
}

static const char *check_tables(const struct probe_program *p, size_t len)
{
	const char *why = check_head(p, len);

	why = why != NULL ? why : check_parts(p);
	why = why != NULL ? why : check_variables(p);
	why = why != NULL ? why : check_aggregations(p);
	why = why != NULL ? why : check_actions(p);
	why = why != NULL ? why : check_descriptions(p);
	return why != NULL ? why : check_clauses(p);
}

/* -- Registers -- */

static unsigned kind_of(const struct verify *v, unsigned r)
{
	return r < PROBE_REGISTERS ? (unsigned)(v->now >> (2 * r) & 3) : EMPTY;
}

static bool set(struct verify *v, unsigned r, unsigned kind)
{
	if (r >= PROBE_REGISTERS)
		return false;
	v->now &= ~(3ULL << (2 * r));
	v->now |= (uint64_t)kind << (2 * r);
	return true;
}

static bool is_number(const struct verify *v, unsigned r)
{
	return kind_of(v, r) == NUMBER;
}

static bool is_text(const struct verify *v, unsigned r)
{
	return kind_of(v, r) == TEXT;
}

/* -- Ways -- */

/* Two ways to one place: only what both know is known. */
static bool join(uint64_t *at, uint64_t state)
{
	uint64_t same = 0;

	if ((*at & SEEN) == 0) {
		*at = state | SEEN;
		return true;
	}
	if ((*at & ENTRY) != (state & ENTRY))
		return false;
	for (unsigned r = 0; r < PROBE_REGISTERS; r++)
		if ((*at >> (2 * r) & 3) == (state >> (2 * r) & 3))
			same |= 3ULL << (2 * r);
	*at = (*at & state & (same | RESERVED)) | (*at & ENTRY) | SEEN;
	return true;
}

static bool jump(struct verify *v, int32_t over)
{
	uint32_t n = v->clause->n_insns;

	return over >= 0 && (uint32_t)over < n - v->pc - 1 &&
	       join(&v->room->state[v->pc + 1 + (uint32_t)over], v->now);
}

/* -- Instructions -- */

static bool check_call(struct verify *v, const struct probe_insn *i)
{
	struct probe_signature f;

	if (i->imm < 0 || i->imm >= PROBE_CALL_MAX)
		return false;
	f = probe_signature_of((unsigned)i->imm);
	for (unsigned k = 0; k < PROBE_SIGNATURE_MAX && f.in[k] != '\0'; k++)
		if (kind_of(v, i->a + k) != (f.in[k] == 's' ? TEXT : NUMBER))
			return false;
	return set(v, i->d, f.result == 's' ? TEXT : NUMBER);
}

static bool add_key(struct verify *v, enum probe_kind kind, uint32_t len)
{
	if (v->n_keys == PROBE_KEYS_MAX)
		return false;
	v->key[v->n_keys].kind = (uint8_t)kind;
	v->key[v->n_keys++].len = len;
	return true;
}

static bool keys_match(const struct verify *v, uint32_t first, unsigned n)
{
	if (!v->has_tuple || v->n_keys != n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct probe_part *want = &probe_parts(v->p)[first + i];
		unsigned kind =
		    want->kind >= PROBE_ADDRESS ? PROBE_NUMBER : want->kind;

		if (kind != v->key[i].kind ||
		    (kind == PROBE_STACK && want->len != v->key[i].len))
			return false;
	}
	return true;
}

static bool check_variable(struct verify *v, const struct probe_insn *i)
{
	bool has_key = i->op == PROBE_GET_KEY || i->op == PROBE_PUT_KEY;
	const struct probe_variable *var;
	unsigned kind;

	if (i->imm < 0 || (uint32_t)i->imm >= v->p->variables.n)
		return false;
	var = &probe_variables(v->p)[i->imm];
	kind = var->kind == PROBE_STRING ? TEXT : NUMBER;
	if (has_key ? var->n_keys == 0 ||
			  !keys_match(v, var->first_key, var->n_keys)
		    : var->n_keys != 0)
		return false;
	v->has_tuple = false;
	if (i->op == PROBE_PUT || i->op == PROBE_PUT_KEY)
		return kind_of(v, i->a) == kind;
	return set(v, i->d, kind);
}

static bool check_key(struct verify *v, const struct probe_insn *i)
{
	const struct probe_aggregation *a;

	switch (i->op) {
	case PROBE_TUPLE:
		v->has_tuple = true;
		v->n_keys = 0;
		return true;
	case PROBE_KEY:
		return v->has_tuple && is_number(v, i->a) &&
		       add_key(v, PROBE_NUMBER, 0);
	case PROBE_KEY_TEXT:
		return v->has_tuple && is_text(v, i->a) &&
		       add_key(v, PROBE_STRING, 0);
	case PROBE_KEY_STACK:
		return v->has_tuple && i->imm >= 1 &&
		       i->imm <= PROBE_FRAMES_MAX &&
		       add_key(v, PROBE_STACK, (uint32_t)i->imm);
	case PROBE_AGGREGATE:
		if (i->imm < 0 || (uint32_t)i->imm >= v->p->aggregations.n)
			return false;
		a = &probe_aggregations(v->p)[i->imm];
		if (!keys_match(v, a->first_key, a->n_keys))
			return false;
		v->has_tuple = false;
		return is_number(v, i->a) && is_number(v, i->b);
	default:
		return check_variable(v, i);
	}
}

/* The action whose entry is open, and how many arguments it has so far. */
static const struct probe_action *entry(const struct verify *v, unsigned *n)
{
	uint32_t action = (uint32_t)(v->now >> 32) & 0xffffff;

	*n = (unsigned)(v->now >> 56) & 63;
	return action == 0 ? NULL : &probe_actions(v->p)[action - 1];
}

static bool entry_is_whole(const struct verify *v)
{
	return (v->now & ENTRY) == 0;
}

static bool check_emit(struct verify *v, int32_t action)
{
	const struct probe_action *a;

	if (action < 0 || (uint32_t)action >= v->p->actions.n ||
	    action >= 0xfffffe || (v->now & RESERVED) == 0 ||
	    !entry_is_whole(v))
		return false;
	a = &probe_actions(v->p)[action];
	v->output += sizeof(struct probe_entry);
	for (unsigned i = 0; i < a->n_args; i++)
		v->output += probe_part_max(
		    &probe_parts(v->p)[a->first_arg + i], v->p->string_size);
	if (a->n_args > 0)
		v->now |= (uint64_t)(action + 1) << 32;
	return v->output <= v->clause->output_max;
}

static bool check_out(struct verify *v, const struct probe_insn *i)
{
	unsigned n;
	const struct probe_action *a = entry(v, &n);
	const struct probe_part *part;

	if (a == NULL || n >= a->n_args)
		return false;
	part = &probe_parts(v->p)[a->first_arg + n];
	if (n + 1 < a->n_args)
		v->now += 1ULL << 56;
	else
		v->now &= ~ENTRY; /* it is whole */
	switch (i->op) {
	case PROBE_OUT:
		return is_number(v, i->a) && (part->kind == PROBE_NUMBER ||
					      part->kind >= PROBE_ADDRESS);
	case PROBE_OUT_TEXT:
		return is_text(v, i->a) && part->kind == PROBE_STRING;
	case PROBE_OUT_STACK:
		return part->kind == PROBE_STACK &&
		       part->len == (uint32_t)i->imm;
	default:
		return part->kind == PROBE_BYTES && is_number(v, i->a) &&
		       part->len == (uint32_t)i->imm;
	}
}

static bool check_values(struct verify *v, const struct probe_insn *i)
{
	switch (i->op) {
	case PROBE_CONST:
		return i->imm >= 0 && (uint32_t)i->imm < v->p->constants.n &&
		       set(v, i->d, NUMBER);
	case PROBE_IMM:
		return set(v, i->d, NUMBER);
	case PROBE_TEXT:
		return i->imm >= 0 && (uint32_t)i->imm < v->p->texts.n &&
		       set(v, i->d, TEXT);
	case PROBE_NULL:
		return set(v, i->d, TEXT);
	case PROBE_MOVE:
		return kind_of(v, i->a) != EMPTY &&
		       set(v, i->d, kind_of(v, i->a));
	case PROBE_NEG:
	case PROBE_NOT:
		return is_number(v, i->a) && set(v, i->d, NUMBER);
	case PROBE_COMPARE:
		return is_text(v, i->a) && is_text(v, i->b) &&
		       set(v, i->d, NUMBER);
	case PROBE_IS_NULL:
		return is_text(v, i->a) && set(v, i->d, NUMBER);
	case PROBE_SEXT:
	case PROBE_ZEXT:
		return i->imm >= 1 && i->imm <= 64 && is_number(v, i->a) &&
		       set(v, i->d, NUMBER);
	case PROBE_LOAD:
		return i->b < PROBE_WIDTH_MAX && is_number(v, i->a) &&
		       set(v, i->d, NUMBER);
	default:
		return is_number(v, i->a) && is_number(v, i->b) &&
		       set(v, i->d, NUMBER);
	}
}

static bool check_world(struct verify *v, const struct probe_insn *i)
{
	switch (i->op) {
	case PROBE_BUILTIN:
		return i->imm >= 0 && i->imm < PROBE_BUILTIN_FIRST_TEXT &&
		       set(v, i->d, NUMBER);
	case PROBE_BUILTIN_TEXT:
		return i->imm >= PROBE_BUILTIN_FIRST_TEXT &&
		       i->imm < PROBE_BUILTIN_MAX && set(v, i->d, TEXT);
	case PROBE_ARG:
		return i->imm >= 0 && i->imm < PROBE_ARGUMENTS &&
		       set(v, i->d, NUMBER);
	case PROBE_UREG:
		return is_number(v, i->a) && set(v, i->d, NUMBER);
	case PROBE_CALL:
		return check_call(v, i);
	case PROBE_RESERVE:
		v->now |= RESERVED;
		return true;
	case PROBE_EMIT:
		return check_emit(v, i->imm);
	case PROBE_OUT:
	case PROBE_OUT_TEXT:
	case PROBE_OUT_STACK:
	case PROBE_OUT_BYTES:
		return check_out(v, i);
	case PROBE_STOP:
		return (v->clause->flags & PROBE_IS_DESTRUCTIVE) != 0;
	case PROBE_RAISE:
		return (v->clause->flags & PROBE_IS_DESTRUCTIVE) != 0 &&
		       is_number(v, i->a);
	case PROBE_SPECULATE:
		return (v->clause->flags & PROBE_SPECULATES) != 0 &&
		       entry_is_whole(v) && is_number(v, i->a);
	case PROBE_COMMIT:
	case PROBE_DISCARD:
		return is_number(v, i->a);
	default:
		return check_key(v, i);
	}
}

static bool is_keyed(unsigned op)
{
	return op == PROBE_KEY || op == PROBE_KEY_TEXT ||
	       op == PROBE_KEY_STACK || op == PROBE_GET_KEY ||
	       op == PROBE_PUT_KEY || op == PROBE_AGGREGATE;
}

/* One instruction; *falls says whether the next one follows it. */
static bool check_insn(struct verify *v, const struct probe_insn *i,
		       bool *falls)
{
	*falls = true;
	if (i->d >= PROBE_REGISTERS || i->a >= PROBE_REGISTERS ||
	    i->b >= PROBE_REGISTERS || (v->has_tuple && !is_keyed(i->op)))
		return false;
	switch (i->op) {
	case PROBE_RET:
		*falls = false;
		return entry_is_whole(v);
	case PROBE_JUMP:
		*falls = false;
		return jump(v, i->imm);
	case PROBE_JZ:
	case PROBE_JNZ:
		return is_number(v, i->a) && jump(v, i->imm);
	default:
		break;
	}
	if (i->op >= PROBE_OP_MAX)
		return false;
	return i->op <= PROBE_LOAD ? check_values(v, i) : check_world(v, i);
}

static bool check_clause(struct verify *v)
{
	const struct probe_insn *code =
	    probe_code(v->p) + v->clause->first_insn;
	uint32_t n = v->clause->n_insns;

	for (uint32_t i = 0; i <= n; i++)
		v->room->state[i] = 0;
	v->room->state[0] = SEEN;
	v->output = 0;
	v->has_tuple = false;
	for (v->pc = 0; v->pc < n; v->pc++) {
		bool falls;

		v->now = v->room->state[v->pc];
		if ((v->now & SEEN) == 0)
			continue; /* nothing leads here */
		if (!check_insn(v, &code[v->pc], &falls))
			return false;
		/* V2: no other way may lead into a tuple. */
		if (v->has_tuple && (v->room->state[v->pc + 1] & SEEN) != 0)
			return false;
		if (falls && !join(&v->room->state[v->pc + 1], v->now))
			return false;
	}
	return (v->room->state[n] & SEEN) == 0 &&
	       v->output == v->clause->output_max;
}

const char *verify_program(const void *program, size_t len,
			   struct verify_room *room)
{
	struct verify v = {.p = program, .room = room};
	const char *why = check_tables(v.p, len);

	if (why != NULL)
		return why;
	for (uint32_t i = 0; i < v.p->clauses.n; i++) {
		v.clause = &probe_clauses(v.p)[i];
		if (!check_clause(&v))
			return "code that is not safe to run";
	}
	return NULL;
}
