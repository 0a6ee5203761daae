/* tools/x86/trial.h - one instruction with operands, ready to run.
 *
 * A trial has bytes, a decoded instruction, a state to start from, memory, and
 * the regions of that memory which hark says the instruction may touch.
 * Registers hold what hurts (0, -1, powers of two, random); those that form
 * addresses are solved so that every operand lies in the arena:
 *
 *   page 0  stack     page 1  a second operand     pages 2, 3  the operand
 */
#ifndef X86_TRIAL_H
#define X86_TRIAL_H

#include "cell.h"
#include "cpu.h"
#include "random.h"
#include "x86/access.h"

enum { TRIAL_NO_EDGE = -1 };

/* Where the code is, and where a taken branch goes. */
enum {
	TRIAL_PC = CPU_CODE + 0x400,
	TRIAL_TAKEN_DISP = 0x40,
};

struct region {
	uint64_t at;
	unsigned len;
	uint8_t access, may;
	uint8_t exact; /* len is what one access of this size touches */
};

struct trial {
	uint8_t code[CELL_BYTES];
	struct x86_insn insn;
	struct x86_access access[X86_ACCESS_MAX];
	struct region region[X86_ACCESS_MAX];
	unsigned n; /* of both */
	struct cpu_state in;
	uint8_t mem[CPU_ARENA_LEN];
};

/* Encodes cell c with random operands; 0 if hark says it is invalid. row: if
 * not NULL, the row that it must lead to. */
int trial_encode(struct trial *t, struct rng *rng, const struct cell *c,
		 const struct x86_row *row);

/* Random state and memory. */
void trial_fill(struct trial *t, struct rng *rng);

/* Points address registers into the arena and computes the regions. edge: the
 * access that shall end beyond bytes past the arena's end. 0 if it cannot. */
int trial_place(struct trial *t, struct rng *rng, int edge, int beyond);

/* Fills the vector and x87 part of a state. */
void trial_fill_vectors(struct cpu_state *s, struct rng *rng);
void trial_fill_x87(struct cpu_state *s, struct rng *rng);

#endif
