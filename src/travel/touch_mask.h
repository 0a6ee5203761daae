/* travel/touch_mask.h - which elements of memory a vector instruction touches.
 *
 * Masks in opmask registers (AVX-512) and in vector registers (AVX), and
 * gathers and scatters. Hosted. */
#ifndef TRAVEL_TOUCH_MASK_H
#define TRAVEL_TOUCH_MASK_H

#include "travel/touch.h"
#include "x86/decode.h"

/* Is it one of these? */
int touch_is_masked(const struct x86_insn *x);
/* `at`: where its operand is (of a gather: without the indices). How many
 * pieces. If the instruction is not known well enough, all of its operand. */
unsigned touch_masked(struct walker *w, const struct x86_insn *x, uint64_t at,
		      struct touch out[TOUCHES_MAX]);

#endif
