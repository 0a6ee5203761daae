/* probe/waits.h - how long threads wait, and where.
 *
 * A thread that waits does not change its stack: so one look at it, at any
 * moment of the wait, tells where the whole of it was spent. How long it was,
 * the kernel's records tell (probe/switches.h), of every wait. A look is
 * believed if the thread has not run before it was over.
 *
 * T1  Nothing is done to a thread, waiting or not.
 * T2  What a wait counts for goes to its own stack; if that was not seen, to no
 *     stack (SESSION_SHORT): nothing is guessed.
 * T3  Every wait counts once, whether it is over or goes on.
 *
 * What a wait counts for is nanoseconds, or with .period_ns the ticks of one
 * clock for all threads that fell into it. Hosted. */
#ifndef PROBE_WAITS_H
#define PROBE_WAITS_H

#include "probe/session.h"
#include "probe/switches.h"

struct waits;

/* A stack, the outermost frame first. */
struct wait_stack {
	struct session_frame *frames; /* owned by whoever has it */
	size_t room;
	uint32_t n;
	uint8_t end; /* enum unwind_end */
};

/* Borrowed. */
struct waits_plan {
	uint64_t period_ns; /* 0: waits count for nanoseconds */
	bool counts_ready;  /* time without a processor, too */
	/* The stack of a thread that waits, if it does; false: not seen. */
	bool (*look)(void *ctx, pid_t pid, pid_t tid, struct wait_stack *out);
	int (*put)(void *ctx, const struct session_sample *s,
		   struct hark_err *err);
	/* CLOCK_MONOTONIC */
	uint64_t (*now)(void);
	void *ctx;
};

int waits_new(const struct waits_plan *p, struct waits **out,
	      struct hark_err *err);
void waits_free(struct waits *w);

/* What has happened, in the order of W1. */
int waits_event(struct waits *w, const struct switch_event *e,
		struct hark_err *err);
/* Looks at those that wait and were not seen yet, as many as there is time
 * for. */
void waits_look(struct waits *w);
/* All that has happened up to a moment was told: waits that have gone on for
 * long count so far; last: all of them. */
int waits_count(struct waits *w, uint64_t until_ns, bool last,
		struct hark_err *err);

/* Has it not ended? */
bool waits_has(struct waits *w, pid_t pid, pid_t tid);
/* Whoever takes samples has forgotten the last one of this thread. */
void waits_forget(struct waits *w, pid_t pid, pid_t tid);

/* hark has held a process: what its threads waited for then was hark. */
void waits_held(struct waits *w, pid_t pid, uint64_t from_ns, uint64_t to_ns);

void waits_account(const struct waits *w, struct session_waits *out);

#endif
