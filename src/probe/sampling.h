/* probe/sampling.h - clocks of a process's threads, and what they bring.
 *
 * A clock is an event of the kernel's (perf_event_open) that counts the CPU
 * time of one thread and of those that it makes, and sends SIGTRAP to a thread
 * that has used up another period; probe/native_sample.c has the rest. It is
 * hark's: if hark ends, so does it. With children followed, what fork makes
 * has one, too; execve ends it. Where hark may have no events, it is a timer
 * of each thread (probe/native_timer.c), which is worse.
 *
 * P1  Clocks are started while the process is held and can take their signal;
 *     they are stopped before it cannot any longer.
 *
 * Hosted. By the thread that holds the process. */
#ifndef PROBE_SAMPLING_H
#define PROBE_SAMPLING_H

#include "outside/door.h"
#include "probe/board.h"
#include "probe/insert.h"
#include "probe/session.h"

struct sampling;

/* p is borrowed. follows: children of fork, too. */
int sampling_new(const struct session_samples *p, bool follows,
		 struct image *image, struct sampling **out,
		 struct hark_err *err);
void sampling_free(struct sampling *s);

/* COLLECT_*, for a process to be sampled. */
uint32_t sampling_flags(const struct sampling *s);
/* All threads of a process that is held, with that in it. */
int sampling_start(struct sampling *s, struct door *d,
		   const struct insertion *in, struct hark_err *err);
void sampling_stop(struct sampling *s);
/* Those of one process, which is about to be another program; were there any?
 * (Of clocks that it has from its parent nothing is known here, and those that
 * it shares with its children stay.) */
bool sampling_stop_one(struct sampling *s, pid_t pid);

/* What is mapped in a process from now on: it has begun, or another program
 * has; or it may have changed. */
int sampling_maps(struct sampling *s, pid_t pid, bool is_new,
		  struct hark_err *err);

/* A sample, or a part of one. */
int sampling_record(struct sampling *s, const struct board_record *r,
		    struct hark_err *err);

/* Which clock it is; after sampling_stop: how much of it has run. */
void sampling_clock(const struct sampling *s, struct session_clock *out);

#endif
