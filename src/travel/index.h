/* travel/index.h - which segments of a recording touch which addresses.
 *
 *	index.c		what is known, and asking it
 *	index_build.c	a segment is replayed, and what it touched is noted
 *	index_file.c	kept beside the recording
 *
 * For each segment three sets of words of 8 bytes: read, written, executed;
 * and which signals came to handlers, and which system calls were made.
 * What it says may be too much, never too little: whoever asks looks through
 * the segments that it names. Hosted. */
#ifndef TRAVEL_INDEX_H
#define TRAVEL_INDEX_H

#include "base/err.h"
#include "record/recording.h"

#include <stddef.h>
#include <stdint.h>

enum {
	INDEX_READ = 1,
	INDEX_WRITTEN = 2,
	INDEX_EXECUTED = 4,
	INDEX_KINDS = 3,
};

struct index; /* opaque */

/* Nothing is known of any segment. NULL: no memory. */
struct index *index_new(unsigned n_segments);
void index_free(struct index *x);

int index_has(const struct index *x, unsigned segment);
/* May it have done any of `what` to any of these bytes? 1, also if it is not
 * known. */
int index_may(struct index *x, unsigned segment, unsigned what,
	      uint64_t address, uint64_t len);

/* Sets the bit of each page of 4 KiB of the shadow's index that it may have
 * read or written; of 1 << 20. */
void index_mark_touched(struct index *x, unsigned segment, uint8_t *pages);

/* May a signal have come to a handler? 0: any. */
int index_may_signal(struct index *x, unsigned segment, int number);
/* May it have made such a system call? -1: any. */
int index_may_call(struct index *x, unsigned segment, int64_t number);

/* -- Making -- */

/* Asked some times a second; not 0: it is given up. */
typedef int index_progress(void *ctx, unsigned done, unsigned n);
/* Of segments [first, end) all that are not known yet: they are replayed, by
 * as many processes as there are processors. Those that cannot be stay
 * unknown. -1: it was given up (HARK_ETIME), or nothing could be done. */
int index_build(struct index *x, struct recording *r, unsigned first,
		unsigned end, index_progress *progress, void *ctx,
		struct hark_err *err);

/* -- A file -- */

/* What a file holds, if it is of the recording with this id; -1: there is no
 * file. */
void index_read(struct index *x, int fd, uint64_t id);
/* The whole of it into a file that others read. -1: it cannot be written. */
int index_write(const struct index *x, int fd, uint64_t id);
/* Beside the recording, as fine as it may be in `most` bytes. 0: it is there.
 */
int index_store(const struct index *x, const char *path, size_t most);

#endif
