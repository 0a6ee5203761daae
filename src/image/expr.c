/* image/expr.c - where is it? DWARF's location expressions.
 *
 * X1  A program takes STEPS steps at most, and has STACK cells.
 * X2  Whatever it needs that is not known ends it: nowhere.
 * X3  Expressions call others (frame base, DW_OP_call) DEPTH deep at most.
 * X4  Numbers are integers of 64 bits; typed ones are cut and extended as
 *     their type says. Arithmetic on floats is not done: nowhere. */
#include "image/expr_priv.h"

#include "image/dw_op.h"

enum { STACK = 64, STEPS = 4096, DEPTH = 4 };

enum { ATE_FLOAT = 4, ATE_SIGNED = 5, ATE_SIGNED_CHAR = 6 };

struct machine {
	struct dw_unit *u;
	const struct dw_entry *function; /* or NULL */
	const struct expr_frame *f;
	struct cursor c;
	const uint8_t *begin;
	uint64_t stack[STACK];
	unsigned n, steps, depth;
	struct expr_piece next; /* what the program has said so far */
	bool failed;
	struct expr_place *out;
};

static void fail(struct machine *m)
{
	m->failed = true;
	m->out->missing = true;
}

static void push(struct machine *m, uint64_t v)
{
	if (m->n == STACK)
		fail(m);
	else
		m->stack[m->n++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (m->n == 0) {
		fail(m);
		return 0;
	}
	return m->stack[--m->n];
}

/* -- What the frame knows -- */

static uint64_t reg_value(struct machine *m, uint64_t number)
{
	uint8_t bytes[16] = {0};
	uint64_t v = 0;
	size_t len = 0;

	if (number > 32 ||
	    m->f->reg(m->f->ctx, (unsigned)number, bytes, &len) < 0) {
		fail(m);
		return 0;
	}
	memcpy(&v, bytes, sizeof v);
	return v;
}

static void push_memory(struct machine *m, uint64_t addr, uint64_t len)
{
	uint64_t v = 0;

	if (len == 0 || len > 8 ||
	    m->f->memory(m->f->ctx, addr, &v, (size_t)len) < 0)
		fail(m);
	else
		push(m, v);
}

static void push_indexed(struct machine *m, bool is_address)
{
	struct dw_value v = {.class = DWARF_ADDRESS_INDEX,
			     .u = cursor_uleb(&m->c)};
	uint64_t addr;

	if (!dw_address(m->u, &v, &addr))
		fail(m);
	else
		push(m, is_address ? addr + m->f->bias : addr);
}

static void push_tls(struct machine *m)
{
	uint64_t addr;

	if (m->f->tls == NULL || m->f->tls(m->f->ctx, pop(m), &addr) < 0)
		fail(m);
	else
		push(m, addr);
}

static void push_cfa(struct machine *m)
{
	uint64_t cfa;

	if (m->f->cfa == NULL || m->f->cfa(m->f->ctx, &cfa) < 0)
		fail(m);
	else
		push(m, cfa);
}

/* Of a register alone, as compilers write it. */
static void push_entry(struct machine *m)
{
	uint64_t len = cursor_uleb(&m->c), number, v;
	struct cursor c;
	uint8_t op;

	if (m->c.bad || len > cursor_left(&m->c)) {
		fail(m);
		return;
	}
	c = cursor_of(m->c.at, (size_t)len);
	cursor_skip(&m->c, len);
	op = cursor_u8(&c);
	number = op == OP_REGX ? cursor_uleb(&c) : (uint64_t)op - OP_REG0;
	if (c.bad || cursor_left(&c) > 0 || number > 32 ||
	    m->f->entry == NULL ||
	    m->f->entry(m->f->ctx, (unsigned)number, &v) < 0)
		fail(m);
	else
		push(m, v);
}

/* -- Types -- */

/* Cuts v to a base type of the unit; 0: the generic type, as it is. */
static uint64_t convert(struct machine *m, uint64_t die, uint64_t v)
{
	struct dw_entry e;
	uint64_t size, encoding;

	if (die == 0)
		return v;
	if (!dw_entry_at(m->u, m->u->offset + die, &e)) {
		fail(m);
		return 0;
	}
	size = dw_entry_get(&e, AT_BYTE_SIZE).u;
	encoding = dw_entry_get(&e, AT_ENCODING).u;
	if (encoding == ATE_FLOAT || size == 0 || size > 8) {
		fail(m); /* X4 */
		return 0;
	}
	if (size == 8)
		return v;
	v &= ((uint64_t)1 << 8 * size) - 1;
	if ((encoding == ATE_SIGNED || encoding == ATE_SIGNED_CHAR) &&
	    (v >> (8 * size - 1) & 1) != 0)
		v |= ~(uint64_t)0 << 8 * size;
	return v;
}

static void push_const_type(struct machine *m)
{
	uint64_t die = cursor_uleb(&m->c);
	uint8_t len = cursor_u8(&m->c);
	uint64_t v = cursor_uint(&m->c, len);

	push(m, convert(m, die, v));
}

static void push_regval_type(struct machine *m)
{
	uint64_t number = cursor_uleb(&m->c), die = cursor_uleb(&m->c);

	push(m, convert(m, die, reg_value(m, number)));
}

static void push_deref_type(struct machine *m)
{
	uint8_t len = cursor_u8(&m->c);
	uint64_t die = cursor_uleb(&m->c);

	push_memory(m, pop(m), len);
	push(m, convert(m, die, pop(m)));
}

/* -- Computing -- */

static uint64_t compare(uint8_t op, int64_t a, int64_t b)
{
	static const uint8_t less = 1, same = 2, more = 4;
	static const uint8_t accepts[] = {2, 4 | 2, 4, 1 | 2, 1, 1 | 4};
	uint8_t is = a < b ? less : a == b ? same : more;

	return (accepts[op - OP_EQ] & is) != 0;
}

static uint64_t divide(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	if (b == 0) {
		fail(m);
		return 0;
	}
	if (op == OP_MOD)
		return a % b;
	if (b == UINT64_MAX)
		return -a;
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t compute(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case OP_AND:
		return a & b;
	case OP_DIV:
	case OP_MOD:
		return divide(m, op, a, b);
	case OP_MINUS:
		return a - b;
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
		b = b < 64 ? b : 63;
		return (int64_t)a < 0 ? ~(~a >> b) : a >> b;
	case OP_XOR:
		return a ^ b;
	default:
		return compare(op, (int64_t)a, (int64_t)b);
	}
}

static bool is_binary(uint8_t op)
{
	return op == OP_AND || (op >= OP_DIV && op <= OP_MUL) || op == OP_OR ||
	       op == OP_PLUS || (op >= OP_SHL && op <= OP_XOR) ||
	       (op >= OP_EQ && op <= OP_NE);
}

static void push_constant(struct machine *m, uint8_t op)
{
	unsigned len = 1u << ((op - OP_CONST1U) / 2);
	uint64_t v = cursor_uint(&m->c, len);

	if ((op & 1) != 0 && len < 8 && (v >> (8 * len - 1) & 1) != 0)
		v |= ~(uint64_t)0 << 8 * len;
	push(m, v);
}

static void push_copy(struct machine *m, uint64_t depth)
{
	if (depth >= m->n)
		fail(m);
	else
		push(m, m->stack[m->n - 1 - depth]);
}

static void rotate(struct machine *m)
{
	uint64_t a = pop(m), b = pop(m), c = pop(m);

	push(m, a);
	push(m, c);
	push(m, b);
}

static void jump(struct machine *m, bool is_taken)
{
	int64_t by = (int16_t)cursor_u16(&m->c);
	int64_t at = m->c.at - m->begin;

	if (!is_taken)
		return;
	if (at + by < 0 || at + by > m->c.end - m->begin)
		fail(m);
	else
		m->c.at = m->begin + at + by;
}

/* -- Pieces -- */

/* What the program has said so far: an address, if nothing else. */
static void close_piece(struct machine *m, uint64_t bits, uint64_t skip)
{
	struct expr_place *p = m->out;
	struct expr_piece *to;

	if (m->next.kind == EXPR_NOWHERE && m->n > 0) {
		m->next.kind = EXPR_MEMORY;
		m->next.u = pop(m);
	}
	m->n = 0;
	if (p->n == EXPR_PIECES) {
		fail(m);
		return;
	}
	to = &p->piece[p->n++];
	*to = m->next;
	to->bits = bits;
	to->skip = skip;
	m->next = (struct expr_piece){.kind = EXPR_NOWHERE};
}

static void implicit(struct machine *m)
{
	uint64_t len = cursor_uleb(&m->c);

	m->next = (struct expr_piece){
	    .kind = EXPR_BYTES, .bytes = m->c.at, .bytes_len = len};
	cursor_skip(&m->c, len);
}

static void in_register(struct machine *m, uint64_t number)
{
	m->next = (struct expr_piece){.kind = EXPR_REGISTER, .u = number};
}

static void is_value(struct machine *m)
{
	m->next = (struct expr_piece){.kind = EXPR_VALUE, .u = pop(m)};
}

/* -- The program -- */

static void run_loop(struct machine *m);

/* The frame base is an expression of the function, in the same frame. */
// NOLINTNEXTLINE(misc-no-recursion): X3
static void push_frame_base(struct machine *m, int64_t offset)
{
	struct expr_place place = {0};
	struct machine sub = {.u = m->u,
			      .f = m->f,
			      .depth = m->depth + 1,
			      .steps = m->steps,
			      .out = &place};
	struct dw_value v;
	const uint8_t *code;
	size_t len;

	if (m->function == NULL || m->depth == DEPTH) {
		fail(m);
		return;
	}
	v = dw_entry_get(m->function, AT_FRAME_BASE);
	if (!expr_bytes(m->function->u, &v, m->f->pc, &code, &len)) {
		fail(m);
		return;
	}
	sub.u = m->function->u;
	sub.c = cursor_of(code, len);
	sub.begin = sub.c.at;
	run_loop(&sub);
	m->steps = sub.steps;
	if (sub.failed || place.n != 1 || place.piece[0].kind == EXPR_NOWHERE ||
	    place.piece[0].kind == EXPR_BYTES)
		fail(m);
	else if (place.piece[0].kind == EXPR_REGISTER)
		push(m, reg_value(m, place.piece[0].u) + (uint64_t)offset);
	else
		push(m, place.piece[0].u + (uint64_t)offset);
}

static void run_stack(struct machine *m, uint8_t op)
{
	switch (op) {
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
		push_copy(m, cursor_u8(&m->c));
		break;
	case OP_SWAP: {
		uint64_t a = pop(m), b = pop(m);

		push(m, a);
		push(m, b);
		break;
	}
	case OP_ROT:
		rotate(m);
		break;
	default:
		fail(m);
	}
}

static void run_typed(struct machine *m, uint8_t op)
{
	switch (op) {
	case OP_CONST_TYPE:
	case OP_GNU_CONST_TYPE:
		push_const_type(m);
		break;
	case OP_REGVAL_TYPE:
	case OP_GNU_REGVAL_TYPE:
		push_regval_type(m);
		break;
	case OP_DEREF_TYPE:
	case OP_GNU_DEREF_TYPE:
		push_deref_type(m);
		break;
	case OP_CONVERT:
	case OP_GNU_CONVERT:
	case OP_REINTERPRET:
	case OP_GNU_REINTERPRET: {
		uint64_t die = cursor_uleb(&m->c);

		push(m, convert(m, die, pop(m)));
		break;
	}
	default:
		run_stack(m, op);
	}
}

static void run_place(struct machine *m, uint8_t op)
{
	uint64_t bits;

	switch (op) {
	case OP_REGX:
		in_register(m, cursor_uleb(&m->c));
		break;
	case OP_PIECE:
		bits = cursor_uleb(&m->c);
		close_piece(m, bits < UINT32_MAX ? bits * 8 : 0, 0);
		break;
	case OP_BIT_PIECE:
		bits = cursor_uleb(&m->c);
		close_piece(m, bits, cursor_uleb(&m->c));
		break;
	case OP_IMPLICIT_VALUE:
		implicit(m);
		break;
	case OP_STACK_VALUE:
		is_value(m);
		break;
	case OP_ENTRY_VALUE:
	case OP_GNU_ENTRY_VALUE:
		push_entry(m);
		break;
	default:
		run_typed(m, op);
	}
}

static void run_known(struct machine *m, uint8_t op)
{
	switch (op) {
	case OP_ADDRX:
	case OP_GNU_ADDRX:
		push_indexed(m, true);
		break;
	case OP_CONSTX:
	case OP_GNU_CONSTX:
		push_indexed(m, false);
		break;
	case OP_DEREF:
		push_memory(m, pop(m), 8);
		break;
	case OP_DEREF_SIZE: {
		uint8_t len = cursor_u8(&m->c);

		push_memory(m, pop(m), len);
		break;
	}
	case OP_BREGX: {
		uint64_t number = cursor_uleb(&m->c);

		push(m, reg_value(m, number) + (uint64_t)cursor_sleb(&m->c));
		break;
	}
	case OP_FORM_TLS:
	case OP_GNU_TLS:
		push_tls(m);
		break;
	case OP_CALL_FRAME_CFA:
		push_cfa(m);
		break;
	default:
		run_place(m, op);
	}
}

// NOLINTNEXTLINE(misc-no-recursion): X3
static void run_other(struct machine *m, uint8_t op)
{
	switch (op) {
	case OP_ADDR:
		push(m, cursor_uint(&m->c, m->u->sizes.address) + m->f->bias);
		break;
	case OP_CONSTU:
		push(m, cursor_uleb(&m->c));
		break;
	case OP_CONSTS:
		push(m, (uint64_t)cursor_sleb(&m->c));
		break;
	case OP_ABS: {
		uint64_t v = pop(m);

		push(m, (int64_t)v < 0 ? -v : v);
		break;
	}
	case OP_NEG:
		push(m, -pop(m));
		break;
	case OP_NOT:
		push(m, ~pop(m));
		break;
	case OP_PLUS_UCONST:
		push(m, pop(m) + cursor_uleb(&m->c));
		break;
	case OP_BRA:
		jump(m, pop(m) != 0);
		break;
	case OP_SKIP:
		jump(m, true);
		break;
	case OP_FBREG:
		push_frame_base(m, cursor_sleb(&m->c));
		break;
	case OP_NOP:
		break;
	default:
		run_known(m, op);
	}
}

// NOLINTNEXTLINE(misc-no-recursion): X3
static void run_one(struct machine *m)
{
	uint8_t op = cursor_u8(&m->c);

	if (is_binary(op)) {
		uint64_t b = pop(m), a = pop(m);

		push(m, compute(m, op, a, b));
	} else if (op >= OP_CONST1U && op <= OP_CONST8S) {
		push_constant(m, op);
	} else if (op >= OP_LIT0 && op <= OP_LIT31) {
		push(m, (uint64_t)op - OP_LIT0);
	} else if (op >= OP_REG0 && op <= OP_REG31) {
		in_register(m, (uint64_t)op - OP_REG0);
	} else if (op >= OP_BREG0 && op <= OP_BREG31) {
		uint64_t v = reg_value(m, (uint64_t)op - OP_BREG0);

		push(m, v + (uint64_t)cursor_sleb(&m->c));
	} else {
		run_other(m, op);
	}
}

// NOLINTNEXTLINE(misc-no-recursion): X3
static void run_loop(struct machine *m)
{
	while (!m->failed && cursor_left(&m->c) > 0) {
		if (m->steps++ == STEPS) { /* X1 */
			fail(m);
			break;
		}
		run_one(m);
		if (m->c.bad)
			fail(m);
	}
	if (!m->failed &&
	    (m->out->n == 0 || m->n > 0 || m->next.kind != EXPR_NOWHERE))
		close_piece(m, 0, 0);
}

void expr_run(struct dw_unit *u, const struct dw_entry *function,
	      const uint8_t *code, size_t len, const struct expr_frame *f,
	      struct expr_place *out)
{
	struct machine m = {.u = u,
			    .function = function,
			    .f = f,
			    .c = cursor_of(code, len),
			    .out = out};

	*out = (struct expr_place){0};
	m.begin = m.c.at;
	run_loop(&m);
	if (m.failed) { /* X2 */
		out->n = 1;
		out->piece[0] = (struct expr_piece){.kind = EXPR_NOWHERE};
	}
}

/* -- Reading what is there -- */

/* Bytes of a piece, as if it began at its bit 0. */
static size_t read_plain(const struct expr_piece *p, const struct expr_frame *f,
			 uint64_t at, uint8_t *out, uint8_t *known, size_t len)
{
	uint8_t bytes[16] = {0};
	size_t have = 0, n = 0;

	memset(known, 0, len);
	if (p->kind == EXPR_MEMORY) {
		if (f->memory(f->ctx, p->u + at, out, len) == 0) {
			memset(known, 1, len);
			return len;
		}
		for (size_t i = 0; i < len; i++) {
			known[i] =
			    f->memory(f->ctx, p->u + at + i, &out[i], 1) == 0;
			n += known[i];
		}
		return n;
	}
	if (p->kind == EXPR_VALUE) {
		memcpy(bytes, &p->u, 8);
		have = 8;
	} else if (p->kind == EXPR_REGISTER &&
		   (p->u > 32 ||
		    f->reg(f->ctx, (unsigned)p->u, bytes, &have) < 0)) {
		have = 0;
	}
	for (size_t i = 0; i < len; i++) {
		const uint8_t *from = p->kind == EXPR_BYTES ? p->bytes : bytes;
		uint64_t room = p->kind == EXPR_BYTES ? p->bytes_len : have;

		if (at + i >= room)
			break;
		out[i] = from[at + i];
		known[i] = 1;
		n++;
	}
	return n;
}

/* n bits, 8 at most, from a bit of the piece on. */
static bool read_bits(const struct expr_piece *p, const struct expr_frame *f,
		      uint64_t bit, unsigned n, uint8_t *out)
{
	uint8_t pair[2] = {0}, known[2] = {0};
	unsigned shift;
	bool two;

	bit += p->skip;
	shift = bit % 8;
	two = shift + n > 8;
	read_plain(p, f, bit / 8, pair, known, two ? 2 : 1);
	if (!known[0] || (two && !known[1]))
		return false;
	*out = (uint8_t)((pair[0] >> shift | pair[1] << (8 - shift)) &
			 ((1u << n) - 1));
	return true;
}

/* The bits of one byte come from as many pieces as it takes. */
static bool gather(const struct expr_place *p, const struct expr_frame *f,
		   uint64_t bit, uint8_t *out)
{
	uint64_t start = 0;
	unsigned have = 0;

	*out = 0;
	for (unsigned i = 0; i < p->n && have < 8; i++) {
		const struct expr_piece *at = &p->piece[i];
		uint64_t room = UINT64_MAX - start;
		uint64_t bits =
		    at->bits != 0 && at->bits < room ? at->bits : room;
		uint64_t from = bit + have, left = start + bits - from;
		unsigned n = left < 8 - have ? (unsigned)left : 8 - have;
		uint8_t some;

		if (from < start + bits) {
			if (!read_bits(at, f, from - start, n, &some))
				return false;
			*out |= (uint8_t)(some << have);
			have += n;
		}
		start += bits;
	}
	return have == 8;
}

size_t expr_read(const struct expr_place *p, const struct expr_frame *f,
		 uint64_t offset, uint8_t *out, uint8_t *known, size_t len)
{
	size_t n = 0;

	if (p->n == 1 && p->piece[0].skip == 0 && p->piece[0].bits == 0)
		return read_plain(&p->piece[0], f, offset, out, known, len);
	for (size_t i = 0; i < len; i++) {
		known[i] = gather(p, f, (offset + i) * 8, &out[i]);
		n += known[i];
	}
	return n;
}
