/* engine/space.h - guest memory that is code, inside the engine.
 *
 * Which memory may be executed is known from hark (when the thread entered)
 * and from the program's system calls since. Code that the program could
 * change unseen must not be:
 *
 *	mapped writable, private   the page loses its right to be written while
 *				   it has translations; the write faults, the
 *				   translations go, the right comes back
 *	faulted often		   the page keeps the right; its blocks are
 *				   compared with their code at each entry
 *	mapped shared		   likewise, from the start
 *
 * S1  A page with BLOCK_LIVE blocks cannot be written through its address.
 * S2  A thread in a block whose code changes finishes it, as a CPU may.
 *     But a store in a page that executes itself ends its block.
 *
 * All belongs to the holder of engine.lock. */
#ifndef ENGINE_SPACE_H
#define ENGINE_SPACE_H

#include "engine/cache.h"
#include "engine/translate.h"

uint64_t space_size(void); /* of a struct space, zeroed, for space_start */
int space_start(struct engine *e);

/* How to translate at how->pc: fills in the rest. -1: this is no memory that
 * may be executed, as far as is known. */
int space_prepare(struct engine *e, struct translate_how *how);

/* The new block's pages know of it. -1: no memory. */
int space_cover(struct engine *e, uint32_t number);

/* The cache is empty: no page has blocks. */
void space_uncover(struct engine *e);

/* Is a BLOCK_CHECKED block still what the program's code says? */
int space_still(const struct block *b);

/* The instruction at pc was executed natively: its page is code. */
void space_learn(struct engine *e, uint64_t pc);

#endif
