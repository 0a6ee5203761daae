/* image/keep.h - what was worked out of a file, kept on disk for the next time.
 *
 * Large files take long to understand, and are the same each time. What hark
 * has made of one is kept under its build-id in a directory of the user's own:
 * the one that $HARK_CACHE names ("off": none), else hark in $XDG_CACHE_HOME,
 * else in ~/.cache. Nobody depends on it: where there is no such directory, or
 * no room, or what is there is damaged, things are made anew.
 *
 * K1  Only what this user has written is read: directory and file belong to
 *     who asks, nobody else may write to them, and neither is a link.
 * K2  A sum covers every byte and the build-id; source, a hash of what the
 *     thing was made from, must be the same. A build-id alone is not believed:
 *     tools that rewrite programs leave it as it was.
 * K3  A file is written beside and renamed: it is there as a whole or not.
 * K4  All files together have at most KEEP_MAX bytes, and there are at most
 *     KEEP_FILES; what was not used for the longest time goes first.
 *
 * What was read may still be anything that its writer put there with a right
 * sum: whoever reads it checks it. Hosted. */
#ifndef IMAGE_KEEP_H
#define IMAGE_KEEP_H

#include "base/heap.h"

#include <stdint.h>

enum { KEEP_MAX = 256 << 20, KEEP_FILES = 1024 };

struct keep;

/* NULL: nothing is kept (no place for it, or no memory). Nothing is made or
 * opened yet. */
struct keep *keep_new(void);
void keep_free(struct keep *k);

struct keep_key {
	const uint8_t *id; /* borrowed: a build-id */
	size_t id_len;
	const char *kind; /* borrowed: of what, and its version; [a-z0-9] */
	uint64_t source;
};

/* *len bytes from heap; NULL: there is nothing that could be used. k may be
 * NULL. */
void *keep_load(struct keep *k, const struct keep_key *key,
		const struct heap *heap, size_t *len);
/* As well as it goes. k may be NULL. */
void keep_save(struct keep *k, const struct keep_key *key, const void *bytes,
	       size_t len);

#endif
