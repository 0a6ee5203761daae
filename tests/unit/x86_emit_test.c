/* tests/unit/x86_emit_test.c - what is emitted decodes to what was asked.
 *
 * Two judges: Zydis (mnemonic and every operand) and our own decoder (length,
 * registers, address). All registers and addressing forms are walked. */
#include "x86/emit.h"

#include <Zydis/Zydis.h>
#include <check.h>
#include <string.h>

/* check's own assertions write to a pipe each time; these run by the million.
 */
#define MUST(x)                                 \
	do {                                    \
		if (!(x))                       \
			ck_abort_msg("%s", #x); \
	} while (0)
#define EQ(a, b)                                                           \
	do {                                                               \
		long long a_ = (long long)(a), b_ = (long long)(b);        \
		if (a_ != b_)                                              \
			ck_abort_msg("%s is %llx, %s is %llx", #a, a_, #b, \
				     b_);                                  \
	} while (0)

static const uint64_t home = 0x400000000000; /* where the code will execute */

static ZydisDecoder decoder;
static uint8_t bytes[4096];

struct seen {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct x86_insn mine;
};

static struct x86_buf fresh(void)
{
	return (struct x86_buf){bytes, bytes, bytes + sizeof bytes, home, 0};
}

static void setup(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
}

/* Exactly one instruction must stand in the buffer. */
static void look(const struct x86_buf *b, struct seen *out)
{
	unsigned len = (unsigned)(b->at - b->start);

	EQ(0, b->bad);
	MUST(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, b->start, len,
						 &out->in, out->op)));
	EQ(len, out->in.length);
	EQ(X86_OK, x86_decode(b->start, len, &out->mine));
	EQ(len, out->mine.len);
}

static ZydisRegister named(unsigned reg, unsigned width)
{
	ZydisRegisterClass c = width == 1   ? ZYDIS_REGCLASS_GPR8
			       : width == 2 ? ZYDIS_REGCLASS_GPR16
			       : width == 4 ? ZYDIS_REGCLASS_GPR32
					    : ZYDIS_REGCLASS_GPR64;

	/* Zydis counts ah, ch, dh, bh as 4 to 7, spl to dil as 8 to 11. */
	if (width == 1 && reg >= 4)
		reg += 4;
	return ZydisRegisterEncode(c, (ZyanU8)reg);
}

static void is_register(const ZydisDecodedOperand *op, unsigned reg,
			unsigned width)
{
	EQ(ZYDIS_OPERAND_TYPE_REGISTER, op->type);
	EQ(named(reg, width), op->reg.value);
}

static ZydisRegister address_register(unsigned reg, int addr32)
{
	if (reg == X86_NOREG)
		return ZYDIS_REGISTER_NONE;
	if (reg == X86_RIP)
		return addr32 ? ZYDIS_REGISTER_EIP : ZYDIS_REGISTER_RIP;
	return named(reg, addr32 ? 4 : 8);
}

static void is_memory(const struct seen *s, const ZydisDecodedOperand *op,
		      const struct x86_mem *m, unsigned width)
{
	uint64_t end = home + s->in.length;
	ZyanI64 disp = m->disp;

	if (m->base == X86_RIP)
		disp = (int32_t)(m->disp - (int64_t)end);
	EQ(ZYDIS_OPERAND_TYPE_MEMORY, op->type);
	EQ(address_register(m->base, m->addr32), op->mem.base);
	EQ(address_register(m->index, m->addr32), op->mem.index);
	EQ(disp, op->mem.disp.value);
	if (m->index != X86_NOREG)
		EQ(1 << m->scale, op->mem.scale);
	if (m->seg)
		EQ(m->seg, s->mine.seg);
	if (m->seg)
		EQ(m->seg == X86_FS ? ZYDIS_REGISTER_FS : ZYDIS_REGISTER_GS,
		   op->mem.segment);
	else
		MUST(op->mem.segment != ZYDIS_REGISTER_FS &&
		     op->mem.segment != ZYDIS_REGISTER_GS);
	if (width)
		EQ(width * 8, op->size);
	EQ(m->base, s->mine.base);
	EQ(m->index, s->mine.index);
	EQ(disp, s->mine.disp);
}

