/* probe/calm.h - the kernel notes which pages of a stack are written.
 *
 * To follow a map (unwind/unwind.h) reads a word of each frame. Of stacks that
 * are thousands of frames deep nearly all pages are what they were, and the
 * kernel can tell which: memory is registered with a userfaultfd that protects
 * pages and opens them again by itself when they are written
 * (UFFD_FEATURE_WP_ASYNC, Linux 6.7), whoever writes, the kernel included, and
 * nobody is told or kept waiting. The thread asks before each sample what was
 * written since the last, and protects that anew (native/calm.c).
 *
 * This is the part that hark does, once, with the process held.
 *
 * A1  The descriptor is hark's, the program has none: it ends with hark, and
 *     the kernel then forgets all of it.
 * A2  Only of the one stack that the kernel makes itself, as a whole: no
 *     mapping is split, and it is nobody's but the process's own.
 * A3  Only of a process with one thread, since the question needs a descriptor
 *     for a moment; and with no seccomp, since the question could be its last.
 *     Threads that come, and filters, end it.
 *
 * Hosted. */
#ifndef PROBE_CALM_H
#define PROBE_CALM_H

#include "wire/collect.h"

#include <sys/types.h>

/* Tells the process by its plan. What keeps it so, to be closed; -1: this
 * kernel or this process cannot. */
int calm_open(pid_t pid, struct collect_plan *plan);

#endif
