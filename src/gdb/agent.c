/* gdb/agent.c - the machine of gdb's agent expressions.
 *
 * Opcodes are gdb's own numbers. Those of floating point and of tracing are
 * not here: gdb does not compile conditions with them, and evaluates itself
 * what it cannot compile. */
#include "gdb/agent.h"

#include <string.h>

enum {
	STACK_MAX = 100,
	STEPS_MAX = 100000, /* loops are not compiled, but can be forged */
};

enum op {
	OP_ADD = 0x02,
	OP_SUB,
	OP_MUL,
	OP_DIV_SIGNED,
	OP_DIV_UNSIGNED,
	OP_REM_SIGNED,
	OP_REM_UNSIGNED,
	OP_LSH,
	OP_RSH_SIGNED,
	OP_RSH_UNSIGNED,
	OP_LOG_NOT = 0x0e,
	OP_BIT_AND,
	OP_BIT_OR,
	OP_BIT_XOR,
	OP_BIT_NOT,
	OP_EQUAL,
	OP_LESS_SIGNED,
	OP_LESS_UNSIGNED,
	OP_EXT,
	OP_REF8,
	OP_REF16,
	OP_REF32,
	OP_REF64,
	OP_IF_GOTO = 0x20,
	OP_GOTO,
	OP_CONST8,
	OP_CONST16,
	OP_CONST32,
	OP_CONST64,
	OP_REG,
	OP_END,
	OP_DUP,
	OP_POP,
	OP_ZERO_EXT,
	OP_SWAP,
	OP_PICK = 0x32,
	OP_ROT,
};

struct machine {
	const uint8_t *code;
	size_t len, pc;
	const struct agent_state *state; /* borrowed */
	unsigned depth;
	uint64_t stack[STACK_MAX];
};

static int push(struct machine *m, uint64_t value)
{
	if (m->depth == STACK_MAX)
		return -1;
	m->stack[m->depth++] = value;
	return 0;
}

/* An operand of the instruction: big-endian, n bytes. */
static int operand(struct machine *m, unsigned n, uint64_t *out)
{
	uint64_t value = 0;

	if (m->len - m->pc < n)
		return -1;
	for (unsigned i = 0; i < n; i++)
		value = value << 8 | m->code[m->pc++];
	*out = value;
	return 0;
}

/* -- Arithmetic -- */

static uint64_t shifted(enum op op, uint64_t a, uint64_t by)
{
	if (op == OP_RSH_SIGNED)
		return (uint64_t)((int64_t)a >> (by > 63 ? 63 : by));
	if (by > 63)
		return 0;
	return op == OP_LSH ? a << by : a >> by;
}

static int divided(enum op op, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	if (b == 0)
		return -1;
	if (op == OP_DIV_UNSIGNED)
		*out = a / b;
	else if (op == OP_REM_UNSIGNED)
		*out = a % b;
	else if (sb == -1) /* the quotient may overflow */
		*out = op == OP_DIV_SIGNED ? 0 - a : 0;
	else
		*out = (uint64_t)(op == OP_DIV_SIGNED ? sa / sb : sa % sb);
	return 0;
}

static int binary(enum op op, uint64_t a, uint64_t b, uint64_t *out)
{
	switch (op) {
	case OP_ADD:
		*out = a + b;
		return 0;
	case OP_SUB:
		*out = a - b;
		return 0;
	case OP_MUL:
		*out = a * b;
		return 0;
	case OP_BIT_AND:
		*out = a & b;
		return 0;
	case OP_BIT_OR:
		*out = a | b;
		return 0;
	case OP_BIT_XOR:
		*out = a ^ b;
		return 0;
	case OP_EQUAL:
		*out = a == b;
		return 0;
	case OP_LESS_SIGNED:
		*out = (int64_t)a < (int64_t)b;
		return 0;
	case OP_LESS_UNSIGNED:
		*out = a < b;
		return 0;
	case OP_LSH:
	case OP_RSH_SIGNED:
	case OP_RSH_UNSIGNED:
		*out = shifted(op, a, b);
		return 0;
	default:
		return divided(op, a, b, out);
	}
}

static int is_binary(enum op op)
{
	return (op >= OP_ADD && op <= OP_RSH_UNSIGNED) ||
	       (op >= OP_BIT_AND && op <= OP_LESS_UNSIGNED && op != OP_BIT_NOT);
}

/* The low `bits` of a value, with or without its sign. */
static uint64_t extended(uint64_t value, uint64_t bits, int is_signed)
{
	uint64_t sign, mask;

	if (bits == 0 || bits > 63)
		return value;
	mask = (1ULL << bits) - 1;
	sign = 1ULL << (bits - 1);
	value &= mask;
	return is_signed && (value & sign) != 0 ? value | ~mask : value;
}

