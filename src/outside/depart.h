/* outside/depart.h - a process out of the engine, and natively on.
 *
 * The opposite of enter: all threads of a translated process are stopped where
 * nothing is half done, each gets its own registers, mask and stack back, the
 * process its signals; then image, channel and whatever the engine has mapped
 * are gone. A recorded thread has told its end. Hosted. */
#ifndef OUTSIDE_DEPART_H
#define OUTSIDE_DEPART_H

#include "base/err.h"
#include "outside/peer.h"
#include "outside/proc.h"

/* Where a process has its engine. */
struct depart_from {
	uint64_t start, end; /* the channel */
	struct wire_places places;
};
struct depart_from depart_from(const struct peer *p);

struct depart_how {
	void *ctx;
	/* Threads may want an answer meanwhile. */
	void (*meanwhile)(void *ctx);
};

/* Process pid goes on natively; 0 also if it has ended. -1: it goes on in the
 * engine, and err says why. */
int depart(pid_t pid, const struct depart_from *from,
	   const struct depart_how *how, struct hark_err *err);

/* The same for one whose hark was killed. If this one is, too, the process may
 * stand still for ten seconds. */
int depart_orphan(pid_t pid, const struct depart_from *from,
		  struct hark_err *err);

/* Channels of all processes that have one, whosever they are. */
void depart_each(void (*see)(void *ctx, pid_t pid, const struct proc_map *m),
		 void *ctx);

#endif
