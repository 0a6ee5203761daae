/* outside/recorder_priv.h - what the files of the recorder share. */
#ifndef OUTSIDE_RECORDER_PRIV_H
#define OUTSIDE_RECORDER_PRIV_H

#include "outside/file.h"
#include "outside/press.h"
#include "outside/recorder.h"
#include "wire/record.h"

#include <pthread.h>

enum stream_kind {
	STREAM_NEW, /* nothing has come yet */
	STREAM_THREAD,
	STREAM_PROCESS,
	STREAM_BROKEN, /* what comes is thrown away */
};

/* What comes out of one ring, from its opening to its end. */
struct stream {
	struct press_job *job; /* owned: being filled; NULL: empty */
	uint8_t kind;	       /* enum stream_kind */
	uint8_t awaits_key;    /* START was there; KEY is next */
	uint32_t process, thread;
	int64_t since_ns; /* when the first bytes of job came */
	uint64_t segment_bytes, segment_count; /* since its KEY; of its KEY */
};

/* A process: its number in its channel, and in the file. */
struct pair {
	uint32_t theirs, ours;
	uint8_t inside; /* where ids are others: hark cannot look for it */
	uint8_t over;	/* it is gone, and nothing of it is left in rings */
};

struct recorder_source {
	struct recorder *recorder; /* borrowed */
	struct drain *drain;	   /* owned */
	struct stream *streams;	   /* owned: one a ring */
	uint32_t n_rings, room_rings;
	pid_t pid;
	struct pair *pairs; /* owned */
	uint32_t n_pairs, room_pairs;
	struct file_text program;     /* of its first process; then empty */
	struct press_job *maps;	      /* owned: likewise; then NULL */
	struct press_job *ready;      /* owned: chunks of threads, for C5 ... */
	struct press_job *last_ready; /* ... the last of them */
	uint8_t inside;		      /* the program's ids are not hark's */
	uint64_t key_every;	      /* counts; 0: it is not hark's choice */
	int64_t reclaimed_ns;	      /* when rings were last looked through */
	uint32_t heard;		      /* the bell */
	uint32_t ring;		      /* that bytes come out of, in this pass */
	uint64_t ring_bytes;	      /* so far */
	uint64_t most;		      /* out of one ring */
};

struct recorder {
	struct recorder_plan plan;
	struct wire_geometry geometry;
	struct press *press;		  /* owned */
	pthread_mutex_t lock;		  /* over sources, and whoever drains */
	struct recorder_source **sources; /* owned */
	unsigned n, room;
	pthread_t thread;
	pid_t main;    /* who is told of the end */
	int started;   /* there is a thread */
	uint32_t turn; /* futex: the thread has something new to look at */
	uint32_t end;  /* finish; done */
	int failed;    /* the file: what comes is thrown away */
	int stuck;     /* it goes into a pipe that nobody reads, lately */
	int status;    /* of the program */
	uint32_t processes, threads;
	uint64_t lost;
	uint32_t *pids; /* owned: of process i + 1 */
	uint32_t room_pids;
	struct module_id *modules; /* owned: that are in the file */
	uint32_t n_modules, room_modules;
	struct image *image; /* owned: their build-ids; NULL: none yet */
	struct image_file **bundled; /* owned: whose sources are wanted */
	uint32_t n_bundled, room_bundled;
};

/* Which file a module is of. */
struct module_id {
	uint64_t dev, ino, size, mtime_ns;
	uint64_t hash; /* of its build-id, or of its bytes; 0: it has none */
	uint64_t path; /* a hash of it */
	uint32_t same; /* the module that has its bytes; 0: itself */
};

/* -- recorder_stream.c: bytes into chunks -- */

/* Bytes of one ring; a drain_sink, ctx is the source. */
int stream_take(void *ctx, uint32_t ring, uint32_t tid, const uint8_t *bytes,
		uint32_t len, struct hark_err *err);
/* Nothing more comes; a drain_end. */
void stream_end(void *ctx, uint32_t ring, int damaged);
/* Chunks that wait too long for more bytes are ready. */
void stream_cut_old(struct recorder_source *s, int64_t now_ns);
/* Rings of processes that are gone, when few are left. */
void stream_reclaim(struct recorder_source *s, int64_t now_ns);
/* C5: chunks that are ready go to the press, code first. */
void stream_release(struct recorder_source *s);

/* -- recorder_key.c: how far apart key frames are -- */

/* What a program is told at first; 0: as it suits. */
uint64_t recorder_key_first(struct recorder_source *s);
/* A KEY of stream t. */
void recorder_key_seen(struct recorder_source *s, struct stream *t,
		       uint64_t count);
/* Now and then: have segments become too long? */
void recorder_key_look(struct recorder_source *s);

/* -- recorder_text.c: words -- */

/* The text becomes a chunk; it is freed. */
void recorder_put_text(struct recorder *r, enum wire_chunk_type type,
		       uint32_t process, uint32_t thread, struct file_text *t);
void recorder_put_note(struct recorder *r, uint32_t process, uint32_t thread,
		       const char *text);
int recorder_put_meta(const struct recorder_plan *plan, struct hark_err *err);
void recorder_put_end(struct recorder *r);
/* What a program is, while it is held. */
void recorder_read_program(pid_t pid, struct file_text *out);

/* -- recorder_cpu.c -- */

void recorder_add_cpu(struct file_text *t);

/* -- recorder_module.c: files of code, and where they are -- */

/* The mappings of a program that is held: a job for a MAPS chunk (NULL: no
 * memory). Its files of code go to the recording. */
struct press_job *recorder_read_maps(struct recorder *r, pid_t pid);
/* A process has mapped a file. With the lock. */
void recorder_see_map(struct recorder *r, uint32_t pid, const uint8_t *record);
void recorder_free_modules(struct recorder *r);
/* An open source file, by its path and the directory of its unit ("": none). */
struct stat;
void recorder_put_source(struct recorder *r, int fd, const struct stat *st,
			 const char *path, const char *dir);

/* -- recorder_bundle.c: source files -- */

struct image_file;
/* Its sources are wanted, too. */
void recorder_note_debug(struct recorder *r, struct image_file *f);
/* At the end: they go to the recording. */
void recorder_put_sources(struct recorder *r);

#endif
