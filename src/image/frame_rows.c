/* image/frame_rows.c - check a block of call-frame rules, and follow them.
 *
 * Pure: see frame_rows.h. */
#include "image/frame_rows.h"

#include "image/cursor_priv.h"
#include "image/dw_op.h"

enum { STACK = 64, STEPS = 1024 }; /* of one expression */

/* -- Is it a table? -- */

static uint64_t mix(uint64_t sum, const uint8_t *at, uint64_t len)
{
	uint64_t word;

	for (; len >= sizeof word; at += sizeof word, len -= sizeof word) {
		memcpy(&word, at, sizeof word);
		sum = (sum ^ word) * 0xff51afd7ed558ccd;
		sum ^= sum >> 32;
	}
	for (; len > 0; at++, len--)
		sum = (sum ^ *at) * 0xff51afd7ed558ccd;
	return sum;
}

uint64_t frame_table_sum(const struct frame_table *t)
{
	const uint8_t *at = (const uint8_t *)t;
	size_t before = offsetof(struct frame_table, sum);
	size_t after = before + sizeof t->sum;

	return mix(mix(0x9e3779b97f4a7c15, at, before), at + after,
		   t->len - after);
}

static bool cell_fits(const struct frame_table *t, const struct frame_cell *c)
{
	if (c->how >= FRAME_HOWS || c->reg >= FRAME_REGS)
		return false;
	if (c->how != FRAME_EXPR && c->how != FRAME_VAL_EXPR)
		return true;
	return c->value >= 0 && (uint32_t)c->value <= t->expr_len &&
	       c->expr_len <= t->expr_len - (uint32_t)c->value;
}

static bool rules_fit(const struct frame_table *t)
{
	const struct frame_rule *r = frame_rules(t);
	const struct frame_general *g = frame_generals(t);

	if (t->n_rules == 0 || r[0].kind != FRAME_NONE)
		return false;
	for (uint32_t i = 0; i < t->n_rules; i++)
		if (r[i].kind >= FRAME_KINDS || r[i].reg >= FRAME_REGS ||
		    (r[i].kind == FRAME_GENERAL &&
		     (r[i].cfa < 0 || (uint32_t)r[i].cfa >= t->n_general)))
			return false;
	for (uint32_t i = 0; i < t->n_general; i++) {
		if (!cell_fits(t, &g[i].cfa) ||
		    (g[i].cfa.how != FRAME_REGISTER &&
		     g[i].cfa.how != FRAME_VAL_EXPR))
			return false;
		for (int k = 0; k < FRAME_REGS; k++)
			if (!cell_fits(t, &g[i].reg[k]))
				return false;
	}
	return true;
}

static bool rows_fit(const struct frame_table *t)
{
	const uint32_t *page = frame_pages(t);
	const struct frame_row *row = frame_rows(t);

	if (page[0] != 0 || page[t->n_pages] != t->n_rows)
		return false;
	for (uint32_t p = 0; p < t->n_pages; p++) {
		if (page[p + 1] < page[p] || page[p + 1] > t->n_rows)
			return false;
		for (uint32_t i = page[p]; i < page[p + 1]; i++)
			if (row[i].rule >= t->n_rules ||
			    (i > page[p] && row[i].low <= row[i - 1].low))
				return false;
	}
	return true;
}

int frame_table_check(const void *block, size_t len, bool sum,
		      struct hark_err *err)
{
	const struct frame_table *t = block;
	uint64_t need = sizeof *t;

	if (len < sizeof *t || (uintptr_t)block % 8 != 0 ||
	    t->magic != FRAME_MAGIC || t->version != FRAME_VERSION)
		return err_set(err, HARK_EINPUT, 0,
			       "not a table of call-frame rules");
	/* No overflow: each product is below 2^40. */
	need += (uint64_t)t->n_rules * sizeof(struct frame_rule);
	need += (uint64_t)t->n_general * sizeof(struct frame_general);
	need += ((uint64_t)t->n_pages + 1) * sizeof(uint32_t);
	need += (uint64_t)t->n_rows * sizeof(struct frame_row);
	need += t->expr_len;
	if (need != t->len || t->len != len || t->id_len > FRAME_ID_MAX ||
	    t->base % FRAME_PAGE != 0 || !rules_fit(t) || !rows_fit(t))
		return err_set(err, HARK_EINPUT, 0,
			       "a damaged table of call-frame rules");
	if (sum && frame_table_sum(t) != t->sum)
		return err_set(err, HARK_EINPUT, 0,
			       "a table of call-frame rules with a wrong sum");
	return 0;
}

