/* outside/limit.h - files that are none.
 *
 * Files that hark was told to keep small (ulimit -f) are files on a disk: the
 * image and the channel, which are memory, are none. Hosted. */
#ifndef OUTSIDE_LIMIT_H
#define OUTSIDE_LIMIT_H

#include <sys/resource.h>

/* As far as hark is free to say so; was: to be put back by limit_restore. */
void limit_lift_files(struct rlimit *was);
void limit_restore_files(const struct rlimit *was);
/* How large such a file may be, then; RLIM_INFINITY: as it likes. */
rlim_t limit_of_files(void);

#endif
