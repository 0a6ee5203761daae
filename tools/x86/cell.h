/* tools/x86/cell.h - one point of the encoding space, and its bytes.
 *
 * The generator, the sweep and the testers on the CPU all walk the same
 * space: 15 opcode spaces x 256 opcodes x variants x ModRM. */
#ifndef X86_CELL_H
#define X86_CELL_H

#include <stdint.h>

/* 8 memory forms by ModRM.reg, then 64 register forms by reg and rm. */
enum { CELL_FORMS = 72, CELL_MEM_FORMS = 8 };
enum { CELL_BYTES = 64, CELL_MAX_VARIANTS = 64 };

struct cell {
	unsigned space, opcode, variant;
	unsigned reg, rm, is_reg; /* ModRM: a register, or base + index */
	unsigned base, index;	  /* without REX bits */
	unsigned mod0_rm;	  /* 0: use a SIB byte; else this, mod 0 */
	unsigned disp8;
	unsigned r, x, b, r2, v2, vvvv, z, aaa; /* not inverted */
	unsigned p67, lock;
	unsigned rex; /* emit REX even if it is 0x40 */
};

unsigned cell_variants(unsigned space);

/* Bytes that are no opcode of this space, but lead to another. */
int cell_is_escape(unsigned space, unsigned byte);

/* Prefixes, escape and opcode; returns the byte after them. */
uint8_t *cell_opcode(uint8_t *p, const struct cell *c);

/* All of it, zeroes after the displacement. Returns where the immediate
 * would start. */
uint8_t *cell_encode(uint8_t out[CELL_BYTES], const struct cell *c);

#endif
