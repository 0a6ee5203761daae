/* native/stack.h - the program's stack at a hit, by its call-frame rules.
 *
 * hark puts the tables of all modules into the plan (image/frames makes
 * them); a thread walks them. Where there is no rule the walk ends, or goes on
 * by rbp if that looks right; nothing is guessed beyond that.
 *
 * Freestanding, and hosted too. */
#ifndef NATIVE_STACK_H
#define NATIVE_STACK_H

#include "native/trampoline.h"
#include "wire/collect.h"

#include <stdbool.h>

/* Copies memory of the program's; false where it is not there. */
typedef bool stack_read(const void *from, void *out, uint32_t len);

/* At most n addresses: the instruction of the frame, then return addresses,
 * innermost first; how many. */
uint32_t stack_walk(const struct collect_plan *plan,
		    const struct probe_frame *frame, uint64_t *out, uint32_t n);
/* The same of a process whose memory is read in another way. */
uint32_t stack_walk_by(const struct collect_plan *plan,
		       const struct probe_frame *frame, stack_read *read,
		       uint64_t *out, uint32_t n);

#endif
