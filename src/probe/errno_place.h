/* probe/errno_place.h - where is a thread's errno?
 *
 * At a fixed distance from its fs base, which only the C library knows: its
 * function __errno_location is read. Hosted. */
#ifndef PROBE_ERRNO_PLACE_H
#define PROBE_ERRNO_PLACE_H

#include "image/modules.h"

/* The distance, or 0 if it is not known. The process has been relocated. */
int64_t errno_place(struct modules *m, int pid);

/* The same of the code of that function, of at least ERRNO_CODE bytes; with
 * *at not 0 the distance is what lies there, from the end of the code's first
 * instruction on. For tests, too. */
enum { ERRNO_CODE = 24 };
int64_t errno_place_of_code(const uint8_t *code, int64_t *at);

#endif
