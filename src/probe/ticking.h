/* probe/ticking.h - clocks of a process's threads.
 *
 * A clock is an event of the kernel's (perf_event_open) that counts the CPU
 * time of one thread and of those that it makes, and sends SIGTRAP to a thread
 * that has used up another period; native/tick.c has the rest. It is
 * hark's: if hark ends, so does it. With children followed, what fork makes
 * has one, too; execve ends it. Where hark may have no events, it is a timer
 * of each thread (native/timer.c), which is worse.
 *
 * P1  Clocks are started while the process is held and can take their signal;
 *     they are stopped before it cannot any longer.
 *
 * Hosted. By the thread that holds the process. */
#ifndef PROBE_TICKING_H
#define PROBE_TICKING_H

#include "outside/door.h"
#include "probe/insert.h"
#include "probe/session.h"

struct ticking;

/* follows: children of fork, too. */
int ticking_new(uint64_t period_ns, bool follows, struct ticking **out,
		struct hark_err *err);
void ticking_free(struct ticking *t);

uint64_t ticking_period(const struct ticking *t);
/* COLLECT_*, for a process that is to have clocks. */
uint32_t ticking_flags(const struct ticking *t);
/* All threads of a process that is held, with that in it. */
int ticking_start(struct ticking *t, struct door *d, const struct insertion *in,
		  struct hark_err *err);
void ticking_stop(struct ticking *t);
/* Those of one process, which is about to be another program; were there any?
 * (Of clocks that it has from its parent nothing is known here, and those that
 * it shares with its children stay.) */
bool ticking_stop_one(struct ticking *t, pid_t pid);

/* hark has an event open for each thread that was there: as many files as may
 * be. */
void ticking_allow_files(void);
/* -1: the kernel gives no events, and why that may be. */
int ticking_denied(const char *what, int why, struct hark_err *err);
/* HARK_CLOCK=timer, for tests: as if the kernel gave none. */
bool ticking_has_no_events(void);

/* Which clock it is; after ticking_stop: how much of it has run. */
void ticking_clock(const struct ticking *t, struct session_clock *out);

#endif
