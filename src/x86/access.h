/* x86/access.h - which memory does one instruction touch?
 *
 * Explicit operands, stack slots, string elements and the rest, all in one
 * form: seg:[base + (index << scale) + disp]. Where that form cannot say it,
 * `where` names the exception.
 *
 * Pure. */
#ifndef X86_ACCESS_H
#define X86_ACCESS_H

#include "x86/decode.h"

enum x86_where {
	X86_AT_PLAIN,
	X86_AT_BIT,   /* bt and kin: add x86_bit_disp(reg's value) */
	X86_AT_XLAT,  /* the index is al, zero-extended */
	X86_AT_VSIB,  /* index is a vector register: one element each */
	X86_AT_LINE,  /* clzero: rounded down to 64 bytes */
	X86_AT_TILE,  /* AMX: rows, index apart; size is not known */
	X86_AT_STATE, /* xsave and kin: size is a minimum, CPUID knows */
};

struct x86_access {
	int64_t disp;
	uint16_t size;	/* bytes; of one element if repeated or VSIB */
	uint8_t access; /* X86_M_READ | X86_M_WRITE */
	uint8_t where;	/* enum x86_where */
	uint8_t may;	/* conditional, masked or repeated */
	uint8_t base;	/* enum x86_reg; X86_RIP: after the instruction */
	uint8_t index;	/* enum x86_reg; X86_AT_VSIB: vector number */
	uint8_t scale;	/* a shift */
	uint8_t seg;	/* 0x64, 0x65 or 0 */
	uint8_t addr32; /* the sum is cut to 32 bits (before seg) */
};

enum { X86_ACCESS_MAX = 3 };

/* Fills out with what the instruction reads and writes, in no order, and
 * returns how many. An address that is only formed (lea, prefetch, clflush)
 * is none. Registers are to be taken as they are before the instruction. */
unsigned x86_accesses(const uint8_t *code, const struct x86_insn *insn,
		      struct x86_access out[X86_ACCESS_MAX]);

/* How far the explicit operand is from where its address form says, by the
 * registers before the instruction: a pop moves rsp before it forms the address
 * of its destination. 0 for all other instructions. */
int64_t x86_pop_shift(const struct x86_insn *insn);

/* X86_AT_BIT: how far from the operand is the word with this bit? */
int64_t x86_bit_disp(const struct x86_insn *insn, uint64_t bit);

#endif
