/* engine/space.h - guest memory that is code, inside the engine.
 *
 * Which memory may be executed is known from hark (when the thread entered)
 * and from the program's system calls since. Blocks of code that can change
 * unseen (it is mapped writable, or shared with who knows whom) compare their
 * code with what was translated, inline, at each entry. The program's pages
 * are left as they are: the kernel writes to them for the program in too many
 * ways (reads, io_uring, a thread's end) for a taken right to go unnoticed.
 *
 * S1  A BLOCK_LIVE block's code is mapped read-only and private.
 * S2  A thread in a block whose code changes finishes it, as a CPU may. But a
 *     store in writable code ends its block, so that a program sees at once
 *     what it changes itself (pushes apart, if the stack is elsewhere).
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

/* Blocks on the pages of this code are gone: other code was found there. */
void space_kill(struct engine *e, uint64_t start, uint64_t end);

/* The cache is empty: no page has blocks. */
void space_uncover(struct engine *e);

/* Is a BLOCK_CHECKED block still what the program's code says? */
int space_still(const struct block *b);

/* The instruction at pc was executed natively: its page is code, unless
 * anything was forgotten since, which `then` tells. */
void space_learn(struct engine *e, uint64_t pc, uint64_t then);
uint64_t space_now(const struct engine *e);

#endif
