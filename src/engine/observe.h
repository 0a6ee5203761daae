/* engine/observe.h - who looks on while a recorded thread runs again.
 *
 * Stops end blocks; a thread that comes to one leaves before it is executed
 * (EXIT_BREAK). Windows are ranges of the shadow's index; an instruction that
 * touches one is left before it is executed (EXIT_WATCH), and whoever sees to
 * it finds out what it touches. Touches mark every byte that is loaded or
 * stored, in a map: 0xff at the shadow's index plus OBSERVE_SKEW, modulo 2^32:
 * that is the address's own low half, so that the mark of [rbx+8] has the
 * displacement 8, of one byte. (It must not be the one that the operand has in
 * the shadow: the processor would take the load for one of what was just
 * stored to the map. docs/decisions.md has it.) Apart means: what is
 * stored is marked OBSERVE_STORED further on instead, modulo 2^32 again. What
 * the log fills in counts as loaded. Of an instruction that accesses some of
 * its operand, by a mask, what it may have accessed is marked if WHOLE or APART
 * is set; else what it has stored.
 *
 * Blocks that were made for one step (blind) ignore stops and windows. All of
 * it is only for replay; pure. */
#ifndef ENGINE_OBSERVE_H
#define ENGINE_OBSERVE_H

#include "wire/record.h"

#include <stdint.h>

enum { OBSERVE_WINDOWS = 8 };
#define OBSERVE_SKEW (0u - WIRE_SHADOW_SKEW)

enum {
	OBSERVE_LOADS = 1,
	OBSERVE_STORES = 2,
	OBSERVE_APART = 4,
	OBSERVE_WHOLE = 8,
};
/* Its low 12 bits are those of no other distance that one word has to another:
 * shadow, mark of a load, mark of a store. */
#define OBSERVE_STORED ((1u << 31) + 0x2a00)

struct observe_window {
	uint32_t index, len;
	uint32_t on; /* OBSERVE_* */
};

struct observe {
	const uint64_t *stops; /* borrowed; ascending */
	uint32_t n_stops;
	uint32_t touches; /* OBSERVE_*: fs is the map */
	uint32_t n_windows;
	struct observe_window windows[OBSERVE_WINDOWS];
};

static inline int observe_is_stop(const struct observe *o, uint64_t pc)
{
	uint32_t low = 0, high = o->n_stops;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (o->stops[middle] < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low < o->n_stops && o->stops[low] == pc;
}

#endif
