/* outside/recorder.h - what recorded programs say, into one file.
 *
 * A source is one program that was entered: its channel, with a ring for each
 * thread and process. A thread of hark's drains all sources, sorts the bytes
 * into streams, cuts those into chunks at key frames and every so often, and
 * hands them to the press (outside/press), which writes them.
 *
 *   rings ---drain---> streams ---cut---> press ---> file
 *
 * C1  Every byte that was committed gets into the file, in the order of its
 *     stream, whatever becomes of its thread; unless a note there says why
 *     not (a ring that broke its rules, a file that could not be written).
 * C2  A program waits for hark only while its ring is full.
 * C3  Whatever happens here, programs go on: the file is given up, not they.
 * C4  A chunk that begins with a KEY says so in its header; no other KEY is
 *     in it.
 * C5  Code is in the file before what a thread did with it: cut off anywhere,
 *     a recording can be replayed to its end.
 *
 * All by the main thread, unless said otherwise. Hosted. */
#ifndef OUTSIDE_RECORDER_H
#define OUTSIDE_RECORDER_H

#include "base/err.h"
#include "outside/drain.h"

#include <stdint.h>
#include <sys/types.h>

struct recorder;	/* opaque */
struct recorder_source; /* opaque */

struct recorder_plan {
	struct file_writer *file; /* becomes the recorder's */
	char *const *argv;	  /* borrowed: the command */
	uint64_t key_every;	  /* 0: as it suits */
	uint64_t keep;		  /* bytes of thread data, the newest; 0: all */
	int bundle_debug;
	void *ctx;
	/* One line for a person; by any thread. */
	void (*note)(void *ctx, const char *text);
};

/* The file is begun; on failure it is discarded. */
int recorder_open(const struct recorder_plan *plan, struct recorder **out,
		  struct hark_err *err);
/* Its thread: not before the last fork. The caller gets a SIGCHLD when the
 * file is whole. */
int recorder_start(struct recorder *r, struct hark_err *err);

/* What a channel for recording must look like. */
const struct wire_geometry *recorder_geometry(const struct recorder *r);

/* A program is held at its beginning; its channel is laid out. */
int recorder_meet(struct recorder *r, pid_t pid, struct drain *d,
		  struct recorder_source **out, struct hark_err *err);
/* It runs; the drain is the recorder's from now on. Or it does not run. */
void recorder_join(struct recorder_source *s, struct drain *d);
void recorder_forget(struct recorder_source *s);

/* hark's mapping away for a moment, to learn whether anybody else has one;
 * then: somebody has, or nobody, and that was all of it (it is freed). */
void recorder_hide(struct recorder_source *s);
void recorder_show(struct recorder_source *s, int gone);

/* Nobody is to write any more; what is there goes to the file, and the end
 * with the program's wait status (-1: not known). Then wait for SIGCHLD until
 * recorder_is_done. All sources are gone then. */
void recorder_finish(struct recorder *r, int status);
int recorder_is_done(const struct recorder *r);

/* Does everything wait for somebody who should read the file, and does not? The
 * caller gets a SIGCHLD when it begins to be so. */
int recorder_is_stuck(const struct recorder *r);
/* Then: nobody waits any more. The recording ends, the program goes on. */
void recorder_abandon(struct recorder *r);

struct recorder_totals {
	uint64_t bytes; /* in the file */
	uint32_t processes, threads;
	uint64_t lost;	  /* bytes and streams that are not in it */
	uint64_t dropped; /* segments that `keep` left no room for */
	uint64_t kept;	  /* those that it did, in the end */
	int failed;	  /* it could not be written to its end */
};
void recorder_close(struct recorder *r, struct recorder_totals *out);
/* Nothing came of it: the file goes, too. */
void recorder_discard(struct recorder *r);

#endif
