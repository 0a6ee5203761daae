/* outside/native.h - every thread once through the image, then natively on.
 *
 * What `hark run --native` does, and what probe and profile begin with: enter
 * a process, let its threads report themselves through the channel, leave
 * nothing behind. Hosted. */
#ifndef OUTSIDE_NATIVE_H
#define OUTSIDE_NATIVE_H

#include "outside/launch.h"
#include "wire/channel.h"

#include <sys/types.h>

/* Whoever wants to know. */
struct native_watch {
	void *ctx;
	/* A thread came through; -1 gives up. */
	int (*visited)(void *ctx, const struct wire_visit *v,
		       struct hark_err *err);
	/* One line for a person: something runs unobserved, and why. */
	void (*note)(void *ctx, const char *text);
};

/* Threads of a process that hark holds (all it has, or some), once through;
 * then they are held as before. */
int native_pass(pid_t pid, const pid_t *tids, int n,
		const struct native_watch *w, struct hark_err *err);

/* Starts a program; its first thread passes; it runs, and nothing is attached
 * to it any more. On failure there is no program. */
int native_start(const struct launch *plan, const struct native_watch *w,
		 pid_t *out, struct hark_err *err);

/* All threads of a running process pass; nothing stays attached. */
int native_attach(pid_t pid, const struct native_watch *w,
		  struct hark_err *err);

#endif
