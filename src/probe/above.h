/* probe/above.h - how far is rbp above rsp?
 *
 * Of a thread that waits hark knows rsp and rip, and no other register. A
 * caller with a frame pointer counts from rbp, which its callees need not have
 * saved. But its code tells: behind the prologue, where rbp has become rsp,
 * compilers move rsp by constants. All ways from there to an instruction are
 * followed; if they agree the answer is certain, else there is none (alloca,
 * aligned frames).
 *
 * Pure. */
#ifndef PROBE_ABOVE_H
#define PROBE_ABOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ABOVE_MAX = 1 << 16 }; /* bytes of code that are looked at */

/* code[0] is where rbp is `at_start` above rsp, len bytes of it are there; how
 * far is it at the instruction that begins at `where`? work has len words. */
bool above_find(const uint8_t *code, uint32_t len, int32_t at_start,
		uint32_t where, int32_t *work, int32_t *out);

#endif
