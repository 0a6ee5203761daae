/* outside/escort.h - with a translated thread across its execve.
 *
 * Whatever runs in a program is gone after execve: hark must be there to put
 * the engine into the next one. The engine asks before each (wire/run.h); hark
 * attaches to the thread that asked, goes with it to the end of execve, puts
 * the engine in, and lets go. Nobody is attached at any other time.
 *
 * What cannot be followed goes on natively, and a note says why: programs with
 * privileges of their own (judged at the entry of execve, as they would lose
 * them), programs for other processors, processes that may not be attached to.
 * Hosted; all by one thread. */
#ifndef OUTSIDE_ESCORT_H
#define OUTSIDE_ESCORT_H

#include "outside/enter.h"

struct escort; /* opaque */

struct escort_watch {
	void *ctx;
	/* A program was entered; the peer is the receiver's. 0, or -1: it
	 * does not want it. */
	int (*entered)(void *ctx, const struct entered *e);
	/* Process pid executes another program: its old one is left. */
	void (*executed)(void *ctx, pid_t pid);
	/* One line for a person. */
	void (*note)(void *ctx, const char *text);
};

struct escort *escort_new(const struct escort_watch *w,
			  const struct enter_how *how);
/* Whoever is still accompanied goes on natively. */
void escort_free(struct escort *e);

/* The bell of p was rung: answers, if something was asked. */
void escort_hear(struct escort *e, struct peer *p);

/* What waitpid says of anybody. 1 if it was one of the escorted. */
int escort_report(struct escort *e, pid_t tid, int status);

/* From now on whoever asks goes alone. */
void escort_alone(struct escort *e);

/* How many are on their way. */
int escort_busy(const struct escort *e);
/* Has somebody asked there whose ask is not over? */
int escort_needs(const struct escort *e, const struct peer *p);
/* How many programs were let go. */
uint64_t escort_let_go(const struct escort *e);

#endif
