/* outside/press.h - chunks are compressed by many and written in order.
 *
 * Whoever has bytes for the file fills a job and adds it; a few threads press
 * (compress, checksum) jobs in parallel, and whichever has pressed the oldest
 * writes it, and those behind it that are ready. So the file has the order in
 * which jobs were added.
 *
 * R1  Adding never waits. Who adds looks at press_load before it makes more.
 * R2  How hard is pressed depends on how much comes, and waits: pace.h.
 * R3  When the file cannot be written any more that is said once, and jobs
 *     are taken and thrown away from then on: nobody ever waits for it.
 * R4  With a limit (ring mode) thread data is kept in memory, and of that only
 *     the newest, in whole segments; it is written when the end comes.
 * R5  Threads are made by press_start and by each other, not by who adds: that
 *     one may be bound, just then, to the CPU that the program runs on, and
 *     what it makes would be, too, for good.
 * R6  The program goes first.
 * Hosted. */
#ifndef OUTSIDE_PRESS_H
#define OUTSIDE_PRESS_H

#include "base/err.h"
#include "outside/file.h"

#include <stdint.h>

struct press; /* opaque */

struct press_plan {
	struct file_writer *file; /* becomes the press's */
	uint64_t keep;		  /* R4: bytes; 0: all goes to the file */
	void *ctx;
	/* R3; by any thread. */
	void (*failed)(void *ctx, const char *why);
};

int press_new(const struct press_plan *plan, struct press **out,
	      struct hark_err *err);
/* Before this, jobs wait. Threads do not outlive a fork: not before it. */
int press_start(struct press *p, struct hark_err *err);
/* What was added and is not written yet is thrown away. */
void press_free(struct press *p);
/* The same, and the file is removed. */
void press_discard(struct press *p);

/* A file that jobs are read of; closed when the last of them is done. */
struct press_source {
	int fd;	    /* owned */
	unsigned n; /* jobs, and who opened it */
};

struct press_job {
	enum wire_chunk_type type;
	uint32_t process, thread;
	uint8_t has_key;
	int level; /* 0: as R2 says; else at most that */
	struct wire_file_key key;
	uint8_t *bytes; /* owned */
	size_t len, room;
	struct press_source *source; /* shared: bytes are read of it, by ... */
	uint64_t source_offset;	     /* ... whoever presses; or NULL */
	/* Private. */
	uint8_t state, has_packed;
	struct press_job *next;
	struct file_packed packed;
};

/* An empty one, or NULL: no memory. */
struct press_job *press_job(struct press *p);
void press_job_free(struct press *p, struct press_job *j);
/* The descriptor becomes the source's, even if there is no memory (NULL). Who
 * has made its last job of it leaves it. */
struct press_source *press_source(int fd);
void press_source_leave(struct press *p, struct press_source *s);
/* len bytes of it, at offset. */
void press_job_read(struct press *p, struct press_job *j,
		    struct press_source *s, uint64_t offset, size_t len);
/* Room for len bytes behind those that are there, or -1. */
int press_job_fit(struct press_job *j, size_t len);
int press_job_append(struct press_job *j, const void *bytes, size_t len);

/* Takes it over. */
void press_add(struct press *p, struct press_job *j);

/* Bytes that wait. */
uint64_t press_load(struct press *p);
/* Until no more than that wait. */
void press_wait(struct press *p, uint64_t most);
int press_has_failed(struct press *p);
/* The file is not waited for any more (file_writer_abandon). */
void press_abandon(struct press *p);
uint64_t press_written(struct press *p);
/* R4: segments that had to go; and that are left, in the end. */
uint64_t press_dropped(struct press *p);
uint64_t press_kept(struct press *p);

#endif