/* -- One instruction of each kind -- */

static int do_binary(struct machine *m, enum op op)
{
	uint64_t value;

	if (m->depth < 2 || binary(op, m->stack[m->depth - 2],
				   m->stack[m->depth - 1], &value) < 0)
		return -1;
	m->depth--;
	m->stack[m->depth - 1] = value;
	return 0;
}

static int do_reference(struct machine *m, enum op op)
{
	uint8_t bytes[8] = {0};
	uint64_t value;

	if (m->depth < 1 ||
	    m->state->read_memory(m->state->ctx, m->stack[m->depth - 1],
				  1U << (op - OP_REF8), bytes) < 0)
		return -1;
	memcpy(&value, bytes, sizeof value);
	m->stack[m->depth - 1] = value;
	return 0;
}

static int do_extension(struct machine *m, enum op op)
{
	uint64_t bits, *top;

	if (m->depth < 1 || operand(m, 1, &bits) < 0)
		return -1;
	top = &m->stack[m->depth - 1];
	*top = extended(*top, bits, op == OP_EXT);
	return 0;
}

static int do_jump(struct machine *m, enum op op)
{
	uint64_t to;

	if (operand(m, 2, &to) < 0 || to >= m->len)
		return -1;
	if (op == OP_IF_GOTO) {
		if (m->depth < 1)
			return -1;
		if (m->stack[--m->depth] == 0)
			return 0;
	}
	m->pc = (size_t)to;
	return 0;
}

static int do_constant(struct machine *m, enum op op)
{
	uint64_t value;

	if (operand(m, 1U << (op - OP_CONST8), &value) < 0)
		return -1;
	return push(m, value);
}

static int do_register(struct machine *m)
{
	uint64_t number, value;

	if (operand(m, 2, &number) < 0 ||
	    m->state->read_register(m->state->ctx, (unsigned)number, &value) <
		0)
		return -1;
	return push(m, value);
}

static int do_pick(struct machine *m)
{
	uint64_t n;

	if (operand(m, 1, &n) < 0 || n >= m->depth)
		return -1;
	return push(m, m->stack[m->depth - 1 - n]);
}

/* On the stack alone. */
static int do_shuffle(struct machine *m, enum op op)
{
	uint64_t *top = m->stack + m->depth, t;

	if (m->depth < (op == OP_ROT ? 3U : op == OP_SWAP ? 2U : 1U))
		return -1;
	switch (op) {
	case OP_DUP:
		return push(m, top[-1]);
	case OP_POP:
		m->depth--;
		return 0;
	case OP_SWAP:
		t = top[-1];
		top[-1] = top[-2];
		top[-2] = t;
		return 0;
	case OP_ROT: /* a b c: c a b */
		t = top[-1];
		top[-1] = top[-2];
		top[-2] = top[-3];
		top[-3] = t;
		return 0;
	case OP_LOG_NOT:
		top[-1] = top[-1] == 0;
		return 0;
	default:
		top[-1] = ~top[-1];
		return 0;
	}
}

static int do_one(struct machine *m, enum op op)
{
	if (is_binary(op))
		return do_binary(m, op);
	switch (op) {
	case OP_REF8:
	case OP_REF16:
	case OP_REF32:
	case OP_REF64:
		return do_reference(m, op);
	case OP_EXT:
	case OP_ZERO_EXT:
		return do_extension(m, op);
	case OP_IF_GOTO:
	case OP_GOTO:
		return do_jump(m, op);
	case OP_CONST8:
	case OP_CONST16:
	case OP_CONST32:
	case OP_CONST64:
		return do_constant(m, op);
	case OP_REG:
		return do_register(m);
	case OP_PICK:
		return do_pick(m);
	case OP_LOG_NOT:
	case OP_BIT_NOT:
	case OP_DUP:
	case OP_POP:
	case OP_SWAP:
	case OP_ROT:
		return do_shuffle(m, op);
	default:
		return -1;
	}
}

int agent_run(const uint8_t *code, size_t len, const struct agent_state *state,
	      uint64_t *out)
{
	struct machine m = {.code = code, .len = len, .state = state};

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		enum op op;

		if (m.pc >= len)
			return -1;
		op = (enum op)code[m.pc++];
		if (op == OP_END) {
			if (m.depth == 0)
				return -1;
			*out = m.stack[m.depth - 1];
			return 0;
		}
		if (do_one(&m, op) < 0)
			return -1;
	}
	return -1;
}
