/* inside/lockall.h - mlockall of a program with memory of hark's beside it.
 *
 * The kernel would lock hundreds of gigabytes of hark's reservations, and
 * counts them against the program's limit (RLIMIT_MEMLOCK) even if they are
 * not locked. So the mappings of the program are locked one by one, after the
 * limit was held against them alone. Freestanding. */
#ifndef INSIDE_LOCKALL_H
#define INSIDE_LOCKALL_H

#include <stdint.h>

enum { LOCKALL_CURRENT = 1, LOCKALL_FUTURE = 2, LOCKALL_ONFAULT = 4 };

struct lockall {
	/* The first part of [start, end) that is hark's. 0: there is none. */
	int (*meets)(const void *ctx, uint64_t start, uint64_t end,
		     uint64_t out[2]);
	const void *ctx;
	uint64_t own_bytes; /* all of hark's memory */
	uint64_t is_silent; /* nothing else may be asked of the kernel */
};

/* Are these flags that mlockall accepts, with MCL_CURRENT among them? */
int lockall_is_current(uint64_t flags);
/* Is the limit finite, for the program as it is now? */
int lockall_is_limited(void);

/* Locks the mappings of the program that there are, and what comes later only
 * if `flags` say so. 0, or what mlockall answers to a program without hark. */
int64_t lockall(const struct lockall *l, uint64_t flags);

#endif
