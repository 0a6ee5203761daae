/* engine/shadow.h - a shadow's end is its beginning.
 *
 * Indices of a shadow (wire/record.h) have 32 bits, but the CPU adds only the
 * first byte's: an operand, or a part of a string, that begins below the end
 * goes on behind it. So the first pages are mapped there once more, and whoever
 * writes a byte by one of its two names reads it by the other.
 *
 * A map of what is touched (engine/observe.h) is indexed likewise, and made so,
 * too.
 *
 * H1  These pages are shared memory, which fork does not copy: a child maps its
 *     own before it executes anything.
 * H2  MADV_DONTNEED does not empty them. */
#ifndef ENGINE_SHADOW_H
#define ENGINE_SHADOW_H

#include "wire/record.h"

#include <stdint.h>

/* As much as one part of a string instruction, and one operand. */
enum { SHADOW_AGAIN = 4 * 4096 };
_Static_assert(SHADOW_AGAIN >= WIRE_STRING_PART + 4096, "what hangs over");

/* New pages, all zero, at both ends of the shadow that is mapped here. -1:
 * there is no memory. */
int shadow_join(uint64_t shadow);

/* Whole pages of it, from an index on, are zero again. */
void shadow_give_back(uint64_t shadow, uint64_t index, uint64_t len);

/* Does what begins at an index go on at the other end? */
static inline int shadow_wraps(uint32_t index, uint64_t len)
{
	return index + len > WIRE_SHADOW_SIZE;
}

#endif
