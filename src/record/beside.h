/* record/beside.h - small files that lie beside a recording.
 *
 * What was found out about it and took long: `FILE.count`, `FILE.index`. They
 * can be made again, so they may be missing, stale or damaged: whoever reads
 * one holds it against the recording's id, and believes nothing. Hosted. */
#ifndef RECORD_BESIDE_H
#define RECORD_BESIDE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The random number in the header of the recording. */
int beside_id(const char *path, uint64_t *out);
/* All of the file, at most so many bytes, and a NUL behind it; for the caller
 * to free. -1: it is not there, or is larger. */
int beside_load(const char *path, const char *suffix, size_t most,
		uint8_t **out, size_t *len);
/* The same in two steps, for a process that can open nothing any more: a
 * descriptor that is the caller's to close; all that it holds. */
int beside_open(const char *path, const char *suffix);
int beside_read(int fd, size_t most, uint8_t **out, size_t *len);
/* It takes the place of the old one only when it is whole. -1: errno. */
int beside_store(const char *path, const char *suffix, const void *bytes,
		 size_t len);
/* The same of what a function writes. */
typedef int beside_write(void *ctx, int fd);
int beside_store_by(const char *path, const char *suffix, beside_write *f,
		    void *ctx);
void beside_remove(const char *path, const char *suffix);

#endif