/* -- DWARF expressions -- */

struct machine {
	const struct frame_memory *mem; /* borrowed */
	const struct frame_cpu *cpu;	/* borrowed */
	struct cursor code, whole;
	uint64_t stack[STACK];
	unsigned n;
	enum frame_result why; /* FRAME_STEPPED as long as all is well */
};

static void fail(struct machine *m, enum frame_result why)
{
	m->why = why;
}

static void push(struct machine *m, uint64_t v)
{
	if (m->n == STACK)
		fail(m, FRAME_UNKNOWN);
	else
		m->stack[m->n++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (m->n > 0)
		return m->stack[--m->n];
	fail(m, FRAME_UNKNOWN);
	return 0;
}

static void push_memory(struct machine *m, uint64_t addr, unsigned len)
{
	uint64_t v = 0;

	if (len == 0 || len > 8 || m->mem->read(m->mem->ctx, addr, &v) < 0)
		fail(m, FRAME_UNREADABLE);
	else
		push(m, len < 8 ? v & (((uint64_t)1 << len * 8) - 1) : v);
}

static void push_register(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= FRAME_REGS || (m->cpu->known >> reg & 1) == 0)
		fail(m, FRAME_UNKNOWN);
	else
		push(m, m->cpu->reg[reg] + (uint64_t)offset);
}

static void push_copy(struct machine *m, uint64_t depth)
{
	if (depth >= m->n)
		fail(m, FRAME_UNKNOWN);
	else
		push(m, m->stack[m->n - 1 - depth]);
}

static void jump(struct machine *m)
{
	int16_t delta = (int16_t)cursor_u16(&m->code);
	int64_t to = m->code.at - m->whole.at + delta;

	if (to < 0 || to > m->whole.end - m->whole.at)
		fail(m, FRAME_UNKNOWN);
	else
		m->code.at = m->whole.at + to;
}

/* a op b, b on top; only for operators from OP_AND to OP_NE. */
static uint64_t compute(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case OP_AND:
		return a & b;
	case OP_DIV:
		if (b == 0 || (sa == INT64_MIN && sb == -1))
			break;
		return (uint64_t)(sa / sb);
	case OP_MINUS:
		return a - b;
	case OP_MOD:
		if (b == 0)
			break;
		return a % b;
	case OP_MUL:
		return a * b;
	case OP_OR:
		return a | b;
	case OP_PLUS:
		return a + b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_SHRA:
		return (uint64_t)(sa >> (b < 63 ? b : 63));
	case OP_XOR:
		return a ^ b;
	case OP_EQ:
		return sa == sb;
	case OP_GE:
		return sa >= sb;
	case OP_GT:
		return sa > sb;
	case OP_LE:
		return sa <= sb;
	case OP_LT:
		return sa < sb;
	case OP_NE:
		return sa != sb;
	default:
		break;
	}
	fail(m, FRAME_UNKNOWN);
	return 0;
}

static uint64_t constant(struct machine *m, uint8_t op)
{
	unsigned len = 1u << (op - OP_CONST1U) / 2;
	uint64_t v = cursor_uint(&m->code, len);
	unsigned unused = 64 - len * 8;

	if (op % 2 == 0)
		return v;
	return (uint64_t)((int64_t)(v << unused) >> unused);
}

static void rotate(struct machine *m)
{
	uint64_t a = pop(m), b = pop(m), c = pop(m);

	push(m, a);
	push(m, c);
	push(m, b);
}

