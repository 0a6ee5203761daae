/* engine/ways.c - how a recorded instruction gets at its memory. */
#include "engine/ways.h"

#include "engine/vcpu.h"
#include "x86/access.h"
#include "x86/rewrite.h"

enum { P_0F = 1, P_0F38 = 2 }; /* legacy maps */

/* -- One by one ------------------------------------------------------------ */

static int is_legacy(const struct x86_insn *i, unsigned map)
{
	return i->space == X86_SPACE_LEGACY + map;
}

static unsigned group(const struct x86_insn *i)
{
	return i->modrm >> 3 & 7;
}

/* ALU operations of the first 64 opcodes, and their immediate forms. */
static int takes_one_byte(const struct x86_insn *i)
{
	unsigned op = i->opcode;

	if (op < 0x40)
		return (op & 7) < 4;
	if (op >= 0x80 && op <= 0x8b)
		return op != 0x86 && op != 0x87; /* xchg */
	switch (op) {
	case 0x63: /* movsxd */
	case 0x69: /* imul */
	case 0x6b:
	case 0xc0: /* shifts */
	case 0xc1:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xf6: /* test, not, neg, mul, div */
	case 0xf7:
		return 1;
	case 0xfe:
	case 0xff:
		return group(i) < 2; /* inc, dec */
	default:
		return 0;
	}
}

static int takes_two_bytes(const struct x86_insn *i)
{
	unsigned op = i->opcode;

	if (op >= 0x40 && op <= 0x4f) /* cmov */
		return 1;
	switch (op) {
	case 0xa4: /* shld, shrd */
	case 0xa5:
	case 0xac:
	case 0xad:
	case 0xaf: /* imul */
	case 0xb6: /* movzx */
	case 0xb7:
	case 0xb8: /* popcnt */
	case 0xba: /* bt by an immediate */
	case 0xbc: /* bsf, tzcnt */
	case 0xbd:
	case 0xbe: /* movsx */
	case 0xbf:
		return 1;
	default:
		return 0;
	}
}

int way_takes_register(const struct x86_insn *i)
{
	if (i->row->mem_size > 8)
		return 0;
	if (is_legacy(i, 0))
		return takes_one_byte(i);
	return is_legacy(i, P_0F) && takes_two_bytes(i);
}

int way_differs_in_register(const struct x86_insn *i)
{
	return is_legacy(i, 0) && (i->opcode == 0xc0 || i->opcode == 0xc1) &&
	       group(i) < 2; /* rol, ror */
}

static enum way_lock lock_in_group(const uint8_t *code,
				   const struct x86_insn *i)
{
	/* ORDER add or adc sbb and sub xor cmp */
	static const uint8_t of_group[8] = {LOCK_ADD,  LOCK_LOOP, LOCK_NOT,
					    LOCK_NOT,  LOCK_LOOP, LOCK_SUB,
					    LOCK_LOOP, LOCK_NOT};

	if (i->opcode >= 0x80 && i->opcode <= 0x83)
		return group(i) == 1 && x86_imm(code, i) == 0
			   ? LOCK_OR_0
			   : (enum way_lock)of_group[group(i)];
	if (i->opcode == 0xf6 || i->opcode == 0xf7) /* not, neg */
		return group(i) == 2 || group(i) == 3 ? LOCK_LOOP : LOCK_NOT;
	if (i->opcode == 0xfe || i->opcode == 0xff)
		return group(i) == 0 ? LOCK_INC
				     : (group(i) == 1 ? LOCK_DEC : LOCK_NOT);
	return LOCK_NOT;
}

static enum way_lock lock_kind(const uint8_t *code, const struct x86_insn *i)
{
	if (is_legacy(i, P_0F))
		return i->opcode == 0xb0 || i->opcode == 0xb1	? LOCK_CMPXCHG
		       : i->opcode == 0xc0 || i->opcode == 0xc1 ? LOCK_XADD
		       : i->opcode == 0xba			? LOCK_LOOP
								: LOCK_NOT;
	if (!is_legacy(i, 0))
		return LOCK_NOT;
	switch (i->opcode) {
	case 0x00:
	case 0x01:
		return LOCK_ADD;
	case 0x28:
	case 0x29:
		return LOCK_SUB;
	case 0x08: /* or */
	case 0x09:
	case 0x20: /* and */
	case 0x21:
	case 0x30: /* xor */
	case 0x31:
		return LOCK_LOOP;
	case 0x86:
	case 0x87:
		return LOCK_XCHG;
	default:
		return lock_in_group(code, i);
	}
}

static int in_address(const struct x86_insn *i, unsigned reg)
{
	return i->base == reg || i->index == reg;
}

/* Is its register ah, ch, dh or bh? */
static int is_high_byte(const struct x86_insn *i)
{
	return i->row->mem_size == 1 && i->rex == 0 && i->reg >= 4;
}

enum way_lock way_lock_of(const uint8_t *code, const struct x86_insn *i)
{
	enum way_lock kind = lock_kind(code, i);
	int has_reg = kind != LOCK_NOT && kind != LOCK_INC &&
		      kind != LOCK_DEC &&
		      (i->opcode < 0x80 || i->opcode > 0x83);

	if (i->row->mem_size > 8 || (has_reg && is_high_byte(i)))
		return LOCK_NOT;
	if ((kind == LOCK_XCHG || kind == LOCK_XADD) && in_address(i, i->reg))
		return LOCK_NOT;
	if (kind == LOCK_CMPXCHG &&
	    (in_address(i, X86_RAX) || i->reg == X86_RAX))
		return LOCK_NOT;
	if (kind == LOCK_LOOP &&
	    ((i->gpr_read | i->gpr_write) & 1 || !way_takes_register(i)))
		return LOCK_NOT;
	return kind;
}

