/* tools/x86/oracle.h - Zydis' opinion of an instruction, in hark's terms.
 *
 * Shared by the generator, which writes these opinions into tables, and by
 * the comparison, which holds the core's answers against them. Where Zydis is
 * silent or wrong, oracle.c corrects it, in tables with reasons; the CPU is
 * the judge (sift.c, semantic.c). */
#ifndef X86_ORACLE_H
#define X86_ORACLE_H

#include "x86/decode.h"

#include <Zydis/Zydis.h>

struct opinion {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	/* without role[] and gpr_*: they depend on who asks */
	struct x86_row row;
};

struct gpr_effects {
	uint16_t read, write, kill;
};

void oracle_init(void);

/* 1 if valid, else 0. */
int oracle_ask(const uint8_t *code, unsigned avail, struct opinion *out);

/* The length where branches ignore 66 only with REX.W; 0 if invalid. */
unsigned oracle_amd_length(const uint8_t *code, unsigned avail);

/* The number of a register operand, its X86_R_* in role; -1 if it is none. */
int oracle_gpr(const struct opinion *o, const ZydisDecodedOperand *op,
	       unsigned *role);

/* Base of a memory operand that no ModRM names (push, movs), or -1. */
int oracle_implicit_base(const struct opinion *o,
			 const ZydisDecodedOperand *op);

/* Implicit effects that Zydis does not report. */
void oracle_extra_gprs(const struct opinion *o, struct gpr_effects *io);

#endif