/* Operators that are neither binary nor a range of their own. */
static void run_other(struct machine *m, uint8_t op)
{
	uint64_t a, b;

	switch (op) {
	case OP_DEREF:
		push_memory(m, pop(m), 8);
		break;
	case OP_DEREF_SIZE:
		a = pop(m);
		push_memory(m, a, cursor_u8(&m->code));
		break;
	case OP_CONSTU:
		push(m, cursor_uleb(&m->code));
		break;
	case OP_CONSTS:
		push(m, (uint64_t)cursor_sleb(&m->code));
		break;
	case OP_DUP:
		push_copy(m, 0);
		break;
	case OP_DROP:
		pop(m);
		break;
	case OP_OVER:
		push_copy(m, 1);
		break;
	case OP_PICK:
		push_copy(m, cursor_u8(&m->code));
		break;
	case OP_SWAP:
		a = pop(m);
		b = pop(m);
		push(m, a);
		push(m, b);
		break;
	case OP_ROT:
		rotate(m);
		break;
	case OP_ABS:
		a = pop(m);
		push(m, (int64_t)a < 0 ? -a : a);
		break;
	case OP_NEG:
		push(m, -pop(m));
		break;
	case OP_NOT:
		push(m, ~pop(m));
		break;
	case OP_PLUS_UCONST:
		a = pop(m);
		push(m, a + cursor_uleb(&m->code));
		break;
	case OP_BREGX:
		a = cursor_uleb(&m->code);
		push_register(m, a, cursor_sleb(&m->code));
		break;
	case OP_SKIP:
		jump(m);
		break;
	case OP_BRA:
		if (pop(m) != 0)
			jump(m);
		else
			cursor_skip(&m->code, 2);
		break;
	case OP_NOP:
		break;
	default:
		fail(m, FRAME_UNKNOWN);
	}
}

static bool is_binary(uint8_t op)
{
	return op >= OP_AND && op <= OP_NE && op != OP_NEG && op != OP_NOT &&
	       op != OP_PLUS_UCONST && op != OP_BRA;
}

static void run_one(struct machine *m)
{
	uint8_t op = cursor_u8(&m->code);

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		push(m, op - OP_LIT0);
	} else if (op >= OP_BREG0 && op <= OP_BREG31) {
		push_register(m, op - OP_BREG0, cursor_sleb(&m->code));
	} else if (op >= OP_CONST1U && op <= OP_CONST8S) {
		push(m, constant(m, op));
	} else if (is_binary(op)) {
		uint64_t b = pop(m), a = pop(m);

		push(m, compute(m, op, a, b));
	} else {
		run_other(m, op);
	}
	if (m->code.bad)
		fail(m, FRAME_UNKNOWN);
}

/* push_cfa: expressions of registers begin with the CFA on the stack. */
static enum frame_result evaluate(const struct frame_table *t,
				  const struct frame_cell *cell,
				  const struct frame_cpu *cpu,
				  const struct frame_memory *mem,
				  const uint64_t *push_cfa, uint64_t *out)
{
	struct machine m = {.mem = mem, .cpu = cpu, .why = FRAME_STEPPED};
	uint64_t v;

	m.code = cursor_of(frame_exprs(t) + cell->value, cell->expr_len);
	m.whole = m.code;
	if (push_cfa != NULL)
		push(&m, *push_cfa);
	for (int i = 0; m.why == FRAME_STEPPED && cursor_left(&m.code) > 0;
	     i++) {
		run_one(&m);
		if (i == STEPS)
			fail(&m, FRAME_UNKNOWN);
	}
	if (m.why == FRAME_STEPPED) {
		v = pop(&m);
		if (m.why == FRAME_STEPPED)
			*out = v;
	}
	return m.why;
}

/* -- General rules -- */

static enum frame_result cfa_of_general(const struct frame_table *t,
					const struct frame_general *g,
					const struct frame_cpu *cpu,
					const struct frame_memory *mem,
					uint64_t *cfa)
{
	const struct frame_cell *c = &g->cfa;

	if (c->how == FRAME_VAL_EXPR)
		return evaluate(t, c, cpu, mem, NULL, cfa);
	if ((cpu->known >> c->reg & 1) == 0)
		return FRAME_UNKNOWN;
	*cfa = cpu->reg[c->reg] + (uint64_t)(int64_t)c->value;
	return FRAME_STEPPED;
}

