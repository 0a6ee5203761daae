/* profile/reader.h - a profile's file, read.
 *
 * Nothing in it is believed: each number is checked before it leads anywhere.
 * A file that was cut off, or is damaged, gives what stands before that, and
 * says so. Memory is bounded by TREE_NODES_MAX and its like, whatever a small
 * file unpacks to. What is here is facts of the file; names come with
 * profile/show.h. Hosted. */
#ifndef PROFILE_READER_H
#define PROFILE_READER_H

#include "base/arena.h"
#include "base/err.h"
#include "image/modules.h"
#include "outside/file.h"
#include "present/stacks.h"
#include "profile/profile.h"
#include "profile/tree.h"

#include <stdbool.h>

enum {
	PROFILE_SAMPLES_MAX = 1 << 26,
	PROFILE_THREADS_MAX = 1 << 22,
	PROFILE_MODULES_MAX = 1 << 20,
	PROFILE_REASONS_MAX = 64,
	PROFILE_NOTES_MAX = 64,
	PROFILE_TEXT_MAX = 256 << 20, /* bytes of all words together */
};

struct profile_lost_by {
	const char *reason;
	uint64_t n;
};

/* What there is to know without a look at the stacks. */
struct profile_facts {
	const char *command; /* its words, with blanks between; or "" */
	const char *hark;    /* the version that wrote it */
	enum profile_clock clock;
	uint64_t period_ns;
	int64_t time;	      /* seconds since 1970; 0: not known */
	uint64_t duration_ns; /* if it was cut off: to the last sample */
	uint64_t cpu_user_ns, cpu_system_ns; /* 0: not known */
	uint64_t samples, weight, threads, processes, lost;
	uint64_t checked, differing; /* of the samples; 0: none was checked */
	uint64_t bytes, chunks;	     /* of the file, as far as it is whole */
	int exit, signal;	     /* -1: not known */
	bool is_complete;
	const struct profile_lost_by *lost_by;
	size_t n_lost_by;
	const char *damage; /* NULL: none was found */
};

struct profile_module {
	const char *path;
	const uint8_t *id;
	size_t id_len; /* 0: none */
	int64_t mtime_ns;
	enum module_kind kind;
	int pid; /* whose it is, if no file is behind it; else 0 */
	bool main;
};

/* All owned by it; read only. */
struct profile {
	struct profile_facts facts;
	struct profile_module *modules; /* of number i + 1 */
	struct stacks_thread *threads;	/* likewise; a sample has i */
	struct tree_frame *frames;
	struct tree_node *nodes;
	struct stacks_sample *samples; /* in the order of time */
	size_t n_modules, n_threads, n_frames, n_nodes, n_samples;
	const char **notes;
	size_t n_notes;
	struct arena arena; /* strings */
};

/* What the first chunk says the file is, as "recording"; "" if it does not. */
int profile_kind(const char *path, char out[32], struct hark_err *err);

/* "-" is standard input. HARK_EINPUT if it is no profile. */
int profile_open(const char *path, struct profile **out, struct hark_err *err);
/* The facts alone, in little memory: there are no samples, threads, nodes. */
int profile_open_facts(const char *path, struct profile **out,
		       struct hark_err *err);
void profile_free(struct profile *p);

/* Samples a second of its clock that were asked for; 0: not known. */
double profile_rate(const struct profile_facts *f);

#endif
