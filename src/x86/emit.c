/* x86/emit.c - one table of operations, one function that encodes.
 *
 * Every form (register, memory, immediate) is filled into a struct form and
 * encoded by put_form() into a few local bytes, which are then appended whole.
 *
 * E1  Nothing is written at or after b->end, and never half an instruction.
 * E2  Once b->bad is set, b->at does not move.
 * E3  What is written decodes to what was asked for, in the shortest form of
 *     displacement and immediate that the table knows.
 *
 * Threads: a buffer belongs to one thread. emit_patch_rel32() is the one
 * function that changes code others may be executing: a single store. */
#include "x86/emit.h"

enum {		  /* attr */
       SIZED = 1, /* opcode bit 0 clear: the byte form */
       SRC8 = 2,  /* the rm operand is one byte, whatever the width */
       IMM8 = 4,  /* the immediate is one byte */
       STACK = 8, /* 64 bits without REX.W */
};

struct op {
	uint16_t mr, rm, mi, m; /* opcodes, 0x0f.. in the second map; 0: none */
	uint8_t mi_n, m_n;	/* the /n of the group forms */
	uint8_t attr;
};

/* clang-format off */
/*	name	  rm,reg  reg,rm  rm,imm /n	rm     /n  attr */
#define OPS(R) \
	R(ADD,	  0x01,	  0x03,	  0x81,	 0,	0,     0,  SIZED) \
	R(OR,	  0x09,	  0x0b,	  0x81,	 1,	0,     0,  SIZED) \
	R(ADC,	  0x11,	  0x13,	  0x81,	 2,	0,     0,  SIZED) \
	R(SBB,	  0x19,	  0x1b,	  0x81,	 3,	0,     0,  SIZED) \
	R(AND,	  0x21,	  0x23,	  0x81,	 4,	0,     0,  SIZED) \
	R(SUB,	  0x29,	  0x2b,	  0x81,	 5,	0,     0,  SIZED) \
	R(XOR,	  0x31,	  0x33,	  0x81,	 6,	0,     0,  SIZED) \
	R(CMP,	  0x39,	  0x3b,	  0x81,	 7,	0,     0,  SIZED) \
	R(MOV,	  0x89,	  0x8b,	  0xc7,	 0,	0,     0,  SIZED) \
	R(TEST,	  0x85,	  0x85,	  0xf7,	 0,	0,     0,  SIZED) \
	R(XCHG,	  0x87,	  0x87,	  0,	 0,	0,     0,  SIZED) \
	R(CMPXCHG, 0x0fb1, 0,	  0,	 0,	0,     0,  SIZED) \
	R(XADD,	  0x0fc1, 0,	  0,	 0,	0,     0,  SIZED) \
	R(LEA,	  0,	  0x8d,	  0,	 0,	0,     0,  0) \
	R(MOVZX8, 0,	  0x0fb6, 0,	 0,	0,     0,  SRC8) \
	R(MOVZX16, 0,	  0x0fb7, 0,	 0,	0,     0,  0) \
	R(MOVSX8, 0,	  0x0fbe, 0,	 0,	0,     0,  SRC8) \
	R(MOVSX16, 0,	  0x0fbf, 0,	 0,	0,     0,  0) \
	R(MOVSXD, 0,	  0x63,	  0,	 0,	0,     0,  0) \
	R(IMUL,	  0,	  0x0faf, 0,	 0,	0,     0,  0) \
	R(BSF,	  0,	  0x0fbc, 0,	 0,	0,     0,  0) \
	R(BSR,	  0,	  0x0fbd, 0,	 0,	0,     0,  0) \
	R(BT,	  0x0fa3, 0,	  0x0fba, 4,	0,     0,  IMM8) \
	R(BTS,	  0x0fab, 0,	  0x0fba, 5,	0,     0,  IMM8) \
	R(BTR,	  0x0fb3, 0,	  0x0fba, 6,	0,     0,  IMM8) \
	R(BTC,	  0x0fbb, 0,	  0x0fba, 7,	0,     0,  IMM8) \
	R(ROL,	  0,	  0,	  0xc1,	 0,	0xd3,  0,  SIZED | IMM8) \
	R(ROR,	  0,	  0,	  0xc1,	 1,	0xd3,  1,  SIZED | IMM8) \
	R(SHL,	  0,	  0,	  0xc1,	 4,	0xd3,  4,  SIZED | IMM8) \
	R(SHR,	  0,	  0,	  0xc1,	 5,	0xd3,  5,  SIZED | IMM8) \
	R(SAR,	  0,	  0,	  0xc1,	 7,	0xd3,  7,  SIZED | IMM8) \
	R(INC,	  0,	  0,	  0,	 0,	0xff,  0,  SIZED) \
	R(DEC,	  0,	  0,	  0,	 0,	0xff,  1,  SIZED) \
	R(NOT,	  0,	  0,	  0,	 0,	0xf7,  2,  SIZED) \
	R(NEG,	  0,	  0,	  0,	 0,	0xf7,  3,  SIZED) \
	R(MUL,	  0,	  0,	  0,	 0,	0xf7,  4,  SIZED) \
	R(DIV,	  0,	  0,	  0,	 0,	0xf7,  6,  SIZED) \
	R(PUSH,	  0,	  0,	  0,	 0,	0xff,  6,  STACK) \
	R(POP,	  0,	  0,	  0,	 0,	0x8f,  0,  STACK) \
	R(CALL,	  0,	  0,	  0,	 0,	0xff,  2,  STACK) \
	R(JMP,	  0,	  0,	  0,	 0,	0xff,  4,  STACK) \
	R(SETCC,  0,	  0,	  0,	 0,	0x0f90, 0, SRC8) \
	R(CMOVCC, 0,	  0x0f40, 0,	 0,	0,     0,  0)