static void is_immediate(const ZydisDecodedOperand *op, unsigned width,
			 int64_t want)
{
	uint64_t mask = width == 8 ? ~0ull : (1ull << width * 8) - 1;

	EQ(ZYDIS_OPERAND_TYPE_IMMEDIATE, op->type);
	EQ(want & mask, op->imm.value.u & mask);
}

/* -- Which operation has which forms -------------------------------------- */

enum { MR = 1, RM = 2, RR = 4, I = 8, I8 = 16, U = 32, BYTE = 64, W8 = 128 };

static const struct {
	enum emit_op op;
	ZydisMnemonic name;
	unsigned forms;
	unsigned src; /* width of the source, if it is its own */
} table[] = {
    {EMIT_ADD, ZYDIS_MNEMONIC_ADD, MR | RM | RR | I | BYTE, 0},
    {EMIT_OR, ZYDIS_MNEMONIC_OR, MR | RM | RR | I | BYTE, 0},
    {EMIT_ADC, ZYDIS_MNEMONIC_ADC, MR | RM | RR | I | BYTE, 0},
    {EMIT_SBB, ZYDIS_MNEMONIC_SBB, MR | RM | RR | I | BYTE, 0},
    {EMIT_AND, ZYDIS_MNEMONIC_AND, MR | RM | RR | I | BYTE, 0},
    {EMIT_SUB, ZYDIS_MNEMONIC_SUB, MR | RM | RR | I | BYTE, 0},
    {EMIT_XOR, ZYDIS_MNEMONIC_XOR, MR | RM | RR | I | BYTE, 0},
    {EMIT_CMP, ZYDIS_MNEMONIC_CMP, MR | RM | RR | I | BYTE, 0},
    {EMIT_MOV, ZYDIS_MNEMONIC_MOV, MR | RM | RR | I | BYTE, 0},
    {EMIT_TEST, ZYDIS_MNEMONIC_TEST, MR | RR | I | BYTE, 0},
    {EMIT_XCHG, ZYDIS_MNEMONIC_XCHG, MR | RR | BYTE, 0},
    {EMIT_CMPXCHG, ZYDIS_MNEMONIC_CMPXCHG, MR | RR | BYTE, 0},
    {EMIT_XADD, ZYDIS_MNEMONIC_XADD, MR | RR | BYTE, 0},
    {EMIT_LEA, ZYDIS_MNEMONIC_LEA, RM, 0},
    {EMIT_MOVZX8, ZYDIS_MNEMONIC_MOVZX, RM | RR, 1},
    {EMIT_MOVZX16, ZYDIS_MNEMONIC_MOVZX, RM | RR, 2},
    {EMIT_MOVSX8, ZYDIS_MNEMONIC_MOVSX, RM | RR, 1},
    {EMIT_MOVSX16, ZYDIS_MNEMONIC_MOVSX, RM | RR, 2},
    {EMIT_MOVSXD, ZYDIS_MNEMONIC_MOVSXD, RM | RR | W8, 4},
    {EMIT_IMUL, ZYDIS_MNEMONIC_IMUL, RM | RR, 0},
    {EMIT_BSF, ZYDIS_MNEMONIC_BSF, RM | RR, 0},
    {EMIT_BSR, ZYDIS_MNEMONIC_BSR, RM | RR, 0},
    {EMIT_BT, ZYDIS_MNEMONIC_BT, MR | RR | I8, 0},
    {EMIT_BTS, ZYDIS_MNEMONIC_BTS, MR | RR | I8, 0},
    {EMIT_BTR, ZYDIS_MNEMONIC_BTR, MR | RR | I8, 0},
    {EMIT_BTC, ZYDIS_MNEMONIC_BTC, MR | RR | I8, 0},
    {EMIT_ROL, ZYDIS_MNEMONIC_ROL, I8 | U | BYTE, 0},
    {EMIT_ROR, ZYDIS_MNEMONIC_ROR, I8 | U | BYTE, 0},
    {EMIT_SHL, ZYDIS_MNEMONIC_SHL, I8 | U | BYTE, 0},
    {EMIT_SHR, ZYDIS_MNEMONIC_SHR, I8 | U | BYTE, 0},
    {EMIT_SAR, ZYDIS_MNEMONIC_SAR, I8 | U | BYTE, 0},
    {EMIT_INC, ZYDIS_MNEMONIC_INC, U | BYTE, 0},
    {EMIT_DEC, ZYDIS_MNEMONIC_DEC, U | BYTE, 0},
    {EMIT_NOT, ZYDIS_MNEMONIC_NOT, U | BYTE, 0},
    {EMIT_NEG, ZYDIS_MNEMONIC_NEG, U | BYTE, 0},
    {EMIT_MUL, ZYDIS_MNEMONIC_MUL, U | BYTE, 0},
    {EMIT_DIV, ZYDIS_MNEMONIC_DIV, U | BYTE, 0},
    {EMIT_PUSH, ZYDIS_MNEMONIC_PUSH, U | W8, 0},
    {EMIT_POP, ZYDIS_MNEMONIC_POP, U | W8, 0},
    {EMIT_CALL, ZYDIS_MNEMONIC_CALL, U | W8, 0},
    {EMIT_JMP, ZYDIS_MNEMONIC_JMP, U | W8, 0},
};
enum { ROWS = sizeof table / sizeof table[0] };

