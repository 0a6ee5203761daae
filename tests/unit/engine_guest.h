/* tests/unit/engine_guest.h - small random programs for the bench.
 *
 * Straight code, short forward branches of every kind, counted loops, calls
 * and returns. Each ends at guest_stop(), after a few hundred steps at most,
 * or in a fault. A seed names a program. */
#ifndef ENGINE_GUEST_H
#define ENGINE_GUEST_H

#include "engine_bench.h"

enum {			 /* what a program may contain */
       GUEST_FAULTS = 1, /* operands that cannot be accessed, division by 0 */
       GUEST_POPF = 2,
       GUEST_GS = 4, /* operands in gs */
       GUEST_ALL = GUEST_FAULTS | GUEST_POPF | GUEST_GS,
};

/* Where programs end; the code there is an ud2. */
uint64_t guest_stop(const struct bench_place *p);

/* Writes a program to the start of p's code. Its length. */
unsigned guest_make(const struct bench_place *p, uint64_t seed, unsigned may);

/* Registers to start with: random, rsp in the middle of the stack. */
struct bench_state guest_start(const struct bench_place *p, uint64_t seed);

#endif
