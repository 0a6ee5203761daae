/* native/collect_lean.c - clauses that only reckon, without the machine.
 *
 * Most clauses that are hit millions of times put nothing out, read no memory
 * and have no texts, arrays or keys: numbers, variables, times, aggregations.
 * Nothing in them can fail but an aggregation for want of room, so they need
 * none of what the machine gets ready for each clause. When a thread meets a
 * site first, its clauses are decoded into the area, instruction by
 * instruction: what a script's number or variable is, is known from then on.
 *
 * L1  What a clause does is what the machine would do, bit by bit: tests run
 *     both.
 * L2  Some sequences are done at once, as one that begins with their first
 *     instruction; the others of it are there all the same, for whoever jumps
 *     to them.
 * L3  A row of an aggregation is looked for by collect_aggregate(), until it is
 *     there. From then on count, sum and quantize change their one cell, as the
 *     hot ways do. */
#include "native/collect_board.h"

#include "script/aggregate.h"

/* -- Instructions -- */

/* ORDER lean_op: what they do is in run(). */
/* clang-format off */
#define LEAN_OPS(R) \
	R(END) R(SET) R(MOVE) R(ADD) R(SUB) R(MUL) R(AND) R(OR) R(XOR) \
	R(SHL) R(SHR) R(SAR) R(EQ) R(NE) R(SLT) R(SLE) R(ULT) R(ULE) \
	R(NEG) R(NOT) R(SEXT) R(ZEXT) R(JUMP) R(JZ) R(JNZ) \
	R(BUILTIN) R(NOW) R(ARG) R(GET) R(PUT) R(GET_GLOBAL) R(PUT_GLOBAL) \
	R(AGGREGATE) \
	/* L2 */ \
	R(IF)	 /* GET, JNZ, END: most predicates */ \
	R(STAMP) /* NOW, PUT */ \
	R(AGE)	 /* NOW, GET, SUB */ \
	R(ADD_IN) /* SET, JUMP (of a tuple), AGGREGATE */ \
	R(CLEAR) /* SET, PUT */
/* clang-format on */

enum lean_op {
#define R(name) LEAN_##name,
	LEAN_OPS(R)
#undef R
	    LEAN_MAX
};

/* Those that are the machine's own: else 0, which is RET's. */
static uint8_t same_op(uint8_t op)
{
	static const uint8_t as[PROBE_OP_MAX] = {
	    [PROBE_MOVE] = LEAN_MOVE, [PROBE_ADD] = LEAN_ADD,
	    [PROBE_SUB] = LEAN_SUB,   [PROBE_MUL] = LEAN_MUL,
	    [PROBE_AND] = LEAN_AND,   [PROBE_OR] = LEAN_OR,
	    [PROBE_XOR] = LEAN_XOR,   [PROBE_SHL] = LEAN_SHL,
	    [PROBE_SHR] = LEAN_SHR,   [PROBE_SAR] = LEAN_SAR,
	    [PROBE_EQ] = LEAN_EQ,     [PROBE_NE] = LEAN_NE,
	    [PROBE_SLT] = LEAN_SLT,   [PROBE_SLE] = LEAN_SLE,
	    [PROBE_ULT] = LEAN_ULT,   [PROBE_ULE] = LEAN_ULE,
	    [PROBE_NEG] = LEAN_NEG,   [PROBE_NOT] = LEAN_NOT,
	    [PROBE_SEXT] = LEAN_SEXT, [PROBE_ZEXT] = LEAN_ZEXT,
	    [PROBE_JUMP] = LEAN_JUMP, [PROBE_JZ] = LEAN_JZ,
	    [PROBE_JNZ] = LEAN_JNZ,   [PROBE_ARG] = LEAN_ARG,
	};

	return as[op];
}

/* -- Decoding -- */

static uint64_t offset_in(const void *base, const void *what)
{
	return (uint64_t)((const uint8_t *)what - (const uint8_t *)base);
}

static bool decode_variable(struct collect_work *w, const struct probe_insn *i,
			    struct collect_lean *out)
{
	const struct probe_variable *v = &probe_variables(w->h.program)[i->imm];
	const uint64_t *number = &w->h.numbers[v->scope][v->slot];
	bool is_get = i->op == PROBE_GET;

	if (v->kind != PROBE_NUMBER)
		return false;
	if (v->scope == PROBE_GLOBAL) {
		out->op = is_get ? LEAN_GET_GLOBAL : LEAN_PUT_GLOBAL;
		out->at = offset_in(w->board, number);
	} else {
		out->op = is_get ? LEAN_GET : LEAN_PUT;
		out->at = offset_in(w->area, number);
	}
	return true;
}

/* That takes more of the stack than there may be: only with
 * collect_fire_with_room(). */
static bool walks_stack(int32_t builtin)
{
	return builtin == PROBE_BUILTIN_UCALLER ||
	       builtin == PROBE_BUILTIN_USTACKDEPTH;
}

/* False: only the machine can. */
static bool decode(struct collect_work *w, const struct probe_insn *i,
		   struct collect_lean *out)
{
	const struct probe_program *p = w->h.program;

