/* image/reach.h - opening files as a process could that named them.
 *
 * A program, its debug information and its links name files: sources, debug
 * files, parts of them. hark may have more rights than the process, and another
 * root directory, so it would read for the process what the process cannot
 * read. A reach is what one process can open: its root directory, its user, its
 * groups, and its rights to overrule permissions.
 *
 * R1  A path is looked up below the process's root, with its rights: also
 *     through links and "..".
 * R2  Only regular files are opened, and not those of /proc. What a path leads
 *     to is looked at before it is opened: no device, pipe or socket ever is.
 * R3  If hark cannot do so (it may not change its rights; the kernel has no
 *     openat2 and the roots differ), nothing is opened.
 *
 * Threads: rights are changed for the calling thread alone, and changed back
 * before it returns. Hosted. */
#ifndef IMAGE_REACH_H
#define IMAGE_REACH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct reach;

/* What the process reaches now. A process of a set-uid program counts as the
 * user who started it. *began tells it from another one that gets its number
 * later. HARK_EGONE: there is no such process, or hark may not look. */
int reach_new(int pid, struct reach **out, uint64_t *began,
	      struct hark_err *err);
/* Nothing at all. NULL: no memory. */
struct reach *reach_nothing(void);
void reach_free(struct reach *r);
bool reach_is_same(const struct reach *a, const struct reach *b);

/* A descriptor for reading, or -1. Without a reach (NULL) the file is hark's
 * own business: its own rights and root count, and R2. */
int reach_open(const struct reach *r, const char *path, struct hark_err *err);
/* The same without a reach, and not if the last part of the path is a link. */
int reach_open_unlinked(const char *path);

#endif
