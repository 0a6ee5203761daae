/* profile/profile.h - a profile's file, while it is written.
 *
 * Samples come as changes: of the stack before, `kept` frames from the
 * outermost on are still there, the others are new. The writer keeps, for each
 * thread and each of its stacks, the path of nodes in one calling-context
 * tree; a new frame is looked up under its parent; so a sample in the file is
 * a moment, a thread and the number of a node, whatever its depth. A frame is
 * a module and an address in it, as linked: processes share the tree.
 *
 * P1  Cut off at any byte, a file is readable to its last whole chunk: a node
 *     is in it before a sample that needs it, a module before its nodes.
 * P2  Nothing is lost silently: samples that were dropped are counted, in all
 *     and by reason.
 * P3  Whoever hands in samples is not believed: kept is checked.
 *
 * Hosted. By one thread. */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "base/err.h"
#include "image/modules.h"
#include "outside/file.h"

struct profile_writer;

enum profile_clock {
	PROFILE_CPU,	 /* a sample for so much CPU time of its thread */
	PROFILE_WALL,	 /* for so much time of the clock */
	PROFILE_OFF_CPU, /* weights are nanoseconds of waiting */
};

/* Borrowed, all but .file. */
struct profile_plan {
	struct file_writer *file; /* becomes the writer's */
	char *const *argv;	  /* NULL: it ran already */
	enum profile_clock clock;
	uint64_t period_ns; /* asked for */
	uint64_t began_ns;  /* CLOCK_MONOTONIC: times of samples count from */
};

int profile_create(const struct profile_plan *p, struct profile_writer **out,
		   struct hark_err *err);

/* A process, and what is mapped in it from now on; again whenever that has
 * changed (dlopen, exec). pid is as hark sees it. */
int profile_maps(struct profile_writer *w, int pid, struct modules *modules,
		 struct hark_err *err);
/* A thread's name; may be told again. */
int profile_thread(struct profile_writer *w, int pid, int tid, const char *name,
		   struct hark_err *err);
/* It is gone: its number may come again as another one. */
void profile_thread_gone(struct profile_writer *w, int pid, int tid);

struct profile_frame {
	uint64_t pc;
	uint8_t is_return; /* pc is behind the call, not where it was */
	uint8_t how;	   /* ORDER unwind_how: 0, 1 certain; 2, 3 guessed */
};

struct profile_sample {
	int pid, tid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t weight;  /* 1; or nanoseconds */
	uint32_t map;	  /* which stack of the thread: below PROFILE_STACKS */
	uint32_t kept;
	const struct profile_frame *frames; /* new ones, the outermost first */
	uint32_t n;
	uint8_t end; /* ORDER unwind_end: 0: whole; or one of those below */
};
/* There is no stack: of a wait that was over before anybody looked; of a
 * thread that could run and had no processor. */
enum { PROFILE_SHORT = 4, PROFILE_READY };
enum { PROFILE_STACKS = 8 };

/* HARK_EINPUT if kept is more than there was. */
int profile_put(struct profile_writer *w, const struct profile_sample *s,
		struct hark_err *err);
/* Samples that there are no more words about. */
void profile_lost(struct profile_writer *w, const char *reason, uint64_t n);
/* Something that a person should know. */
int profile_note(struct profile_writer *w, const char *text,
		 struct hark_err *err);
/* What was gathered gets into the file: now; or if a second has passed, which
 * is to be asked when no sample comes, too. */
int profile_flush(struct profile_writer *w, struct hark_err *err);
int profile_flush_due(struct profile_writer *w, struct hark_err *err);

struct profile_ending {
	uint64_t ended_ns;
	uint64_t cpu_user_ns, cpu_system_ns; /* of the program; 0: not known */
	bool has_status;
	int status; /* as of wait() */
	/* Samples that were held against a plain walk, if any were to be. */
	bool is_checked;
	uint64_t checked, differing;
};
int profile_finish(struct profile_writer *w, const struct profile_ending *e,
		   struct hark_err *err);
void profile_close(struct profile_writer *w);

#endif
