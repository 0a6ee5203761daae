/* record/recording.h - a recording, opened: its processes, threads, segments.
 *
 * A segment is what lies between two key frames of one thread: it begins with
 * a KEY record (the first of a thread: a START, then a KEY) and ends before
 * the next KEY, or where the thread's stream ends. The bytes of a stream are
 * untrusted: their checksums are right, but nothing in them is believed.
 *
 * Opening looks at chunk headers only; payloads are read and decompressed when
 * they are asked for. Memory stays bounded by a few chunks. Hosted. */
#ifndef RECORD_RECORDING_H
#define RECORD_RECORDING_H

#include "base/err.h"
#include "record/stream.h"
#include "wire/record.h"

#include <stddef.h>
#include <stdint.h>

struct recording; /* opaque */

int recording_open(const char *path, struct recording **out,
		   struct hark_err *err);
void recording_close(struct recording *r);
/* Its file: what else reads of it needs no other. */
int recording_fd(const struct recording *r);

/* The same of a file that is damaged: what stands before the damage. */
int recording_open_damaged(const char *path, struct recording **out,
			   struct hark_err *err);

/* 1: it ended as it should. 0: it was cut off; what is there is whole. */
int recording_is_complete(const struct recording *r);
/* What is damaged, and where; NULL: nothing, as far as was looked. */
const char *recording_damage(const struct recording *r);
/* Looks at every byte. -1: it is damaged. */
int recording_check(struct recording *r, struct hark_err *err);

struct recording_process {
	uint32_t number; /* in the file, from 1 */
	uint32_t parent; /* forked from it; 0: none. Not always smaller, and
			  * of a hostile file perhaps a circle */
	uint32_t pid;
	uint32_t n_threads;
	uint64_t serial;     /* of the parent's code that it began with */
	uint32_t previous;   /* the same process, before execve; 0: none */
	const char *exe;     /* the program's file; "": its parent's */
	const char *comm;    /* what it is called; "": not known */
	const char *command; /* its words, with blanks between; likewise */
};
unsigned recording_n_processes(const struct recording *r);
const struct recording_process *recording_process(const struct recording *r,
						  unsigned i);

struct recording_segment {
	uint32_t process, thread;   /* by their numbers */
	uint64_t count;		    /* of its KEY */
	uint64_t bytes;		    /* in the file */
	uint32_t is_first, is_last; /* of its thread */
	uint64_t time_ns;	    /* of its KEY */
};
/* In the order of process, thread, count. */
unsigned recording_n_segments(const struct recording *r);
const struct recording_segment *recording_segment(const struct recording *r,
						  unsigned i);

/* The records of one segment, or (thread 0) of one process, in order. */
struct recording_stream;
int recording_read_segment(struct recording *r, unsigned i,
			   struct recording_stream **out, struct hark_err *err);
int recording_read_process(struct recording *r, uint32_t process,
			   struct recording_stream **out, struct hark_err *err);
/* The mappings that a program began with: MAP records. */
int recording_read_maps(struct recording *r, uint32_t process,
			struct recording_stream **out, struct hark_err *err);
/* The next bytes, whole records only: 1. At the end: 0. -1: damaged. They are
 * the stream's until the next call. */
int recording_stream_next(struct recording_stream *s, const uint8_t **bytes,
			  size_t *len, struct hark_err *err);
/* Every event of it, which is closed then, in any case. Not 0 from visit ends
 * it, and is returned. */
typedef int recording_visit(void *ctx, const struct record_event *e,
			    struct hark_err *err);
int recording_each(struct recording_stream *s, enum record_kind kind,
		   recording_visit *visit, void *ctx, struct hark_err *err);
/* Over n pieces that recording_stream_next would give. */
void recording_stream_skip(struct recording_stream *s, uint32_t n);
void recording_stream_close(struct recording_stream *s);

/* The first META value of a key, or NULL; the nth (from 0). Of the END chunk:
 * the same. They live as long as the recording. */
const char *recording_meta(const struct recording *r, const char *key);
const char *recording_meta_nth(const struct recording *r, const char *key,
			       unsigned n);
const char *recording_end(const struct recording *r, const char *key);
/* Of its records: one that wire/record.h describes. */
unsigned recording_version(const struct recording *r);
/* Notes, in their order; NULL after the last. */
const char *recording_note(const struct recording *r, unsigned i);

/* What the processor of the recording had and this one lacks: 1, and a list of
 * names. 0: nothing. If the program has used it, replay will find out. */
int recording_cpu_missing(const struct recording *r, char *out, size_t size);
/* The same, of things without which there is no replay here at all. */
int recording_cpu_refuses(const struct recording *r, char *out, size_t size);

/* A file of code (or the vdso, debug information, a source file) that is in the
 * recording, or would be if it could have been read. */
struct recording_module {
	uint32_t number;
	uint32_t of;	      /* debug information: of this one; else 0 */
	uint32_t same;	      /* its bytes are those of this one; else 0 */
	const char *path;     /* as its process saw it */
	const char *kind;     /* file, vdso, debug, source */
	const char *dir;      /* of a source: compiled in it; "": not known */
	const char *build_id; /* in hexadecimal; "": none */
	uint64_t dev, ino, mtime_ns;
	uint64_t size; /* of its bytes; 0: they are not there */
};
unsigned recording_n_modules(const struct recording *r);
const struct recording_module *recording_module(const struct recording *r,
						unsigned i);
/* Its bytes, for the caller to free. */
int recording_read_module(struct recording *r, unsigned i, uint8_t **out,
			  size_t *len, struct hark_err *err);

struct recording_facts {
	uint64_t bytes, chunks; /* of the file, as far as it is whole */
	uint64_t thread_bytes;	/* what threads say, compressed */
	uint64_t code_bytes;	/* code and modules, compressed */
	uint32_t processes, threads;
	uint64_t key_frames, lost;
	int exit, signal; /* -1: not known */
};
void recording_facts(const struct recording *r, struct recording_facts *out);

#endif