/* One register of the caller; FRAME_UNKNOWN is no failure here. */
static enum frame_result recover(const struct frame_table *t,
				 const struct frame_cell *c, unsigned reg,
				 const struct frame_cpu *cpu,
				 const struct frame_memory *mem, uint64_t cfa,
				 uint64_t *out)
{
	uint64_t addr = cfa + (uint64_t)(int64_t)c->value;
	unsigned from = c->how == FRAME_REGISTER ? c->reg : reg;
	enum frame_result got;

	switch (c->how) {
	case FRAME_SAME:
	case FRAME_REGISTER:
		if ((cpu->known >> from & 1) == 0)
			return FRAME_UNKNOWN;
		*out = cpu->reg[from];
		return FRAME_STEPPED;
	case FRAME_VAL_OFFSET:
		*out = addr;
		return FRAME_STEPPED;
	case FRAME_VAL_EXPR:
		return evaluate(t, c, cpu, mem, &cfa, out);
	case FRAME_EXPR:
		got = evaluate(t, c, cpu, mem, &cfa, &addr);
		if (got != FRAME_STEPPED)
			return got;
		break;
	case FRAME_OFFSET:
		break;
	default:
		return FRAME_UNKNOWN;
	}
	return mem->read(mem->ctx, addr, out) < 0 ? FRAME_UNREADABLE
						  : FRAME_STEPPED;
}

static enum frame_result apply_general(const struct frame_table *t,
				       const struct frame_general *g,
				       const struct frame_memory *mem,
				       struct frame_cpu *cpu)
{
	struct frame_cpu next = {.known = 0};
	uint64_t cfa = 0;
	enum frame_result got = cfa_of_general(t, g, cpu, mem, &cfa);

	if (got != FRAME_STEPPED)
		return got;
	next.reg[FRAME_RSP] = cfa;
	next.known = 1u << FRAME_RSP;
	for (unsigned r = 0; r < FRAME_REGS; r++) {
		const struct frame_cell *c = &g->reg[r];

		if (r == FRAME_RSP && c->how == FRAME_SAME)
			continue;
		if (r == FRAME_RIP && c->how == FRAME_SAME)
			return FRAME_UNKNOWN;
		got = recover(t, c, r, cpu, mem, cfa, &next.reg[r]);
		if (got == FRAME_UNREADABLE)
			return got;
		if (got == FRAME_STEPPED)
			next.known |= 1u << r;
		else
			next.known &= ~(1u << r);
	}
	if ((next.known >> FRAME_RIP & 1) == 0)
		return FRAME_UNKNOWN;
	*cpu = next;
	return FRAME_STEPPED;
}

/* -- Ordinary rules -- */

/* ORDER frame_saved */
static const uint8_t saved_reg[FRAME_SAVED] = {FRAME_RBX, FRAME_RBP, 12, 13, 14,
					       15,	  FRAME_RIP};

/* Where DWARF's registers are in the kernel's sigcontext, in words. */
static const uint8_t context_at[FRAME_REGS] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
					       1,  2,  3,  4,  5, 6, 7,	 16};

static enum frame_result apply_context(const struct frame_rule *rule,
				       const struct frame_memory *mem,
				       struct frame_cpu *cpu)
{
	struct frame_cpu next = {.known = (1u << FRAME_REGS) - 1};
	uint64_t at;

	if ((cpu->known >> rule->reg & 1) == 0)
		return FRAME_UNKNOWN;
	at = cpu->reg[rule->reg] + (uint64_t)(int64_t)rule->cfa;
	for (int i = 0; i < FRAME_REGS; i++)
		if (mem->read(mem->ctx, at + context_at[i] * 8ul,
			      &next.reg[i]) < 0)
			return FRAME_UNREADABLE;
	*cpu = next;
	return FRAME_STEPPED;
}