static int has_width(unsigned k, unsigned width)
{
	if (width == 1)
		return !!(table[k].forms & BYTE);
	if (table[k].forms & W8)
		return width == 8;
	/* movzx of 16 bits into 16 is no instruction anyone wants. */
	return table[k].src < width;
}

/* Calls f for every row, width and pair of registers. */
#define FOR_ROWS(k, width, form)                                 \
	for (unsigned k = 0; k < ROWS; k++)                      \
		for (unsigned width = 1; width <= 8; width *= 2) \
			if ((table[k].forms & (form)) && has_width(k, width))

START_TEST(rr_over_all_registers)
{
	struct seen s;

	FOR_ROWS(k, width, RR)
	{
		for (unsigned dst = 0; dst < 16; dst++)
			for (unsigned src = 0; src < 16; src++) {
				struct x86_buf b = fresh();

				emit_rr(&b, table[k].op, width, dst, src);
				look(&b, &s);
				EQ(table[k].name, s.in.mnemonic);
				is_register(&s.op[0], dst, width);
				is_register(&s.op[1], src,
					    table[k].src ? table[k].src
							 : width);
			}
	}
}
END_TEST

static const int64_t disps[] = {0,    1,      -1,      127,	  -128,	    128,
				-129, 0x1000, -0x1000, INT32_MAX, INT32_MIN};
enum { DISPS = sizeof disps / sizeof disps[0] };

/* The n-th addressing form, or 0 when there are no more. */
static int nth_mem(unsigned n, struct x86_mem *out)
{
	unsigned forms = 17 * 17 * DISPS, base, index;

	if (n >= forms + 8)
		return 0;
	if (n >= forms) {
		*out = n & 1 ? x86_mem_pc(home + 0x12345678)
			     : x86_mem_pc(home - 0x7ffff000);
		out->seg = n & 2 ? X86_GS : 0;
		out->addr32 = n & 4 ? 1 : 0;
		return 1;
	}
	base = n % 17;
	index = n / 17 % 17;
	*out =
	    x86_mem_index(base == 16 ? X86_NOREG : base,
			  index == 16 || index == X86_RSP ? X86_NOREG : index,
			  (n / 3) & 3, disps[n / 17 / 17]);
	out->seg = n % 5 == 1 ? X86_GS : n % 5 == 3 ? X86_FS : 0;
	out->addr32 = n % 7 == 2;
	return 1;
}

static void mem_form(unsigned k, unsigned width, unsigned form,
		     struct x86_mem m, unsigned reg)
{
	unsigned other = table[k].src ? table[k].src : width, at = form == RM;
	struct x86_buf b = fresh();
	struct seen s;

	if (form == RM)
		emit_rm(&b, table[k].op, width, reg, m);
	else if (form == MR)
		emit_mr(&b, table[k].op, width, m, reg);
	else
		emit_m(&b, table[k].op, width, m);
	look(&b, &s);
	EQ(table[k].name, s.in.mnemonic);
	if (table[k].op == EMIT_LEA)
		m.seg = 0; /* it may be there, but has no meaning */
	is_memory(&s, &s.op[at], &m, table[k].op == EMIT_LEA ? 0 : other);
	if (form != U)
		is_register(&s.op[!at], reg, width);
}

