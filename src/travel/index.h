/* travel/index.h - which segments of a recording touch which addresses, and
 * places within long segments that one can begin at.
 *
 *	index.c		what is known, and asking it
 *	index_lines.c	lines of memory in blocks
 *	index_sections.c beginning in the middle of a segment
 *	index_known.c	what a thread knew of memory there
 *	index_build.c	a segment is replayed, and what it touched is noted
 *	index_harvest.c	reading that from the marks of a replay
 *	index_file.c	kept beside the recording
 *
 * A segment is divided into sections of some 20 ms. For each section it is
 * known which bytes were read and written, and what was left in those that
 * changed; for each segment, which words were executed, which signals came to
 * handlers, and which system calls were made. What it says may be too much,
 * never too little: callers look through the sections that it names. Hosted. */
#ifndef TRAVEL_INDEX_H
#define TRAVEL_INDEX_H

#include "base/err.h"
#include "record/recording.h"
#include "travel/events.h"

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

/* -- Sections -- */

/* Is it known what its sections left in memory? */
int index_has_values(struct index *x, unsigned segment);
/* How many there are that one can begin at; 1: the segment is one. */
unsigned index_sections(struct index *x, unsigned segment);
/* The count of its first instruction; of section 0, that of the key frame. */
uint64_t index_section_count(struct index *x, unsigned segment,
			     unsigned section);
/* The last that begins at a count or before it. */
unsigned index_section_at(struct index *x, unsigned segment, uint64_t count);
/* Of those before `end` the last that may have read or written (`what`) any of
 * these bytes; -1: none. */
int index_last_section(struct index *x, unsigned segment, unsigned end,
		       unsigned what, uint64_t address, uint64_t len);

/* The first one from there on. */
int index_next_section(struct index *x, unsigned segment, unsigned from,
		       unsigned what, uint64_t address, uint64_t len);

/* The begin of a section of a thread. */
struct index_place {
	unsigned segment, section;
};

/* What a thread knew of some memory, kept while it is asked for more. */
struct index_known; /* opaque */
struct index_known *index_known_new(void);
void index_known_free(struct index_known *k);

/* What the thread knew of a byte of the shadow's index at a place because it
 * had touched it after `since`: 1; 0: nothing. -1: the index is damaged, or
 * there is no memory. Segments [since->segment, *rest) were not asked, because
 * there are no values of segment *rest - 1; there are none if *rest is
 * since->segment. (Bytes that were touched before `since` in its segment, too,
 * may count as not known, unless they were forgotten since.) */
int index_known_byte(struct index *x, struct index_known *known,
		     const struct index_place *since,
		     const struct index_place *at, uint32_t index, uint8_t *out,
		     unsigned *rest);

/* A thread at the begin of a section that is not the first. */
struct index_state {
	struct wire_rec_state state;
	uint64_t count, epoch, n_events;
	struct events_mark mark;
	uint32_t xstate_len, pad;
	uint8_t xstate[WIRE_XSTATE_MAX];
};
/* -1: there are no values, or they are damaged. */
int index_begin_at(struct index *x, unsigned segment, unsigned section,
		   struct index_state *out);
/* Of a shadow that was clear when its thread began at section `first`, and now
 * comes to the begin of `section`: what that one needs is put there, unless one
 * since the first has needed it, too. -1: it is damaged. */
int index_load(struct index *x, unsigned segment, unsigned first,
	       unsigned section, uint8_t *shadow);

/* -- Making -- */

struct hark_recording;
/* Asked some times a second; not 0: it is given up. */
typedef int index_progress(void *ctx, unsigned done, unsigned n);
/* Of segments [first, end), which are of one process: they are replayed, by
 * as many processes as there are processors. Those that cannot be stay
 * unknown. -1: it was given up (HARK_ETIME), or nothing could be done. */
int index_build(struct index *x, struct hark_recording *rec, unsigned first,
		unsigned end, index_progress *progress, void *ctx,
		struct hark_err *err);

/* -- A file -- */

/* What a file holds, if it is of the recording with this id. It is read as it
 * is needed, from the descriptor, which must stay open. */
void index_read(struct index *x, int fd, uint64_t id);
/* The whole of it into a file that others read. -1: it cannot be written. */
int index_write(const struct index *x, int fd, uint64_t id);
/* Beside the recording. 0: it is there. */
int index_store(const struct index *x, const char *path);

#endif
