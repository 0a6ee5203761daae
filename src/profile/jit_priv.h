/* profile/jit_priv.h - names of code that a program has made itself. */
#ifndef PROFILE_JIT_PRIV_H
#define PROFILE_JIT_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct jit; /* opaque */

/* What /tmp/perf-PID.map or jit-PID.dump says, if it is there, belongs to this
 * user or to root, and was written after the profile began (seconds since
 * 1970). NULL: there is none that can be used. */
struct jit *jit_open(int pid, int64_t began);
void jit_close(struct jit *j);

/* The function at that address; NULL: none is known. Lives as long as j. */
const char *jit_name(const struct jit *j, uint64_t addr);

#endif