START_TEST(memory_over_all_addressing_forms)
{
	struct x86_mem m;

	for (unsigned n = 0; nth_mem(n, &m); n++) {
		mem_form(EMIT_MOV, 8, RM, m, n & 15);
		mem_form(EMIT_MOV, 1, MR, m, n / 16 & 15);
		mem_form(EMIT_INC, 8, U, m, 0);
		mem_form(EMIT_PUSH, 8, U, m, 0);
	}
}
END_TEST

START_TEST(memory_over_all_operations)
{
	struct x86_mem m;
	unsigned n;

	FOR_ROWS(k, width, MR | RM | U)
	{
		for (n = k; nth_mem(n, &m); n += 37) {
			if (table[k].forms & RM)
				mem_form(k, width, RM, m, n & 15);
			if (table[k].forms & MR)
				mem_form(k, width, MR, m, n & 15);
			if (table[k].forms & U)
				mem_form(k, width, U, m, 0);
		}
	}
}
END_TEST

START_TEST(unary_over_all_registers)
{
	struct seen s;

	FOR_ROWS(k, width, U)
	{
		for (unsigned reg = 0; reg < 16; reg++) {
			struct x86_buf b = fresh();

			emit_r(&b, table[k].op, width, reg);
			look(&b, &s);
			EQ(table[k].name, s.in.mnemonic);
			is_register(&s.op[0], reg, width);
		}
	}
}
END_TEST

static const int64_t imms[] = {0,	  1,	     -1,	 127,
			       -128,	  128,	     255,	 -129,
			       0x7fff,	  -0x8000,   0x8000,	 0xffff,
			       INT32_MAX, INT32_MIN, 0x80000000, UINT32_MAX};
enum { IMMS = sizeof imms / sizeof imms[0] };

static int imm_fits(unsigned forms, unsigned width, int64_t v)
{
	unsigned bits = forms & I8 ? 8 : width * 8;
	int64_t half;

	if (bits == 64)
		return v == (int32_t)v;
	half = 1ll << (bits - 1);
	return v >= -half && v < 2 * half;
}

static void imm_form(unsigned k, unsigned width, unsigned reg,
		     const struct x86_mem *m, int64_t v)
{
	struct x86_buf b = fresh();
	struct seen s;

	if (m)
		emit_mi(&b, table[k].op, width, *m, v);
	else
		emit_ri(&b, table[k].op, width, reg, v);
	if (!imm_fits(table[k].forms, width, v)) {
		EQ(X86_BUF_WRONG, b.bad);
		ck_assert_ptr_eq(b.start, b.at);
		return;
	}
	look(&b, &s);
	EQ(table[k].name, s.in.mnemonic);
	is_immediate(&s.op[1], table[k].forms & I8 ? 1 : width, v);
	if (m)
		is_memory(&s, &s.op[0], m, width);
	else
		is_register(&s.op[0], reg, width);
}

START_TEST(immediates_over_all_operations)
{
	struct x86_mem m;
	unsigned n;

	FOR_ROWS(k, width, I | I8)
	{
		for (unsigned v = 0; v < IMMS; v++) {
			for (unsigned reg = 0; reg < 16; reg++)
				imm_form(k, width, reg, 0, imms[v]);
			for (n = k + v; nth_mem(n, &m); n += 101)
				imm_form(k, width, 0, &m, imms[v]);
			for (n = 17 * 17 * DISPS; nth_mem(n, &m); n++)
				imm_form(k, width, 0, &m, imms[v]);
		}
	}
}
END_TEST

START_TEST(short_immediates_are_used)
{
	struct x86_buf b = fresh();

	emit_ri(&b, EMIT_ADD, 8, X86_RAX, -128);
	EQ(4, b.at - b.start);
	b = fresh();
	emit_ri(&b, EMIT_ADD, 4, X86_RAX, UINT32_MAX);
	EQ(3, b.at - b.start);
	b = fresh();
	emit_mi(&b, EMIT_ADD, 8, x86_mem_seg(X86_GS, -64), 1);
	EQ(10, b.at - b.start);
}
END_TEST