static enum frame_result cfa_of(const struct frame_rule *rule,
				const struct frame_cpu *cpu,
				const struct frame_memory *mem, uint64_t *out)
{
	unsigned reg = rule->kind == FRAME_PLT ? FRAME_RSP : rule->reg;
	uint64_t at;

	if (rule->kind == FRAME_NONE || (cpu->known >> reg & 1) == 0)
		return FRAME_UNKNOWN;
	if (rule->kind == FRAME_PLT) {
		bool pushed = (int64_t)(cpu->reg[FRAME_RIP] & 15) >= rule->cfa;

		*out = cpu->reg[FRAME_RSP] + (pushed ? 16 : 8);
		return FRAME_STEPPED;
	}
	at = cpu->reg[reg] + (uint64_t)(int64_t)rule->cfa;
	if (rule->kind == FRAME_DEREF && mem->read(mem->ctx, at, &at) < 0)
		return FRAME_UNREADABLE;
	*out = at;
	return FRAME_STEPPED;
}

/* saved[i] of the rule, into next; false if memory is not there. */
static bool restore(const struct frame_rule *rule, int i,
		    const struct frame_memory *mem, const struct frame_cpu *cpu,
		    uint64_t cfa, struct frame_cpu *next)
{
	bool at_rbp = (rule->flags & FRAME_AT_RBP) != 0 && i != FRAME_SAVED_RIP;
	int16_t slot = rule->saved[i];
	uint8_t reg = saved_reg[i];

	if (slot == FRAME_LOST ||
	    (at_rbp && (cpu->known >> FRAME_RBP & 1) == 0))
		return true;
	if (slot == FRAME_KEPT) {
		next->reg[reg] = cpu->reg[reg];
		next->known |= cpu->known & 1u << reg;
		return true;
	}
	next->known |= 1u << reg;
	return mem->read(mem->ctx,
			 (at_rbp ? cpu->reg[FRAME_RBP] : cfa) +
			     (uint64_t)((int64_t)slot * 8),
			 &next->reg[reg]) == 0;
}

static enum frame_result apply_ordinary(const struct frame_rule *rule,
					const struct frame_memory *mem,
					struct frame_cpu *cpu)
{
	struct frame_cpu next = {.known = 1u << FRAME_RSP};
	uint64_t cfa = 0;
	enum frame_result got = cfa_of(rule, cpu, mem, &cfa);

	if (got != FRAME_STEPPED)
		return got;
	next.reg[FRAME_RSP] = cfa;
	if (rule->saved[FRAME_SAVED_RIP] == FRAME_KEPT)
		return FRAME_UNKNOWN;
	for (int i = 0; i < FRAME_SAVED; i++)
		if (!restore(rule, i, mem, cpu, cfa, &next))
			return FRAME_UNREADABLE;
	if ((next.known >> FRAME_RIP & 1) == 0)
		return FRAME_UNKNOWN;
	*cpu = next;
	return FRAME_STEPPED;
}

enum frame_result frame_apply(const struct frame_table *t,
			      const struct frame_rule *rule,
			      const struct frame_memory *mem,
			      struct frame_cpu *cpu)
{
	enum frame_result got;

	if (rule->kind == FRAME_NONE)
		return FRAME_UNKNOWN;
	if ((rule->flags & FRAME_END) != 0)
		return FRAME_OUTERMOST;
	if (rule->kind == FRAME_GENERAL)
		got = apply_general(t, &frame_generals(t)[rule->cfa], mem, cpu);
	else if (rule->kind == FRAME_CONTEXT)
		got = apply_context(rule, mem, cpu);
	else
		got = apply_ordinary(rule, mem, cpu);
	if (got == FRAME_STEPPED)
		cpu->exact = (rule->flags & FRAME_SIGNAL) != 0;
	return got;
}

enum frame_result frame_step(const struct frame_table *t, uint64_t bias,
			     const struct frame_memory *mem,
			     struct frame_cpu *cpu)
{
	uint64_t pc = cpu->reg[FRAME_RIP] - bias - (cpu->exact ? 0 : 1);

	return frame_apply(t, frame_find(t, pc), mem, cpu);
}