/* -- By what is accessed --------------------------------------------------- */

static int is_size(unsigned size)
{
	return size == 1 || size == 2 || size == 4 || size == 8 || size == 10 ||
	       size == 16 || size == 32 || size == 64;
}

/* Stores of the x87 unit that pop: twice is once too often. */
static enum way x87_store_way(const struct x86_insn *i)
{
	unsigned op = i->opcode, g = group(i);

	if (g == 2 || (op == 0xd9 && g >= 6) || (op == 0xdd && g == 7))
		return WAY_STORE; /* fst, fist, fnstcw, fnstsw */
	/* fstp, fistp; what else pops has no form that does not. */
	if (g == 3)
		return WAY_STORE_POP;
	/* fstp of 80 bits, fistp of 64 */
	return g == 7 && (op == 0xdb || op == 0xdf) ? WAY_STORE_X87 : WAY_STATE;
}

static enum way store_way(const struct x86_insn *i)
{
	if (is_legacy(i, 0) && i->opcode >= 0xd8 && i->opcode <= 0xdf)
		return x87_store_way(i);
	return WAY_STORE;
}

/* AVX-512's; those of AVX2 keep their mask in a vector register. */
static enum way vsib_way(const uint8_t *code, const struct x86_insn *i)
{
	if (i->space < X86_SPACE_EVEX || !i->aaa || !x86_can_move32(code, i))
		return WAY_STATE;
	return i->row->mem & X86_M_WRITE ? WAY_SCATTER : WAY_GATHER;
}

static enum way explicit_way(const uint8_t *code, const struct x86_insn *i)
{
	const struct x86_row *r = i->row;
	unsigned access = r->mem & (X86_M_READ | X86_M_WRITE);
	int may = (r->attr & X86_A_MEM_MAY) != 0 || i->aaa;

	if (r->attr & X86_A_VSIB)
		return vsib_way(code, i);
	if (!is_size(r->mem_size) || !x86_can_move32(code, i) ||
	    (is_legacy(i, 0) && i->opcode == 0x8e) || /* to a segment */
	    r->attr & (X86_A_BITSTRING | X86_A_XSTATE | X86_A_MOFFS |
		       X86_A_REG_ADDR | X86_A_NONDET))
		return WAY_STATE;
	if (x86_is_locked(i))
		return way_lock_of(code, i) == LOCK_NOT ? WAY_STATE
							: WAY_LOCKED;
	if (access == X86_M_READ)
		return may ? WAY_SOME : WAY_LOAD;
	if (access == X86_M_WRITE)
		return store_way(i);
	return way_takes_register(i) && !may ? WAY_UPDATE : WAY_STATE;
}

/* The displacement is still one after the shift. */
static int is_pop_to_memory(const struct x86_insn *i)
{
	return i->opcode == 0x8f && i->is_mem && group(i) == 0 &&
	       i->disp + x86_pop_shift(i) <= INT32_MAX;
}

static enum way implicit_way(const uint8_t *code, const struct x86_insn *i)
{
	unsigned op = i->opcode;

	if (i->prefixes & (X86_P_66 | X86_P_67) || !is_legacy(i, 0))
		return WAY_STATE;
	if (op >= 0x50 && op <= 0x57)
		return WAY_PUSH;
	if (op >= 0x58 && op <= 0x5f)
		return op == 0x5c && !(i->rex & 1) ? WAY_STATE : WAY_POP;
	if (op == 0x68 || op == 0x6a)
		return WAY_PUSH_I;
	if (op == 0xc9)
		return WAY_LEAVE;
	if (op == 0x9c)
		return WAY_PUSHF;
	if (op == 0xff && group(i) == 6 && x86_can_move32(code, i))
		return WAY_PUSH_M;
	if (is_pop_to_memory(i))
		return WAY_POP_M;
	return WAY_STATE;
}

enum way way_of(const uint8_t *code, const struct x86_insn *i)
{
	const struct x86_row *r = i->row;
	int has_explicit = i->is_mem && r->mem & (X86_M_READ | X86_M_WRITE);

	if (r->special >= X86_CPUID && r->special <= X86_XGETBV)
		return i->is_mem ? WAY_STATE : WAY_RESULT;
	if (r->special == X86_RDFSBASE || r->special == X86_WRFSBASE)
		return WAY_BASE;
	if (r->attr & X86_A_STRING)
		return i->prefixes & X86_P_67 ? WAY_STATE : WAY_STRING;
	if (r->imem[0] != 0 || r->imem[1] != 0)
		return implicit_way(code, i);
	if (has_explicit)
		return explicit_way(code, i);
	if (r->attr & (X86_A_NONDET | X86_A_XSTATE | X86_A_PRIV))
		return WAY_STATE;
	return WAY_NONE;
}

uint64_t ways_address(const struct x86_insn *i, const struct vcpu *v)
{
	uint64_t address = (uint64_t)i->disp;

	if (i->base == X86_RIP)
		address += v->pc + i->len;
	else if (i->base < 16)
		address += v->gpr[i->base];
	if (i->index < 16)
		address += v->gpr[i->index] << i->scale;
	return i->prefixes & X86_P_67 ? (uint32_t)address : address;
}