/* clang-format on */

/* ORDER emit_op */
#define R(name, mr, rm, mi, mi_n, m, m_n, attr) \
	[EMIT_##name] = {mr, rm, mi, m, mi_n, m_n, attr},
static const struct op ops[EMIT_OP_MAX] = {OPS(R)};
#undef R

/* One instruction about to be encoded. */
struct form {
	unsigned opcode, attr, width;
	unsigned reg;		   /* ModRM.reg: a register, or an extension */
	unsigned rm;		   /* a register, if mem is NULL */
	const struct x86_mem *mem; /* borrowed */
	unsigned imm_size;
	int64_t imm;
	uint8_t reg_is_ext;
};

struct text {
	uint8_t bytes[24];
	unsigned len, disp_at; /* disp_at: of a rip-relative disp32, or 0 */
};

/* -- Bytes ---------------------------------------------------------------- */

void emit_bytes(struct x86_buf *b, const uint8_t *bytes, unsigned len)
{
	if (b->bad)
		return;
	if ((uint64_t)(b->end - b->at) < len) {
		b->bad |= X86_BUF_FULL;
		return;
	}
	for (unsigned i = 0; i < len; i++)
		b->at[i] = bytes[i];
	b->at += len;
}

void emit_quad(struct x86_buf *b, uint64_t value)
{
	uint8_t bytes[8];

	__builtin_memcpy(bytes, &value, sizeof bytes);
	emit_bytes(b, bytes, sizeof bytes);
}

void emit_plain(struct x86_buf *b, enum emit_plain what)
{
	uint8_t bytes[4];
	unsigned len = 0;

	for (int shift = 24; shift >= 0; shift -= 8)
		if (len > 0 || (unsigned)what >> shift)
			bytes[len++] = (uint8_t)((unsigned)what >> shift);
	emit_bytes(b, bytes, len);
}

uint64_t emit_pc(const struct x86_buf *b)
{
	return b->pc + (uint64_t)(b->at - b->start);
}

static int fits32(int64_t v)
{
	return v == (int32_t)v;
}

static int fits8(int64_t v)
{
	return v == (int8_t)v;
}

static void put1(struct text *t, unsigned byte)
{
	t->bytes[t->len++] = (uint8_t)byte;
}

static void put_value(struct text *t, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		put1(t, (unsigned)(value >> 8 * i) & 0xff);
}

/* -- Encoding ------------------------------------------------------------- */

static int is_reg(unsigned r)
{
	return r < 16;
}

static int mem_is_sound(const struct x86_mem *m)
{
	int base = is_reg(m->base) || m->base == X86_NOREG;
	int index =
	    m->index == X86_NOREG || (is_reg(m->index) && m->index != X86_RSP);

	if (m->base == X86_RIP)
		return m->index == X86_NOREG;
	return base && index && m->scale < 4 && fits32(m->disp);
}

static int form_is_sound(const struct form *f)
{
	int width = f->width == 2 || f->width == 4 || f->width == 8;

	if (f->width == 1)
		width = f->attr & SIZED || f->opcode >> 4 == 0x0f9;
	if (f->attr & STACK)
		width = f->width == 8;
	return f->opcode && width && is_reg(f->reg) &&
	       (f->mem ? mem_is_sound(f->mem) : is_reg(f->rm));
}

/* spl bpl sil dil exist only with a REX prefix; without, they are ah to bh. */
static int needs_rex_for_byte(const struct form *f)
{
	int reg = !f->reg_is_ext && f->reg >= 4 && f->width == 1;
	int rm = !f->mem && f->rm >= 4 && (f->width == 1 || f->attr & SRC8);

	return reg || rm;
}

static void put_rex(struct text *t, const struct form *f)
{
	unsigned rex = 0;

	if (f->width == 8 && !(f->attr & STACK))
		rex |= 8;
	if (!f->reg_is_ext)
		rex |= f->reg >> 3 << 2;
	if (!f->mem)
		rex |= f->rm >> 3;
	else if (is_reg(f->mem->base))
		rex |= f->mem->base >> 3;
	if (f->mem && is_reg(f->mem->index))
		rex |= (unsigned)f->mem->index >> 3 << 1;
	if (rex || needs_rex_for_byte(f))
		put1(t, 0x40 | rex);
}

static void put_memory(struct text *t, unsigned reg, const struct x86_mem *m)
{
	unsigned base = m->base & 7, mod = 2;
	unsigned index = is_reg(m->index) ? m->index & 7 : 4;
	unsigned scale = is_reg(m->index) ? m->scale : 0;

	if (m->base == X86_RIP) {
		put1(t, reg << 3 | 5);
		t->disp_at = t->len;
		put_value(t, 0, 4);
		return;
	}
	if (m->base == X86_NOREG) {
		mod = 0;
		base = 5;
	} else if (m->disp == 0 && base != 5) {
		mod = 0;
	} else if (fits8(m->disp)) {
		mod = 1;
	}
	if (is_reg(m->index) || base == 4 || m->base == X86_NOREG) {
		put1(t, mod << 6 | reg << 3 | 4);
		put1(t, scale << 6 | index << 3 | base);
	} else {
		put1(t, mod << 6 | reg << 3 | base);
	}
	if (mod == 2 || m->base == X86_NOREG)
		put_value(t, (uint64_t)m->disp, 4);
	else if (mod == 1)
		put_value(t, (uint64_t)m->disp, 1);
}

static void put_opcode(struct text *t, const struct form *f)
{
	unsigned opcode = f->opcode;

	if (f->mem && f->mem->seg)
		put1(t, f->mem->seg);
	if (f->mem && f->mem->addr32)
		put1(t, 0x67);
	if (f->width == 2)
		put1(t, 0x66);
	put_rex(t, f);
	if (f->attr & SIZED && f->width == 1)
		opcode &= ~1u;
	if (opcode > 0xff)
		put1(t, opcode >> 8);
	put1(t, opcode & 0xff);
}

/* Gives a rip-relative operand its displacement, now that the end is known.
 * 67h counts modulo 4 GiB, so it reaches everything it can name. */
static int bias(struct text *t, const struct x86_mem *m, uint64_t pc)
{
	int64_t rel = (int64_t)((uint64_t)m->disp - (pc + t->len));

	if (m->addr32)
		rel = (int32_t)rel;
	if (!fits32(rel))
		return -1;
	for (unsigned i = 0; i < 4; i++)
		t->bytes[t->disp_at + i] = (uint8_t)(rel >> 8 * i);
	return 0;
}

static void put_form(struct x86_buf *b, const struct form *f)
{
	struct text t = {.len = 0, .disp_at = 0};

	if (!form_is_sound(f)) {
		b->bad |= X86_BUF_WRONG;
		return;
	}
	put_opcode(&t, f);
	if (f->mem)
		put_memory(&t, f->reg & 7, f->mem);
	else
		put1(&t, 0xc0 | (f->reg & 7) << 3 | (f->rm & 7));
	put_value(&t, (uint64_t)f->imm, f->imm_size);
	if (t.disp_at && bias(&t, f->mem, emit_pc(b)) < 0)
		b->bad |= X86_BUF_FAR;
	emit_bytes(b, t.bytes, t.len);
}

/* -- Forms ---------------------------------------------------------------- */

void emit_rr(struct x86_buf *b, enum emit_op op, unsigned width, unsigned dst,
	     unsigned src)
{
	const struct op *o = &ops[op];
	int load = !o->mr && op != EMIT_LEA;

	put_form(b, &(struct form){.opcode = load ? o->rm : o->mr,
				   .attr = o->attr,
				   .width = width,
				   .reg = load ? dst : src,
				   .rm = load ? src : dst});
}

void emit_rm(struct x86_buf *b, enum emit_op op, unsigned width, unsigned dst,
	     struct x86_mem src)
{
	put_form(b, &(struct form){.opcode = ops[op].rm,
				   .attr = ops[op].attr,
				   .width = width,
				   .reg = dst,
				   .mem = &src});
}

void emit_mr(struct x86_buf *b, enum emit_op op, unsigned width,
	     struct x86_mem dst, unsigned src)
{
	put_form(b, &(struct form){.opcode = ops[op].mr,
				   .attr = ops[op].attr,
				   .width = width,
				   .reg = src,
				   .mem = &dst});
}

/* The immediate as the CPU will sign-extend it, or -1 if it does not fit. */
static int normalize(unsigned width, int64_t *imm)
{
	unsigned bits = width * 8;
	int64_t half;

	if (width == 8)
		return fits32(*imm) ? 0 : -1;
	half = (int64_t)1 << (bits - 1);
	if (*imm < -half || *imm >= 2 * half)
		return -1;
	if (*imm >= half)
		*imm -= 2 * half;
	return 0;
}

static void put_immediate(struct x86_buf *b, enum emit_op op, struct form *f,
			  int64_t imm)
{
	const struct op *o = &ops[op];

	f->opcode = o->mi;
	f->attr = o->attr;
	f->reg = o->mi_n;
	f->reg_is_ext = 1;
	if (normalize(o->attr & IMM8 ? 1 : f->width, &imm) < 0) {
		b->bad |= X86_BUF_WRONG;
		return;
	}
	f->imm = imm;
	f->imm_size = f->width == 8 ? 4 : f->width;
	if (o->attr & IMM8)
		f->imm_size = 1;
	if (o->mi == 0x81 && f->width > 1 && fits8(imm)) {
		f->imm_size = 1;
		f->opcode = 0x83;
	}
	put_form(b, f);
}

void emit_ri(struct x86_buf *b, enum emit_op op, unsigned width, unsigned dst,
	     int64_t imm)
{
	struct form f = {.width = width, .rm = dst};

	put_immediate(b, op, &f, imm);
}

void emit_mi(struct x86_buf *b, enum emit_op op, unsigned width,
	     struct x86_mem dst, int64_t imm)
{
	struct form f = {.width = width, .mem = &dst};

	put_immediate(b, op, &f, imm);
}

static void put_unary(struct x86_buf *b, unsigned op, unsigned cc,
		      unsigned width, unsigned reg, const struct x86_mem *mem)
{
	const struct op *o = &ops[op];

	put_form(b, &(struct form){.opcode = o->m ? o->m + cc : 0,
				   .attr = o->attr,
				   .width = width,
				   .reg = o->m_n,
				   .reg_is_ext = 1,
				   .rm = reg,
				   .mem = mem});
}

/* push and pop of a register have a short form. */
static void put_short(struct x86_buf *b, unsigned opcode, unsigned reg)
{
	uint8_t bytes[2] = {0x41, (uint8_t)(opcode | (reg & 7))};

	if (!is_reg(reg))
		b->bad |= X86_BUF_WRONG;
	else if (reg < 8)
		emit_bytes(b, bytes + 1, 1);
	else
		emit_bytes(b, bytes, 2);
}

void emit_r(struct x86_buf *b, enum emit_op op, unsigned width, unsigned reg)
{
	if ((op == EMIT_PUSH || op == EMIT_POP) && width == 8)
		put_short(b, op == EMIT_PUSH ? 0x50 : 0x58, reg);
	else
		put_unary(b, op, 0, width, reg, 0);
}

void emit_m(struct x86_buf *b, enum emit_op op, unsigned width,
	    struct x86_mem mem)
{
	put_unary(b, op, 0, width, 0, &mem);
}

void emit_setcc_r(struct x86_buf *b, enum x86_cc cc, unsigned reg)
{
	put_unary(b, EMIT_SETCC, cc, 1, reg, 0);
}

void emit_setcc_m(struct x86_buf *b, enum x86_cc cc, struct x86_mem mem)
{
	put_unary(b, EMIT_SETCC, cc, 1, 0, &mem);
}

void emit_cmov_rr(struct x86_buf *b, enum x86_cc cc, unsigned width,
		  unsigned dst, unsigned src)
{
	put_form(b, &(struct form){.opcode = ops[EMIT_CMOVCC].rm + cc,
				   .width = width,
				   .reg = dst,
				   .rm = src});
}

void emit_cmov_rm(struct x86_buf *b, enum x86_cc cc, unsigned width,
		  unsigned dst, struct x86_mem src)
{
	put_form(b, &(struct form){.opcode = ops[EMIT_CMOVCC].rm + cc,
				   .width = width,
				   .reg = dst,
				   .mem = &src});
}

/* -- Values and absolute addresses ---------------------------------------- */

static void put_movabs(struct x86_buf *b, unsigned seg, unsigned width,
		       unsigned opcode, uint64_t value)
{
	struct text t = {.len = 0};

	if (width != 1 && width != 2 && width != 4 && width != 8) {
		b->bad |= X86_BUF_WRONG;
		return;
	}
	if (seg)
		put1(&t, seg);
	if (width == 2)
		put1(&t, 0x66);
	if (width == 8)
		put1(&t, 0x48);
	put1(&t, opcode | (width > 1));
	put_value(&t, value, 8);
	emit_bytes(b, t.bytes, t.len);
}

void emit_load_abs(struct x86_buf *b, unsigned seg, unsigned width,
		   uint64_t address)
{
	put_movabs(b, seg, width, 0xa0, address);
}

void emit_store_abs(struct x86_buf *b, unsigned seg, unsigned width,
		    uint64_t address)
{
	put_movabs(b, seg, width, 0xa2, address);
}

static void put_set(struct x86_buf *b, unsigned reg, unsigned size,
		    uint64_t value)
{
	struct text t = {.len = 0};
	unsigned rex = (size == 8 ? 8u : 0u) | reg >> 3;

	if (!is_reg(reg)) {
		b->bad |= X86_BUF_WRONG;
		return;
	}
	if (rex)
		put1(&t, 0x40 | rex);
	put1(&t, 0xb8 | (reg & 7));
	put_value(&t, value, size);
	emit_bytes(b, t.bytes, t.len);
}

void emit_set_wide(struct x86_buf *b, unsigned reg, uint64_t value)
{
	put_set(b, reg, 8, value);
}

void emit_set(struct x86_buf *b, unsigned reg, uint64_t value)
{
	if (value == (uint32_t)value)
		put_set(b, reg, 4, value);
	else if (fits32((int64_t)value))
		emit_ri(b, EMIT_MOV, 8, reg, (int64_t)value);
	else
		put_set(b, reg, 8, value);
}

void emit_push_i(struct x86_buf *b, int32_t value)
{
	struct text t = {.len = 0};

	put1(&t, fits8(value) ? 0x6a : 0x68);
	put_value(&t, (uint64_t)value, fits8(value) ? 1 : 4);
	emit_bytes(b, t.bytes, t.len);
}

void emit_nop(struct x86_buf *b, unsigned len)
{
	/* The sequences that both vendors recommend, the longest last. */
	static const uint8_t nops[9][9] = {
	    {0x90},
	    {0x66, 0x90},
	    {0x0f, 0x1f, 0x00},
	    {0x0f, 0x1f, 0x40, 0x00},
	    {0x0f, 0x1f, 0x44, 0x00, 0x00},
	    {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	    {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
	    {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};

	for (; len > 9 && !b->bad; len -= 9)
		emit_bytes(b, nops[8], 9);
	if (len > 0 && !b->bad)
		emit_bytes(b, nops[len - 1], len);
}

/* -- Direct transfers ----------------------------------------------------- */

static int reaches(uint64_t from, uint64_t target)
{
	return fits32((int64_t)(target - from));
}

int emit_reaches(const struct x86_buf *b, unsigned len, uint64_t target)
{
	return reaches(emit_pc(b) + len, target);
}

/* opcode (one byte, or 0x0f..) and a rel32. */
static void put_rel32(struct x86_buf *b, unsigned opcode, uint32_t rel)
{
	struct text t = {.len = 0};

	if (opcode > 0xff)
		put1(&t, opcode >> 8);
	put1(&t, opcode & 0xff);
	put_value(&t, rel, 4);
	emit_bytes(b, t.bytes, t.len);
}

static void put_direct(struct x86_buf *b, unsigned opcode, uint64_t target)
{
	unsigned len = opcode > 0xff ? 6 : 5;

	if (!emit_reaches(b, len, target))
		b->bad |= X86_BUF_FAR;
	put_rel32(b, opcode, (uint32_t)(target - (emit_pc(b) + len)));
}

void emit_jmp(struct x86_buf *b, uint64_t target)
{
	put_direct(b, 0xe9, target);
}

void emit_call(struct x86_buf *b, uint64_t target)
{
	put_direct(b, 0xe8, target);
}

void emit_jcc(struct x86_buf *b, enum x86_cc cc, uint64_t target)
{
	put_direct(b, 0x0f80u | cc, target);
}

void emit_jmp_far(struct x86_buf *b, uint64_t target)
{
	uint8_t bytes[14] = {0xff, 0x25};

	__builtin_memcpy(bytes + 6, &target, sizeof target);
	emit_bytes(b, bytes, sizeof bytes);
}

/* -- Labels --------------------------------------------------------------- */

/* An unresolved rel32 holds the label's previous chain32, an unresolved rel8
 * the distance back to the previous rel8 (0: the first). */

static uint32_t offset_of(const struct x86_buf *b)
{
	return (uint32_t)(b->at - b->start);
}

static void store32(uint8_t *field, uint32_t v)
{
	__builtin_memcpy(field, &v, sizeof v);
}

/* The rel32 just written: resolve it, or hang it into the chain. */
static void link32(struct x86_buf *b, struct emit_label *l)
{
	uint32_t end = offset_of(b);

	if (b->bad)
		return;
	if (l->here) {
		store32(b->at - 4, l->here - 1 - end);
		return;
	}
	store32(b->at - 4, l->chain32);
	l->chain32 = end - 4 + 1;
}

static void link8(struct x86_buf *b, struct emit_label *l)
{
	uint32_t field = offset_of(b) - 1;
	int64_t rel = (int64_t)l->here - 1 - (int64_t)(field + 1);
	uint32_t back = l->chain8 ? field - (l->chain8 - 1) : 0;

	if (b->bad)
		return;
	if (l->here ? !fits8(rel) : back > 127) {
		b->bad |= X86_BUF_FAR;
		return;
	}
	b->at[-1] = (uint8_t)(l->here ? (uint64_t)rel : back);
	if (!l->here)
		l->chain8 = field + 1;
}

void emit_jmp_label(struct x86_buf *b, struct emit_label *l)
{
	put_rel32(b, 0xe9, 0);
	link32(b, l);
}

void emit_call_label(struct x86_buf *b, struct emit_label *l)
{
	put_rel32(b, 0xe8, 0);
	link32(b, l);
}

void emit_jcc_label(struct x86_buf *b, enum x86_cc cc, struct emit_label *l)
{
	put_rel32(b, 0x0f80u | cc, 0);
	link32(b, l);
}

void emit_jmp8_label(struct x86_buf *b, struct emit_label *l)
{
	emit_bytes(b, (const uint8_t[]){0xeb, 0}, 2);
	link8(b, l);
}

void emit_jcc8_label(struct x86_buf *b, enum x86_cc cc, struct emit_label *l)
{
	emit_bytes(b, (const uint8_t[]){(uint8_t)(0x70 | cc), 0}, 2);
	link8(b, l);
}

void emit_jrcxz_label(struct x86_buf *b, struct emit_label *l)
{
	emit_bytes(b, (const uint8_t[]){0xe3, 0}, 2);
	link8(b, l);
}

void emit_rm_label(struct x86_buf *b, enum emit_op op, unsigned width,
		   unsigned dst, struct emit_label *l)
{
	emit_rm(b, op, width, dst, x86_mem_pc(emit_pc(b)));
	link32(b, l);
}

void emit_m_label(struct x86_buf *b, enum emit_op op, struct emit_label *l)
{
	emit_m(b, op, 8, x86_mem_pc(emit_pc(b)));
	link32(b, l);
}

static void resolve32(struct x86_buf *b, uint32_t chain, uint32_t here)
{
	uint32_t next;

	for (; chain; chain = next) {
		uint8_t *field = b->start + chain - 1;

		__builtin_memcpy(&next, field, sizeof next);
		store32(field, here - (chain - 1 + 4));
	}
}

static void resolve8(struct x86_buf *b, uint32_t chain, uint32_t here)
{
	uint32_t field = chain - 1, back = chain != 0;

	for (; back; field -= back) {
		uint32_t rel = here - (field + 1);

		back = b->start[field];
		if (rel > 127) {
			b->bad |= X86_BUF_FAR;
			return;
		}
		b->start[field] = (uint8_t)rel;
	}
}

void emit_bind(struct x86_buf *b, struct emit_label *l)
{
	uint32_t here = offset_of(b);

	if (b->bad)
		return;
	resolve32(b, l->chain32, here);
	resolve8(b, l->chain8, here);
	*l = (struct emit_label){.here = here + 1};
}

/* -- Patching ------------------------------------------------------------- */

void emit_align_rel32(struct x86_buf *b, unsigned before)
{
	unsigned at = (unsigned)(emit_pc(b) + before) & 7;

	if (at > 4)
		emit_nop(b, 8 - at);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the store is not C's */
int emit_patch_rel32(uint8_t *field, uint64_t field_pc, uint64_t target)
{
	uint32_t rel = (uint32_t)(target - (field_pc + 4));

	if (!reaches(field_pc + 4, target))
		return -1;
	/* C has no store that is one store at any alignment. */
	__asm__ volatile("movl %1, (%0)" : : "r"(field), "r"(rel) : "memory");
	return 0;
}

/* -- From decoded instructions -------------------------------------------- */

struct x86_mem x86_mem_of(const struct x86_insn *insn, uint64_t pc)
{
	struct x86_mem m = {.seg = insn->seg,
			    .base = insn->base,
			    .index = insn->index,
			    .scale = insn->scale,
			    .addr32 = !!(insn->prefixes & X86_P_67),
			    .disp = insn->disp};

	if (m.base == X86_RIP)
		m.disp = (int64_t)(pc + insn->len + (uint64_t)insn->disp);
	return m;
}
