/* tools/x86/judge.h - does the CPU do what hark says of an instruction?
 *
 * S1  What is not in a write mask, nor in a region written, stays as it was.
 *     x87 and vector state stay unless X86_A_X87 and X86_A_VEC are set.
 * S2  What is not in a read mask, nor in a region read, does not matter: the
 *     same run with all of that changed has the same results. A register or
 *     flag that is killed does not show its old value even in itself.
 * S3  A region ends where it says: right before a guard page it works, one
 *     byte further it faults.
 *
 * What contradicts them is taken apart by changing one thing at a time, and
 * told to whoever called judge_init(). */
#ifndef X86_JUDGE_H
#define X86_JUDGE_H

#include "trial.h"

struct outcome {
	int signal;
	uint32_t trap, taken;
	uint64_t address;
	struct cpu_state s;
	uint8_t mem[CPU_ARENA_LEN];
};

typedef void judge_found_fn(const struct trial *t, const char *text);

/* All borrowed; runs counts how often an instruction ran. */
void judge_init(struct rng *rng, judge_found_fn *found, unsigned long *runs);

void judge_run(const struct trial *t, struct outcome *out);

/* S1 of a run that did not fault. 0 if something was found. */
int judge_writes(const struct trial *t, const struct outcome *o);

/* S2: base is the run of t. */
void judge_reads(const struct trial *t, const struct outcome *base);

/* S3 */
void judge_sizes(const struct trial *t);

#endif