	*out = (struct collect_lean){.op = same_op(i->op),
				     .d = i->d,
				     .a = i->a,
				     .b = i->b,
				     .imm = i->imm};
	switch (i->op) {
	case PROBE_RET:
		return true;
	case PROBE_CONST:
		out->op = LEAN_SET;
		out->at = probe_constants(p)[i->imm];
		return true;
	case PROBE_IMM:
		out->op = LEAN_SET;
		out->at = (uint64_t)(int64_t)i->imm;
		return true;
	case PROBE_TUPLE:
		out->op = LEAN_JUMP;
		out->imm = 0;
		return true;
	case PROBE_BUILTIN:
		if (walks_stack(i->imm))
			return false;
		out->op =
		    i->imm == PROBE_BUILTIN_TIMESTAMP ? LEAN_NOW : LEAN_BUILTIN;
		return true;
	case PROBE_GET:
	case PROBE_PUT:
		return decode_variable(w, i, out);
	case PROBE_AGGREGATE:
		out->op = LEAN_AGGREGATE;
		return probe_aggregations(p)[i->imm].n_keys == 0;
	default:
		return out->op != LEAN_END;
	}
}

/* L2, with n instructions left. */
static uint8_t joined(const struct collect_lean *i, uint32_t n)
{
	uint8_t second = n > 1 ? i[1].op : LEAN_MAX;
	uint8_t third = n > 2 ? i[2].op : LEAN_MAX;

	if (i->op == LEAN_GET && second == LEAN_JNZ && third == LEAN_END &&
	    i[1].imm == 1)
		return LEAN_IF;
	if (i->op == LEAN_NOW && second == LEAN_PUT)
		return LEAN_STAMP;
	if (i->op == LEAN_NOW && second == LEAN_GET && third == LEAN_SUB)
		return LEAN_AGE;
	if (i->op == LEAN_SET && second == LEAN_JUMP && i[1].imm == 0 &&
	    third == LEAN_AGGREGATE)
		return LEAN_ADD_IN;
	if (i->op == LEAN_SET && second == LEAN_PUT)
		return LEAN_CLEAR;
	return i->op;
}

static bool decode_clause(struct collect_work *w, const struct probe_clause *c)
{
	const struct probe_insn *code = probe_code(w->h.program);
	struct collect_lean *out = w->lean + c->first_insn;

	if (c->output_max > 0)
		return false;
	for (uint32_t k = 0; k < c->n_insns; k++)
		if (!decode(w, &code[c->first_insn + k], &out[k]))
			return false;
	for (uint32_t k = 0; k < c->n_insns; k++)
		out[k].op = joined(&out[k], c->n_insns - k);
	return true;
}

bool collect_is_lean(struct collect_work *w, struct collect_way *way,
		     const uint32_t *clauses)
{
	const struct probe_program *p = w->h.program;
	uint64_t n = w->site->clauses.n;

	if (n == 0 || p->code.n > COLLECT_LEAN ||
	    w->site->kind == COLLECT_LOADER)
		return false;
	for (uint64_t k = 0; k < n; k++)
		if (!decode_clause(w, &probe_clauses(p)[clauses[k]]))
			return false;
	way->uses = clauses[0];
	way->cell =
	    n == 1
		? (uint64_t)(uintptr_t)(w->lean +
					probe_clauses(p)[clauses[0]].first_insn)
		: 0;
	return true;
}

/* -- Running -- */

/* L3: .at is the offset of the cells, or 0. */
static void find_cells(struct collect_work *w, struct collect_lean *i)
{
	unsigned how = probe_aggregations(w->h.program)[i->imm].how;

	if (w->singles[i->imm] != 0 &&
	    (how == PROBE_COUNT || how == PROBE_SUM || how == PROBE_QUANTIZE))
		i->at = offset_in(
		    w->area, collect_cells(
				 collect_row(w, (uint32_t)i->imm, NULL, 0), 0));
}

static __attribute__((noinline)) void aggregate_slowly(struct collect_work *w,
						       struct collect_lean *i,
						       uint64_t value,
						       uint64_t weight)
{
	collect_aggregate(&w->h, (uint32_t)i->imm, NULL, 0, (int64_t)value,
			  (int64_t)weight);
	find_cells(w, i);
}

static inline void aggregate(struct collect_work *w, struct collect_lean *i,
			     uint64_t value, uint64_t weight)
{
	unsigned how = probe_aggregations(w->h.program)[i->imm].how;
	uint64_t *cells = collect_in(w->area, i->at);

	if (i->at == 0 || weight != 1) {
		aggregate_slowly(w, i, value, weight);
	} else if (how == PROBE_QUANTIZE) {
		collect_add(&cells[aggregate_quantize_of((int64_t)value)], 1);
	} else if (how == PROBE_COUNT) {
		collect_add(cells, 1);
	} else {
		/* A row that was truncated comes back for a 0, too. */
		collect_add(cells, value);
		collect_add(
		    &((struct collect_row *)(void *)cells - 1)->sequence, 2);
	}
}