START_TEST(setcc_and_cmov_over_all_conditions)
{
	struct seen s;

	for (unsigned cc = 0; cc < 16; cc++)
		for (unsigned reg = 0; reg < 16; reg++) {
			struct x86_mem m = x86_mem_at(reg, 8);
			struct x86_buf b = fresh();

			emit_setcc_r(&b, cc, reg);
			look(&b, &s);
			EQ(0x90 | cc, s.in.opcode);
			is_register(&s.op[0], reg, 1);
			b = fresh();
			emit_setcc_m(&b, cc, m);
			look(&b, &s);
			EQ(0x90 | cc, s.in.opcode);
			is_memory(&s, &s.op[0], &m, 1);
			b = fresh();
			emit_cmov_rr(&b, cc, 8, reg, 15 - reg);
			look(&b, &s);
			EQ(0x40 | cc, s.in.opcode);
			is_register(&s.op[0], reg, 8);
			is_register(&s.op[1], 15 - reg, 8);
			b = fresh();
			emit_cmov_rm(&b, cc, 4, 15 - reg, m);
			look(&b, &s);
			EQ(0x40 | cc, s.in.opcode);
			is_memory(&s, &s.op[1], &m, 4);
		}
}
END_TEST

START_TEST(set_is_short_and_right)
{
	static const struct {
		uint64_t value;
		int len; /* without REX.B */
	} want[] = {
	    {0, 5},	      {UINT32_MAX, 5},	       {0x80000000, 5},
	    {~0ull, 7},	      {0xffffffff80000000, 7}, {0xffffffff7fffffff, 10},
	    {0x100000000, 10}};
	struct seen s;

	for (unsigned k = 0; k < sizeof want / sizeof want[0]; k++)
		for (unsigned reg = 0; reg < 16; reg++) {
			struct x86_buf b = fresh();
			unsigned width = want[k].len == 5 ? 4 : 8;

			emit_set(&b, reg, want[k].value);
			look(&b, &s);
			is_register(&s.op[0], reg, width);
			is_immediate(&s.op[1], width, want[k].value);
			EQ(want[k].len + (width == 4 && reg > 7), s.in.length);
			b = fresh();
			emit_set_wide(&b, reg, want[k].value);
			look(&b, &s);
			EQ(10, s.in.length);
			is_immediate(&s.op[1], 8, want[k].value);
		}
}
END_TEST

START_TEST(absolute_moves_reach_everything)
{
	uint64_t address = 0x123456789abcdef0;
	struct seen s;

	for (unsigned width = 1; width <= 8; width *= 2)
		for (unsigned store = 0; store < 2; store++) {
			struct x86_buf b = fresh();

			if (store)
				emit_store_abs(&b, X86_FS, width, address);
			else
				emit_load_abs(&b, 0, width, address);
			look(&b, &s);
			EQ(ZYDIS_MNEMONIC_MOV, s.in.mnemonic);
			is_register(&s.op[store], 0, width);
			EQ(address, s.op[!store].mem.disp.value);
			EQ(store ? X86_FS : 0, s.mine.seg);
		}
}
END_TEST

