/* script/machine.c - the interpreter.
 *
 * M1  Only verified programs run: types, indices and jumps are not checked
 *     again here. Values are: addresses, divisors, numbers of registers.
 * M2  Scratch holds texts and copies of memory, upwards; a key tuple lies
 *     above them and is gone once it is used.
 * M3  Room for all output is had before the first effect, so an entry is
 *     never half written for want of room. */
#include "script/machine_priv.h"

bool machine_fail(struct machine *m, enum machine_fault fault, uint64_t addr)
{
	m->h->fault = fault;
	m->h->fault_address = addr;
	return false;
}

uint8_t *machine_take(struct machine *m, uint32_t len)
{
	uint8_t *block = m->h->scratch + m->used;

	len = (len + 7) & ~7U;
	if (len > m->h->scratch_room - m->used) {
		machine_fail(m, MACHINE_NO_SCRATCH, 0);
		return NULL;
	}
	m->used += len;
	return block;
}

static void copy(void *to, const void *from, uint32_t len)
{
	__builtin_memcpy(to, from, len);
}

bool machine_read(struct machine *m, uint64_t addr, void *out, uint32_t len)
{
	uint64_t scratch = (uint64_t)(uintptr_t)m->h->scratch;

	if (addr >= scratch && addr - scratch <= m->used &&
	    len <= m->used - (addr - scratch)) {
		__builtin_memmove(out, (const void *)(uintptr_t)addr, len);
		return true;
	}
	if (m->h->read(m->h, addr, out, len))
		return true;
	return machine_fail(m, MACHINE_BAD_ADDRESS, addr);
}

/* -- Numbers -- */

static bool divide(struct machine *m, const struct probe_insn *i)
{
	uint64_t a = m->r[i->a], b = m->r[i->b];
	bool is_edge = (int64_t)a == INT64_MIN && (int64_t)b == -1;

	if (b == 0)
		return machine_fail(m, MACHINE_DIVISION, 0);
	switch (i->op) {
	case PROBE_SDIV:
		m->r[i->d] = is_edge ? a : (uint64_t)((int64_t)a / (int64_t)b);
		break;
	case PROBE_UDIV:
		m->r[i->d] = a / b;
		break;
	case PROBE_SREM:
		m->r[i->d] = is_edge ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
		break;
	default:
		m->r[i->d] = a % b;
	}
	return true;
}

