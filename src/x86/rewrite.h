/* x86/rewrite.h - the same instruction with another operand.
 *
 * What an instruction does stays as it is; only where its memory operand is
 * found changes: behind another segment and displacement, or in a register.
 *
 * Pure. */
#ifndef X86_REWRITE_H
#define X86_REWRITE_H

#include "x86/emit.h"

/* The instruction with its explicit memory operand moved: to segment seg, with
 * addresses cut to 32 bits, `more` added to them. Registers in the address are
 * the same; relative to rip becomes absolute, for an instruction that stands
 * at pc. A lock prefix is dropped. 0, or -1: it would be too long, or has no
 * such operand. */
int x86_put_moved32(struct x86_buf *b, const uint8_t *code,
		    const struct x86_insn *insn, uint64_t pc, unsigned seg,
		    uint32_t more);

/* Will that do? */
int x86_can_move32(const uint8_t *code, const struct x86_insn *insn);
/* The answer of hark versions whose records are of version 2 or older: no for
 * some that would have been possible. */
int x86_could_move32(const uint8_t *code, const struct x86_insn *insn);

/* The instruction with a general register in place of its memory operand; -1
 * if it has no such form, or cannot name this register. */
int x86_put_register(struct x86_buf *b, const uint8_t *code,
		     const struct x86_insn *insn, unsigned reg);

#endif