START_TEST(plain_instructions_are_themselves)
{
	static const struct {
		enum emit_plain what;
		ZydisMnemonic name;
	} want[] = {{EMIT_RET, ZYDIS_MNEMONIC_RET},
		    {EMIT_INT3, ZYDIS_MNEMONIC_INT3},
		    {EMIT_PUSHF, ZYDIS_MNEMONIC_PUSHFQ},
		    {EMIT_POPF, ZYDIS_MNEMONIC_POPFQ},
		    {EMIT_LAHF, ZYDIS_MNEMONIC_LAHF},
		    {EMIT_SAHF, ZYDIS_MNEMONIC_SAHF},
		    {EMIT_CLD, ZYDIS_MNEMONIC_CLD},
		    {EMIT_LEAVE, ZYDIS_MNEMONIC_LEAVE},
		    {EMIT_SYSCALL, ZYDIS_MNEMONIC_SYSCALL},
		    {EMIT_UD2, ZYDIS_MNEMONIC_UD2},
		    {EMIT_RDTSC, ZYDIS_MNEMONIC_RDTSC},
		    {EMIT_RDTSCP, ZYDIS_MNEMONIC_RDTSCP},
		    {EMIT_PAUSE, ZYDIS_MNEMONIC_PAUSE},
		    {EMIT_LFENCE, ZYDIS_MNEMONIC_LFENCE},
		    {EMIT_MFENCE, ZYDIS_MNEMONIC_MFENCE},
		    {EMIT_ENDBR64, ZYDIS_MNEMONIC_ENDBR64}};
	struct x86_buf b;
	struct seen s;

	for (unsigned k = 0; k < sizeof want / sizeof want[0]; k++) {
		b = fresh();
		emit_plain(&b, want[k].what);
		look(&b, &s);
		EQ(want[k].name, s.in.mnemonic);
	}
	b = fresh();
	emit_plain(&b, EMIT_LOCK);
	emit_mr(&b, EMIT_XADD, 8, x86_mem_seg(X86_GS, 64), X86_R9);
	look(&b, &s);
	MUST(s.mine.prefixes & X86_P_LOCK);
	b = fresh();
	emit_push_i(&b, -128);
	look(&b, &s);
	is_immediate(&s.op[0], 8, -128);
	b = fresh();
	emit_push_i(&b, INT32_MIN);
	look(&b, &s);
	is_immediate(&s.op[0], 8, INT32_MIN);
}
END_TEST

START_TEST(nops_fill_any_length)
{
	ZydisDecodedInstruction in;

	for (unsigned len = 0; len < 64; len++) {
		struct x86_buf b = fresh();
		unsigned at = 0, n = 0;

		emit_nop(&b, len);
		EQ(len, b.at - b.start);
		for (; at < len; at += in.length, n++) {
			MUST(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    &decoder, 0, bytes + at, len - at, &in)));
			EQ(ZYDIS_MNEMONIC_NOP, in.mnemonic);
		}
		EQ(len, at);
		EQ((len + 8) / 9, n);
	}
}
END_TEST

/* -- Transfers ------------------------------------------------------------ */

static uint64_t went_to(const struct x86_buf *b, unsigned offset)
{
	struct x86_insn i;

	EQ(X86_OK, x86_decode(b->start + offset,
			      (unsigned)(b->at - b->start) - offset, &i));
	return x86_target(b->start + offset, &i, b->pc + offset);
}

START_TEST(direct_transfers_reach_2_GiB_and_say_so)
{
	struct x86_buf b = fresh();

	emit_jmp(&b, home + 5 + INT32_MAX);
	emit_call(&b, home + 10 + INT32_MIN);
	emit_jcc(&b, X86_CC_NE, home);
	EQ(0, b.bad);
	EQ(home + 5 + INT32_MAX, went_to(&b, 0));
	EQ(home + 10 + INT32_MIN, went_to(&b, 5));
	EQ(home, went_to(&b, 10));
	MUST(!emit_reaches(&b, 5, emit_pc(&b) + 6 + INT32_MAX));
	emit_jmp(&b, emit_pc(&b) + 6 + INT32_MAX);
	EQ(X86_BUF_FAR, b.bad);
	EQ(16, b.at - b.start);
	b = fresh();
	emit_rm(&b, EMIT_MOV, 8, 0, x86_mem_pc(home + 0x80001000));
	EQ(X86_BUF_FAR, b.bad);
}
END_TEST

START_TEST(far_jump_carries_its_target)
{
	struct x86_buf b = fresh();
	struct x86_insn i;
	uint64_t to;

	emit_jmp_far(&b, 0x1122334455667788);
	EQ(14, b.at - b.start);
	EQ(X86_OK, x86_decode(bytes, 14, &i));
	EQ(X86_JMP_IND, i.row->flow);
	EQ(X86_RIP, i.base);
	memcpy(&to, bytes + i.len + i.disp, sizeof to);
	EQ(0x1122334455667788, to);
}
END_TEST