static int compare(const struct machine *m, const char *a, const char *b)
{
	uint32_t n = m->h->program->string_size - 1;

	for (; n > 0 && *a != '\0' && *a == *b; n--, a++, b++)
		;
	if (n == 0 || *a == *b)
		return 0;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static bool load(struct machine *m, const struct probe_insn *i)
{
	static const uint8_t size[PROBE_WIDTH_MAX] = {1, 2, 4, 8, 1, 2, 4};
	uint64_t addr = m->r[i->a] + (uint64_t)(int64_t)i->imm, value = 0;

	if (!machine_read(m, addr, &value, size[i->b]))
		return false;
	m->r[i->d] = machine_extend(value, size[i->b] * 8, i->b >= PROBE_S8);
	return true;
}

/* -- Variables -- */

/* Another thread may write a text while it is copied: the copy ends in any
 * case. */
static bool get_text(struct machine *m, const uint8_t *slot, uint64_t *out)
{
	uint32_t n = m->h->program->string_size;
	uint8_t *text;

	if (slot == NULL || slot[0] == 0) {
		*out = 0;
		return true;
	}
	text = machine_take(m, n);
	if (text == NULL)
		return false;
	copy(text, slot + 8, n);
	text[n - 1] = '\0';
	*out = (uint64_t)(uintptr_t)text;
	return true;
}

static void put_text(const struct machine *m, uint8_t *slot, uint64_t value)
{
	const char *text = machine_text(value);
	uint32_t n = machine_text_len(m, text);

	slot[0] = value != 0;
	copy(slot + 8, text, n);
	slot[8 + n] = '\0';
}

static bool run_text(struct machine *m, const struct probe_insn *i,
		     const struct probe_variable *v)
{
	uint8_t *slot = m->h->texts[v->scope] +
			(uint64_t)v->slot * machine_text_slot(m->h->program);

	if (i->op == PROBE_GET)
		return get_text(m, slot, &m->r[i->d]);
	put_text(m, slot, m->r[i->a]);
	return true;
}

static inline bool run_scalar(struct machine *m, const struct probe_insn *i)
{
	const struct probe_variable *v =
	    &probe_variables(m->h->program)[i->imm];
	uint64_t *number = &m->h->numbers[v->scope][v->slot];

	if (__builtin_expect(v->kind != PROBE_NUMBER, 0))
		return run_text(m, i, v);
	if (i->op == PROBE_GET)
		m->r[i->d] = __atomic_load_n(number, __ATOMIC_RELAXED);
	else
		__atomic_store_n(number, m->r[i->a], __ATOMIC_RELAXED);
	return true;
}

static bool run_cell(struct machine *m, const struct probe_insn *i)
{
	const struct probe_variable *v =
	    &probe_variables(m->h->program)[i->imm];
	bool is_put = i->op == PROBE_PUT_KEY;
	const uint8_t *key = m->h->scratch + m->key;
	uint32_t len = m->used - m->key;
	bool is_well = true;
	void *cell;

	if (is_put && m->r[i->a] == 0) {
		m->used = m->key;
		m->h->forget(m->h, (uint32_t)i->imm, key, len);
		return true;
	}
	cell = m->h->cell(m->h, (uint32_t)i->imm, key, len, is_put);
	m->used = m->key;
	if (v->kind == PROBE_STRING && !is_put)
		is_well = get_text(m, cell, &m->r[i->d]);
	else if (!is_put)
		m->r[i->d] = cell != NULL ? *(const uint64_t *)cell : 0;
	else if (cell != NULL && v->kind == PROBE_STRING)
		put_text(m, cell, m->r[i->a]);
	else if (cell != NULL)
		*(uint64_t *)cell = m->r[i->a];
	if (m->h->cell_done != NULL)
		m->h->cell_done(m->h);
	return is_well;
}

/* -- Keys -- */

/* Length, text, NUL, zeros up to 8: how many bytes. */
static uint32_t write_text(const struct machine *m, uint8_t *out,
			   uint64_t value)
{
	const char *text = machine_text(value);
	uint32_t n = machine_text_len(m, text), end = (4 + n + 1 + 7) & ~7U;

	*(uint64_t *)(void *)(out + end - 8) = 0;
	copy(out, &n, sizeof n);
	copy(out + 4, text, n);
	for (uint32_t i = 4 + n; i < end; i++)
		out[i] = 0;
	return end;
}

static uint32_t write_stack(struct machine *m, uint8_t *out, uint32_t frames)
{
	uint64_t *at = (uint64_t *)(void *)out;
	uint32_t n = m->h->stack(m->h, at + 1, frames);

	n = n < frames ? n : frames;
	at[0] = n;
	return 8 + 8 * n;
}

static bool run_key(struct machine *m, const struct probe_insn *i)
{
	uint32_t start = m->used, size = m->h->program->string_size + 8;
	uint8_t *out;

	if (i->op == PROBE_KEY_STACK)
		size = 8 + 8 * (uint32_t)i->imm;
	out = machine_take(m, size);
	if (out == NULL)
		return false;
	m->used = start + (i->op == PROBE_KEY_STACK
			       ? write_stack(m, out, (uint32_t)i->imm)
			       : write_text(m, out, m->r[i->a]));
	return true;
}

static inline bool run_key_number(struct machine *m, const struct probe_insn *i)
{
	uint8_t *out = machine_take(m, 8);

	if (out != NULL)
		copy(out, &m->r[i->a], 8);
	return out != NULL;
}

/* -- Output -- */

static void close_entry(struct machine *m)
{
	struct probe_entry *e =
	    (struct probe_entry *)(void *)(m->h->output + m->entry);

	e->size = m->h->output_len - m->entry;
}

static bool run_out(struct machine *m, const struct probe_insn *i)
{
	uint8_t *out = m->h->output + m->h->output_len;
	uint32_t len = 8;

	switch (i->op) {
	case PROBE_EMIT:
		m->entry = m->h->output_len;
		((struct probe_entry *)(void *)out)->action = (uint32_t)i->imm;
		break;
	case PROBE_OUT:
		copy(out, &m->r[i->a], 8);
		break;
	case PROBE_OUT_TEXT:
		len = write_text(m, out, m->r[i->a]);
		break;
	case PROBE_OUT_STACK:
		len = write_stack(m, out, (uint32_t)i->imm);
		break;
	default:
		len = ((uint32_t)i->imm + 7) & ~7U;
		*(uint64_t *)(void *)(out + len - 8) = 0;
		if (!machine_read(m, m->r[i->a], out, (uint32_t)i->imm))
			return false;
	}
	m->h->output_len += len;
	close_entry(m);
	return true;
}

/* -- Everything else -- */

static void aggregate(struct machine *m, const struct probe_insn *i)
{
	m->h->aggregate(m->h, (uint32_t)i->imm, m->h->scratch + m->key,
			m->used - m->key, (int64_t)m->r[i->a],
			(int64_t)m->r[i->b]);
	m->used = m->key;
}

static bool run_ureg(struct machine *m, const struct probe_insn *i)
{
	if (m->r[i->a] >= PROBE_UREGS)
		return machine_fail(m, MACHINE_BAD_REGISTER, m->r[i->a]);
	m->r[i->d] = m->h->uregs[m->r[i->a]];
	return true;
}

static bool has_room(const struct machine *m)
{
	return m->clause->output_max <= m->h->output_room - m->h->output_len;
}

/* A predicate's own RET is followed by the body. */
static enum machine_end end_at(const struct machine *m,
			       const struct probe_insn *code,
			       const struct probe_insn *i)
{
	if ((m->clause->flags & PROBE_HAS_PREDICATE) != 0 &&
	    i + 1 < code + m->clause->n_insns)
		return MACHINE_REFUSED;
	return MACHINE_DONE;
}

/* Each instruction has a place, and each place jumps to the next one's: so the
 * processor learns what follows what. The table has distances, since the
 * target's image has no relocations. ORDER probe_op */
/* clang-format off */
// NOLINTBEGIN(bugprone-macro-parentheses): statements
// NOLINTNEXTLINE(readability-function-size): a list of alike cases
static enum machine_end run(struct machine *m, const struct probe_insn *code)
{
#define R(name) (int32_t)((uint8_t *)&&on_##name - (uint8_t *)&&on_RET),
	static const int32_t at[PROBE_OP_MAX] = {PROBE_OPS(R)};
#undef R
	const struct probe_insn *i = code;
	struct machine_host *h = m->h;
	uint64_t *r = m->r;

#define D r[i->d]
#define A r[i->a]
#define B r[i->b]
#define SIGNED(x) ((int64_t)(x))
#define GO goto *(&&on_RET + at[i->op])
#define ON(name, what) on_##name: what; i++; GO;
#define TRY(name, what) on_##name: if (!(what)) goto fault; i++; GO;

	GO;
on_RET:
	return end_at(m, code, i);
	ON(CONST, D = probe_constants(h->program)[i->imm])
	ON(IMM, D = (uint64_t)(int64_t)i->imm)
	ON(TEXT, D = (uint64_t)(uintptr_t)(probe_texts(h->program) + i->imm))
	ON(NULL, D = 0)
	ON(MOVE, D = A)
	ON(ADD, D = A + B)
	ON(SUB, D = A - B)
	ON(MUL, D = A * B)
	TRY(SDIV, divide(m, i))
	TRY(UDIV, divide(m, i))
	TRY(SREM, divide(m, i))
	TRY(UREM, divide(m, i))
	ON(AND, D = A & B)
	ON(OR, D = A | B)
	ON(XOR, D = A ^ B)
	ON(SHL, D = A << (B & 63))
	ON(SHR, D = A >> (B & 63))
	ON(SAR, D = (uint64_t)(SIGNED(A) >> (B & 63)))
	ON(EQ, D = A == B)
	ON(NE, D = A != B)
	ON(SLT, D = SIGNED(A) < SIGNED(B))
	ON(SLE, D = SIGNED(A) <= SIGNED(B))
	ON(ULT, D = A < B)
	ON(ULE, D = A <= B)
	ON(NEG, D = 0 - A)
	ON(NOT, D = ~A)
	ON(COMPARE, D = (uint64_t)(int64_t)compare(m, machine_text(A),
						   machine_text(B)))
	ON(IS_NULL, D = A == 0)
	ON(SEXT, D = machine_extend(A, i->imm, true))
	ON(ZEXT, D = machine_extend(A, i->imm, false))
	ON(JUMP, i += i->imm)
	ON(JZ, i += A == 0 ? i->imm : 0)
	ON(JNZ, i += A != 0 ? i->imm : 0)
	TRY(LOAD, load(m, i))
	ON(BUILTIN, D = h->builtin(h, (enum probe_builtin)i->imm))
	ON(BUILTIN_TEXT, D = (uint64_t)(uintptr_t)h->builtin_text(
				 h, (enum probe_builtin)i->imm))
	ON(ARG, D = h->args[i->imm])
	TRY(UREG, run_ureg(m, i))
	TRY(CALL, machine_call(m, (enum probe_function)i->imm, &A, &D))
	TRY(GET, run_scalar(m, i))
	TRY(PUT, run_scalar(m, i))
	ON(TUPLE, m->key = m->used)
	TRY(KEY, run_key_number(m, i))
	TRY(KEY_TEXT, run_key(m, i))
	TRY(KEY_STACK, run_key(m, i))
	TRY(GET_KEY, run_cell(m, i))
	TRY(PUT_KEY, run_cell(m, i))
	ON(AGGREGATE, aggregate(m, i))
on_RESERVE:
	if (!has_room(m))
		return MACHINE_DROPPED;
	i++;
	GO;
	TRY(EMIT, run_out(m, i))
	TRY(OUT, run_out(m, i))
	TRY(OUT_TEXT, run_out(m, i))
	TRY(OUT_STACK, run_out(m, i))
	TRY(OUT_BYTES, run_out(m, i))
on_SPECULATE:
	if (!h->speculate(h, A, m->clause->output_max))
		return MACHINE_DONE;
	i++;
	GO;
	ON(COMMIT, h->commit(h, A))
	ON(DISCARD, h->discard(h, A))
	ON(STOP, h->wants_stop = true)
	ON(RAISE, h->wants_signal = (uint32_t)A)
fault:
	h->fault_insn = (uint32_t)(i - code);
	return MACHINE_FAULT;
#undef D
#undef A
#undef B
#undef SIGNED
#undef GO
#undef ON
#undef TRY
}
// NOLINTEND(bugprone-macro-parentheses)
/* clang-format on */

enum machine_end machine_run(struct machine_host *h,
			     const struct probe_clause *clause)
{
	struct machine m;

	/* Nothing reads a register that is empty (V1): they are not cleared,
	 * which costs more than a short clause. */
	m.h = h;
	m.clause = clause;
	m.used = m.key = m.entry = 0;
	for (unsigned i = 0; i < PROBE_SIGNATURE_MAX; i++)
		m.r[PROBE_REGISTERS + i] = 0;
	h->wants_stop = false;
	h->wants_signal = 0;
	h->fault = MACHINE_NO_FAULT;
	return run(&m, probe_code(h->program) + clause->first_insn);
}
