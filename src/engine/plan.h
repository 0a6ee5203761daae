/* engine/plan.h - what an instrument wants done, and when.
 *
 * For each superblock that is translated, the instrument says what is to
 * happen when which instruction is executed. It emits no code: the translator
 * puts the additions of a run of instructions together and places them where
 * they disturb nothing, and takes back what was added for instructions that a
 * fault kept from being executed.
 *
 * Signals that arrive from outside wait for the next superblock's entry, so
 * that no instruction is counted twice: each entry counts vcpu.budget down,
 * and whoever wants the thread out of the cache sets it to 0.
 *
 * P1  What a plan adds is a function of the block alone.
 * P2  After any instruction has been executed, natively or not, every cell is
 *     what the plans of the executed instructions add up to. (Instructions of
 *     a run count at its start for those who look from another thread.) */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include "engine/block.h"

#include <stdint.h>

enum { PLAN_MAX = 6 * BLOCK_MAX };

/* vcpu.cells[cell] += n, when instruction number insn is executed. */
struct plan_add {
	uint8_t insn, cell;
	uint16_t n;
};

struct plan {
	unsigned n;
	struct plan_add adds[PLAN_MAX];
};

/* In ascending order of instructions. */
static inline void plan_add(struct plan *p, unsigned insn, unsigned cell,
			    unsigned n)
{
	if (n == 0 || p->n == PLAN_MAX)
		return;
	p->adds[p->n++] =
	    (struct plan_add){(uint8_t)insn, (uint8_t)cell, (uint16_t)n};
}

/* The first instrument: counts what is executed. ORDER wire_stats.ran_* */
enum count_cell {
	COUNT_BLOCKS,
	COUNT_INSTRUCTIONS,
	COUNT_LOADS,
	COUNT_STORES,
	COUNT_CALLS,
	COUNT_RETURNS,
	COUNT_BRANCHES,
	COUNT_SYSCALLS,
	COUNT_MAX
};
void count_plan(const struct guest_block *g, struct plan *out);
/* All cells together. */
void count_instructions(const struct guest_block *g, struct plan *out);
/* One instruction that was executed outside of the cache. */
void count_one(const uint8_t *code, unsigned have, uint64_t *cells);

/* Instructions first .. last - 1 are a run: entered at first, left at its end
 * only (or by a fault). The run that begins at first. */
unsigned plan_run_end(const struct guest_block *g, unsigned first);

/* The sum of what instructions from .. to - 1 add, cell by cell. */
void plan_sum(const struct plan *p, unsigned from, unsigned to,
	      uint64_t *cells);

#endif
