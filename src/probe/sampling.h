/* probe/sampling.h - stacks of threads that a clock has interrupted.
 *
 * A sample comes in parts (native/collect_sample.c), which are put together
 * here; and what was mapped in its process is told before it. Threads that wait
 * are seen from outside, and need no clock.
 *
 * Hosted. */
#ifndef PROBE_SAMPLING_H
#define PROBE_SAMPLING_H

#include "outside/door.h"
#include "probe/board.h"
#include "probe/insert.h"
#include "probe/session.h"

struct sampling;

/* p and image are borrowed. follows: children of fork, too. */
int sampling_new(const struct session_samples *p, bool follows,
		 struct image *image, struct sampling **out,
		 struct hark_err *err);
void sampling_free(struct sampling *s);

/* Of those that are checked: stacks that were put together wrong. */
uint64_t sampling_differing(const struct sampling *s);

/* Waits of a process that is held, with that in it; of those that come from it,
 * too. */
int sampling_watch(struct sampling *s, const struct door *d,
		   const struct insertion *in, const struct board *b,
		   struct hark_err *err);
/* Those that wait are looked at; again and again, as often as .period_ns. */
int sampling_step(struct sampling *s, struct hark_err *err);
/* How long hark may sleep. */
uint64_t sampling_rest(const struct sampling *s);
/* hark has held a process since then, which that has waited for. */
void sampling_held(struct sampling *s, pid_t pid, int64_t since_ns);
/* All waits count, as far as they have come. */
int sampling_finish(struct sampling *s, struct hark_err *err);
void sampling_stop(struct sampling *s);
void sampling_waits(const struct sampling *s, struct session_waits *out);

/* What is mapped in a process from now on: it has begun, or another program
 * has; or it may have changed. */
int sampling_maps(struct sampling *s, pid_t pid, bool is_new,
		  struct hark_err *err);

/* A sample, or a part of one. */
int sampling_record(struct sampling *s, const struct board_record *r,
		    struct hark_err *err);
/* Are the stacks of the first thread, that it is all about, so deep that to
 * compare them costs, and stay so? */
bool sampling_is_deep(const struct sampling *s);
/* There are no more for now: which threads have ended? */
int sampling_pause(struct sampling *s, const struct board *b,
		   struct hark_err *err);

/* What is mapped in a process, if code that nobody had told of (a virtual
 * machine has made it) was found there since the last call; else NULL.
 * Borrowed. */
struct modules *sampling_found(struct sampling *s, pid_t pid);

#endif