static uint64_t argument(const struct collect_work *w, unsigned k)
{
	static const uint8_t order[6] = {7, 6, 2, 1, 8, 9};

	if (w->site->kind == COLLECT_ENTRY && k < 6)
		return w->frame->gpr[order[k]];
	return collect_argument(w->area, w->site, w->frame, k);
}

static inline uint64_t *number(void *base, const struct collect_lean *i)
{
	return (uint64_t *)(void *)((uint8_t *)base + i->at);
}

static inline uint64_t get(void *base, const struct collect_lean *i)
{
	return __atomic_load_n(number(base, i), __ATOMIC_RELAXED);
}

static inline void put(void *base, const struct collect_lean *i, uint64_t value)
{
	__atomic_store_n(number(base, i), value, __ATOMIC_RELAXED);
}

/* As script/machine.c does it; x, y and z are instructions. ORDER lean_op */
/* clang-format off */
// NOLINTBEGIN(bugprone-macro-parentheses): statements
// NOLINTNEXTLINE(readability-function-size): a list of alike cases
static void run(struct collect_work *w, struct collect_lean *x)
{
#define R(name) (int32_t)((uint8_t *)&&on_##name - (uint8_t *)&&on_END),
	static const int32_t at[LEAN_MAX] = {LEAN_OPS(R)};
#undef R
	uint64_t r[PROBE_REGISTERS];

#define D r[x->d]
#define A r[x->a]
#define B r[x->b]
#define SIGNED(v) ((int64_t)(v))
#define GO goto *(&&on_END + at[x->op])
#define ON(name, n, what) on_##name: what; x += (n); GO;

	GO;
on_END:
	return;
	ON(SET, 1, D = x->at)
	ON(MOVE, 1, D = A)
	ON(ADD, 1, D = A + B)
	ON(SUB, 1, D = A - B)
	ON(MUL, 1, D = A * B)
	ON(AND, 1, D = A & B)
	ON(OR, 1, D = A | B)
	ON(XOR, 1, D = A ^ B)
	ON(SHL, 1, D = A << (B & 63))
	ON(SHR, 1, D = A >> (B & 63))
	ON(SAR, 1, D = (uint64_t)(SIGNED(A) >> (B & 63)))
	ON(EQ, 1, D = A == B)
	ON(NE, 1, D = A != B)
	ON(SLT, 1, D = SIGNED(A) < SIGNED(B))
	ON(SLE, 1, D = SIGNED(A) <= SIGNED(B))
	ON(ULT, 1, D = A < B)
	ON(ULE, 1, D = A <= B)
	ON(NEG, 1, D = 0 - A)
	ON(NOT, 1, D = ~A)
	ON(SEXT, 1, D = machine_extend(A, x->imm, true))
	ON(ZEXT, 1, D = machine_extend(A, x->imm, false))
	ON(JUMP, 1, x += x->imm)
	ON(JZ, 1, x += A == 0 ? x->imm : 0)
	ON(JNZ, 1, x += A != 0 ? x->imm : 0)
	ON(BUILTIN, 1, D = collect_builtin(&w->h, (enum probe_builtin)x->imm))
	ON(NOW, 1, D = collect_now(w))
	ON(ARG, 1, D = argument(w, (unsigned)x->imm))
	ON(GET, 1, D = get(w->area, x))
	ON(PUT, 1, put(w->area, x, A))
	ON(GET_GLOBAL, 1, D = get(w->board, x))
	ON(PUT_GLOBAL, 1, put(w->board, x, A))
	ON(AGGREGATE, 1, aggregate(w, x, A, B))
on_IF:
	D = get(w->area, x);
	if (r[x[1].a] == 0)
		return;
	x += 3;
	GO;
	ON(STAMP, 2, D = collect_now(w); put(w->area, &x[1], r[x[1].a]))
	ON(AGE, 3, D = collect_now(w); r[x[1].d] = get(w->area, &x[1]);
	   r[x[2].d] = r[x[2].a] - r[x[2].b])
	ON(ADD_IN, 3, D = x->at; aggregate(w, &x[2], r[x[2].a], r[x[2].b]))
	ON(CLEAR, 2, D = x->at; put(w->area, &x[1], r[x[1].a]))
#undef D
#undef A
#undef B
#undef SIGNED
#undef GO
#undef ON
}
// NOLINTEND(bugprone-macro-parentheses)
/* clang-format on */

static void run_all(struct collect_work *w)
{
	const uint32_t *clauses = collect_at(w->plan, w->site->clauses.offset);
	const struct probe_clause *all = probe_clauses(w->h.program);

	for (uint64_t k = 0; k < w->site->clauses.n; k++) {
		w->clause = clauses[k];
		run(w, w->lean + all[clauses[k]].first_insn);
	}
}

/* Of the only clause it is known where it is: a way through site, plan and
 * program would be waited for. */
enum machine_end collect_run_lean(struct collect_work *w,
				  const struct collect_way *way)
{
	w->is_lacking = false;
	if (way->cell != 0) {
		w->clause = way->uses;
		run(w, (struct collect_lean *)(uintptr_t)way->cell);
	} else {
		run_all(w);
	}
	return w->is_lacking ? MACHINE_DROPPED : MACHINE_DONE;
}
