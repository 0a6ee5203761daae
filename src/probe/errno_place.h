/* probe/errno_place.h - where is a thread's errno?
 *
 * It lies at the same distance from the fs base in all threads, for it belongs
 * to the C library that the program was started with. Which distance, the
 * library's own __errno_location knows: some instructions that add a constant,
 * or a word that the loader has filled in, to the fs base. They are read, never
 * executed. Hosted. */
#ifndef PROBE_ERRNO_PLACE_H
#define PROBE_ERRNO_PLACE_H

#include "image/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The distance from the fs base, in a process whose libraries are relocated;
 * 0: not known. */
int64_t errno_place(struct modules *modules, int pid);

/* Of the code of a function at that address, as run: the distance from the fs
 * base that it returns; 0 if it returns something else, or cannot be read. word
 * reads eight bytes of the process. */
int64_t errno_place_of(const uint8_t *code, size_t len, uint64_t at,
		       bool (*word)(void *ctx, uint64_t addr, uint64_t *out),
		       void *ctx);

#endif