START_TEST(labels_resolve_in_both_directions)
{
	struct x86_buf b = fresh();
	struct emit_label ahead = {0}, back = {0}, data = {0};
	struct x86_insn i;
	unsigned lea;

	emit_bind(&b, &back);
	emit_jcc_label(&b, X86_CC_E, &ahead);  /* 0 */
	emit_jmp8_label(&b, &ahead);	       /* 6 */
	emit_call_label(&b, &back);	       /* 8 */
	emit_jcc8_label(&b, X86_CC_B, &ahead); /* 13 */
	emit_jmp_label(&b, &ahead);	       /* 15 */
	emit_jmp8_label(&b, &back);	       /* 20 */
	lea = (unsigned)(b.at - b.start);
	emit_rm_label(&b, EMIT_LEA, 8, X86_R9, &data);
	emit_m_label(&b, EMIT_PUSH, &data);
	emit_bind(&b, &ahead);
	emit_nop(&b, 9);
	emit_bind(&b, &data);
	emit_quad(&b, 0x1234);
	EQ(0, b.bad);
	EQ(home + lea + 13, went_to(&b, 0));
	EQ(home + lea + 13, went_to(&b, 6));
	EQ(home, went_to(&b, 8));
	EQ(home + lea + 13, went_to(&b, 13));
	EQ(home + lea + 13, went_to(&b, 15));
	EQ(home, went_to(&b, 20));
	EQ(X86_OK, x86_decode(bytes + lea, 32, &i));
	EQ(15 + 0, i.disp);
	EQ(X86_OK, x86_decode(bytes + lea + 7, 32, &i));
	EQ(9, i.disp);
}
END_TEST

START_TEST(short_labels_that_do_not_reach_say_so)
{
	struct x86_buf b;
	struct emit_label l;

	for (unsigned gap = 120; gap < 140; gap++) {
		b = fresh();
		l = (struct emit_label){0};
		emit_jmp8_label(&b, &l);
		emit_nop(&b, gap);
		emit_bind(&b, &l);
		EQ(gap > 127 ? X86_BUF_FAR : 0, b.bad);
		b = fresh();
		l = (struct emit_label){0};
		emit_bind(&b, &l);
		emit_nop(&b, gap);
		emit_jcc8_label(&b, X86_CC_S, &l);
		EQ(gap > 126 ? X86_BUF_FAR : 0, b.bad);
	}
	b = fresh();
	l = (struct emit_label){0};
	emit_jmp8_label(&b, &l);
	emit_nop(&b, 300);
	emit_jmp8_label(&b, &l);
	EQ(X86_BUF_FAR, b.bad);
}
END_TEST

/* -- Limits --------------------------------------------------------------- */

START_TEST(nothing_is_written_behind_the_end)
{
	for (unsigned room = 0; room < 40; room++) {
		struct x86_buf b = {bytes, bytes, bytes + room, home, 0};

		memset(bytes, 0xee, sizeof bytes);
		emit_mi(&b, EMIT_ADD, 8, x86_mem_seg(X86_GS, 0x1234), 0x12345);
		emit_jcc(&b, X86_CC_E, home);
		emit_jmp_far(&b, home);
		emit_nop(&b, 100);
		EQ(X86_BUF_FULL, b.bad);
		MUST(b.at <= b.end);
		for (unsigned k = (unsigned)(b.at - b.start); k < 200; k++)
			EQ(0xee, bytes[k]);
	}
}
END_TEST

START_TEST(long_nops_in_a_full_buffer_stay_inside)
{
	struct x86_buf b = {bytes, bytes, bytes + 20, home, 0};

	memset(bytes, 0xee, sizeof bytes);
	emit_nop(&b, 1000);
	EQ(X86_BUF_FULL, b.bad);
	EQ(18, b.at - b.start);
	EQ(0xee, bytes[18]);
}
END_TEST

START_TEST(impossible_forms_are_refused)
{
	struct x86_mem odd[] = {x86_mem_index(0, X86_RSP, 0, 0),
				x86_mem_at(0, 1ll << 40),
				x86_mem_index(X86_RIP, 1, 0, 0),
				x86_mem_at(16, 0), x86_mem_index(0, 1, 4, 0)};
	struct x86_buf b;

	for (unsigned k = 0; k < sizeof odd / sizeof odd[0]; k++) {
		b = fresh();
		emit_rm(&b, EMIT_MOV, 8, 0, odd[k]);
		EQ(X86_BUF_WRONG, b.bad);
	}
	b = fresh();
	emit_rr(&b, EMIT_LEA, 8, 0, 0);
	EQ(X86_BUF_WRONG, b.bad);
	b = fresh();
	emit_rr(&b, EMIT_BSR, 1, 0, 0);
	EQ(X86_BUF_WRONG, b.bad);
	b = fresh();
	emit_r(&b, EMIT_PUSH, 4, 0);
	EQ(X86_BUF_WRONG, b.bad);
	b = fresh();
	emit_ri(&b, EMIT_XCHG, 8, 0, 1);
	EQ(X86_BUF_WRONG, b.bad);
	b = fresh();
	emit_rr(&b, EMIT_ADD, 3, 0, 0);
	EQ(X86_BUF_WRONG, b.bad);
	ck_assert_ptr_eq(b.start, b.at);
}
END_TEST

