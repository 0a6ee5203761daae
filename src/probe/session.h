/* probe/session.h - a script and a process, from the first probe to the last
 * word.
 *
 *	session_open	the process is held; the script is compiled for it, its
 *			probes are put in, BEGIN has run
 *	session_go	the process runs; nothing is attached to it
 *	session_step	what threads have recorded is shown, ticks run
 *	session_stop	probes are taken out; END runs; what is left is shown
 *
 * H1  If session_open fails, a program that was to be started has executed
 *     nothing of its own and is gone; a running one goes on as before.
 * H2  Whatever a clause has recorded is shown, or counted as lost. (What was
 *     recorded after exit() is counted alone.)
 *
 * Hosted. One thread: ptrace ties a held process to it. */
#ifndef PROBE_SESSION_H
#define PROBE_SESSION_H

#include "image/modules.h"
#include "outside/launch.h"
#include "probe/compile.h"

#include <stdio.h>

struct session;

/* -- Samples: what the threads do, again and again -- */

struct session_frame {
	uint64_t pc;
	uint8_t how;	   /* enum unwind_how */
	uint8_t is_return; /* pc is behind a call */
};

struct session_sample {
	pid_t pid, tid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* Periods that it stands for: 1, as a rule; of SESSION_OFF_CPU:
	 * nanoseconds. */
	uint64_t ticks;
	uint32_t map; /* which of the thread's stacks */
	/* Of the last sample of that stack, from the outermost on, so many
	 * frames are still there; these have come in the place of others. */
	uint32_t kept, n;
	const struct session_frame *frames; /* outermost first */
	uint8_t end; /* enum unwind_end, or one of those below */
	/* The numbers are those that the thread sees itself, not hark's. */
	bool is_strange;
};

/* No stack at all, and why. ORDER unwind_end: behind those. */
enum {
	SESSION_SHORT = 4, /* a wait that was over before it was looked at */
	SESSION_READY,	   /* it could run, but had no processor */
};

/* When threads are sampled. */
enum session_time {
	SESSION_CPU,	 /* a period of CPU time after the other */
	SESSION_WALL,	 /* the same; and of time, while they do not run */
	SESSION_OFF_CPU, /* never; each wait is told, with how long it was */
};

/* Borrowed. What they return is as always. */
struct session_samples {
	enum session_time time;
	uint64_t period_ns;
	uint32_t scan;	/* as struct unwind_space has it */
	bool is_strict; /* likewise */
	bool checks;	/* each is walked twice: check.c */
	int (*put)(void *ctx, const struct session_sample *s,
		   struct hark_err *err);
	/* What is mapped in a process, from now on. */
	int (*maps)(void *ctx, pid_t pid, struct modules *modules,
		    struct hark_err *err);
	/* A thread has ended, and this was all of it: its number may come
	 * again as another one. */
	void (*gone)(void *ctx, pid_t pid, pid_t tid);
	/* A sample is not what a walk gives: one line for a person. */
	int (*differs)(void *ctx, const char *text, struct hark_err *err);
	/* What has come for now has been put. */
	int (*pause)(void *ctx, struct hark_err *err);
	void *ctx;
};

struct session_clock {
	bool has_kernel; /* time in the kernel is sampled, too */
	uint64_t cpu_ns; /* that it has counted, in the kernel, too; 0: it does
			  * not tell */
	int no_events;	 /* errno: it is a timer of each thread instead */
	uint64_t checked, differing; /* samples */
};

/* Of all threads together. */
struct session_waits {
	uint64_t waits;	   /* how many began */
	uint64_t wait_ns;  /* how long they were */
	uint64_t short_ns; /* of that, with SESSION_SHORT */
	uint64_t ready_ns;
	uint64_t lost; /* records of the kernel's: there was no room */
};

/* All borrowed. */
struct session_plan {
	const struct compile *script;
	const struct options *options; /* as compile_early() made them */
	const struct launch *launch;   /* NULL: pid runs already */
	pid_t pid;
	bool follows; /* children of fork are probed, too */
	FILE *out;
	const struct session_samples *samples; /* NULL: none are taken */
	/* One line for a person. */
	void (*note)(void *ctx, bool is_error, const char *text);
	void *ctx;
};

/* HARK_EINPUT without a text: mistakes have been said. *has_begun (of a
 * failure) says that there was a program to be found. */
int session_open(const struct session_plan *p, struct session **out,
		 bool *has_begun, struct hark_err *err);
void session_close(struct session *s);

pid_t session_pid(const struct session *s);
int session_go(struct session *s, struct hark_err *err);

enum session_status {
	SESSION_ON,
	SESSION_ENDED, /* there is no process any more */
	SESSION_EXIT,  /* the script has called exit() */
};

/* -1 if what is shown cannot be written, or worse. */
int session_step(struct session *s, enum session_status *out,
		 struct hark_err *err);
/* Until there is something to do, or for some milliseconds. */
void session_wait(struct session *s);

/* The process, if it lives, goes on without probes. */
int session_stop(struct session *s, struct hark_err *err);
/* The argument of exit(); false if nobody has called it. */
bool session_exit_status(const struct session *s, int *out);

/* -- Accounts, after session_stop -- */

struct session_account {
	const char *text[4]; /* provider, module, function, name; borrowed */
	size_t sites;	     /* instructions */
	bool is_unbound;     /* BEGIN and its like, which hark runs */
	struct collect_account hits;
};

/* One a probe, in the order of the script. */
void session_accounts(const struct session *s,
		      void (*visit)(void *ctx, const struct session_account *a),
		      void *ctx);
/* Of all samples; and the clock that they were taken by. */
void session_sampled(const struct session *s, struct collect_account *out,
		     struct session_clock *clock);
/* And of all waits. */
void session_waited(const struct session *s, struct session_waits *out);
/* How many programs were executed that hark could not go along with. */
uint32_t session_missed(const struct session *s);
/* One line for each reason that something was not recorded, or recorded and
 * not shown; all are losses but what came after exit(). */
void session_explain(const struct session *s,
		     void (*line)(void *ctx, bool is_loss, const char *text),
		     void *ctx);

#endif
