/* probe/switches.h - when do threads stop running, and go on?
 *
 * The kernel writes a record each time a thread of the process leaves a
 * processor or comes to one (perf_event_open, .context_switch), which needs no
 * privilege and which the thread does not notice. Threads that are made have
 * it from their maker, with children followed what fork makes, too, and it
 * stays through execve.
 *
 * W1  Of each thread, records come in the order in which things happened, all
 *     of them or with a SWITCH_LOST before those that follow a gap.
 * W2  Once switches_read() was asked up to some moment, a thread of which
 *     nothing newer has come has not run between.
 *
 * Hosted. */
#ifndef PROBE_SWITCHES_H
#define PROBE_SWITCHES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum switch_kind {
	SWITCH_OUT,   /* it waits */
	SWITCH_READY, /* another one runs in its place */
	SWITCH_IN,
	SWITCH_EXIT, /* the thread has ended */
	SWITCH_EXEC, /* the process is another program */
	SWITCH_LOST, /* .n records were: of any thread */
};

struct switch_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t n;
	pid_t pid, tid;
	uint32_t order; /* of those with one time, in one ring */
	uint8_t kind;	/* enum switch_kind */
};

struct switches;

/* -1 and errno: the kernel gives no such records. */
int switches_new(bool follows, struct switches **out);
void switches_free(struct switches *s);

/* A thread, and all that it makes. -1 and errno. */
int switches_watch(struct switches *s, pid_t tid);

/* What has happened up to that moment, which is not in the future. -1 from see
 * ends it and is returned. */
int switches_read(struct switches *s, uint64_t until_ns,
		  int (*see)(void *ctx, const struct switch_event *e,
			     struct hark_err *err),
		  void *ctx, struct hark_err *err);

#endif