START_TEST(patchable_fields_stay_within_eight_bytes)
{
	for (unsigned pad = 0; pad < 16; pad++)
		for (unsigned before = 1; before < 4; before++) {
			struct x86_buf b = fresh();
			uint64_t field;

			emit_nop(&b, pad);
			emit_align_rel32(&b, before);
			field = emit_pc(&b) + before;
			EQ(field / 8, (field + 3) / 8);
			ck_assert_uint_le((uint64_t)(b.at - b.start), pad + 3);
		}
}
END_TEST

START_TEST(patching_retargets_or_leaves_alone)
{
	struct x86_buf b = fresh();
	uint8_t before[5];

	emit_align_rel32(&b, 1);
	emit_jmp(&b, home + 100);
	EQ(0, emit_patch_rel32(bytes + 1, home + 1, home + 777));
	EQ(home + 777, went_to(&b, 0));
	memcpy(before, bytes, sizeof before);
	EQ(-1, emit_patch_rel32(bytes + 1, home + 1, home + 6 + INT32_MAX));
	ck_assert_mem_eq(before, bytes, sizeof before);
}
END_TEST

START_TEST(operand_of_an_instruction_can_be_emitted_again)
{
	struct x86_buf b = fresh();
	struct x86_mem m, again;
	struct seen s;

	for (unsigned n = 0; nth_mem(n, &m); n += 3) {
		b = fresh();
		emit_rm(&b, EMIT_MOV, 8, X86_RDX, m);
		look(&b, &s);
		again = x86_mem_of(&s.mine, home);
		EQ(m.seg, again.seg);
		EQ(m.base, again.base);
		EQ(m.index, again.index);
		EQ(m.addr32, again.addr32);
		if (m.base != X86_RIP || !m.addr32)
			EQ(m.disp, again.disp);
		if (m.index != X86_NOREG)
			EQ(m.scale, again.scale);
	}
}
END_TEST

Suite *x86_emit_suite(void)
{
	Suite *s = suite_create("x86_emit");
	TCase *t = tcase_create("emit");

	tcase_add_unchecked_fixture(t, setup, NULL);
	tcase_add_test(t, rr_over_all_registers);
	tcase_add_test(t, memory_over_all_addressing_forms);
	tcase_add_test(t, memory_over_all_operations);
	tcase_add_test(t, unary_over_all_registers);
	tcase_add_test(t, immediates_over_all_operations);
	tcase_add_test(t, short_immediates_are_used);
	tcase_add_test(t, setcc_and_cmov_over_all_conditions);
	tcase_add_test(t, set_is_short_and_right);
	tcase_add_test(t, absolute_moves_reach_everything);
	tcase_add_test(t, plain_instructions_are_themselves);
	tcase_add_test(t, nops_fill_any_length);
	tcase_add_test(t, direct_transfers_reach_2_GiB_and_say_so);
	tcase_add_test(t, far_jump_carries_its_target);
	tcase_add_test(t, labels_resolve_in_both_directions);
	tcase_add_test(t, short_labels_that_do_not_reach_say_so);
	tcase_add_test(t, nothing_is_written_behind_the_end);
	tcase_add_test(t, long_nops_in_a_full_buffer_stay_inside);
	tcase_add_test(t, impossible_forms_are_refused);
	tcase_add_test(t, patchable_fields_stay_within_eight_bytes);
	tcase_add_test(t, patching_retargets_or_leaves_alone);
	tcase_add_test(t, operand_of_an_instruction_can_be_emitted_again);
	suite_add_tcase(s, t);
	return s;
}
