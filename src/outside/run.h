/* outside/run.h - a translated program, and whatever it executes.
 *
 * Starts the program with the engine in it, or puts the engine into one that
 * runs already. From then on nothing is attached; hark waits for the program's
 * end and, if it follows, escorts each execve (outside/escort). Every program
 * that was entered is counted, whether it still runs or was killed: what it
 * counts lies in shared memory. Hosted. */
#ifndef OUTSIDE_RUN_H
#define OUTSIDE_RUN_H

#include "base/err.h"
#include "outside/launch.h"
#include "wire/run.h"

struct run; /* opaque */

struct run_plan {
	const struct launch *launch; /* borrowed; NULL: */
	pid_t pid;		     /* runs already */
	uint32_t flags;		     /* WIRE_RUN_* */
	int follow;		     /* what it executes, too */
	struct recorder *recorder;   /* borrowed; NULL: nothing is recorded */
	void *ctx;
	/* One line for a person: something goes on natively, and why. */
	void (*note)(void *ctx, const char *text);
};

/* The program runs, translated. On failure there is none, or it goes on as if
 * nothing had happened. */
int run_start(const struct run_plan *plan, struct run **out,
	      struct hark_err *err);
pid_t run_root(const struct run *r);

enum run_status {
	RUN_MORE, /* more has happened: come back at once */
	RUN_ON,	  /* something may happen yet: SIGCHLD announces it */
	RUN_DONE, /* the program has ended */
};
/* Handles what has happened, without waiting. */
enum run_status run_step(struct run *r);

/* Everybody goes on natively; what is recorded has then been told to its end.
 * How many processes stay translated: a note says why. */
unsigned run_leave(struct run *r);

/* The program's wait status; -1 if it is not ours to know. */
int run_exit_status(const struct run *r);

struct run_totals {
	struct wire_stats stats;
	uint64_t programs; /* entered */
	uint64_t let_go;   /* went on natively */
};

/* Whoever lives on does so without hark. Frees; the totals, if wanted. What is
 * recorded must be finished before. */
void run_close(struct run *r, struct run_totals *out);

#endif
