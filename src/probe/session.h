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

#include "outside/launch.h"
#include "probe/compile.h"

#include <stdio.h>

struct session;

/* All borrowed. */
struct session_plan {
	const struct compile *script;
	const struct options *options; /* as compile_early() made them */
	const struct launch *launch;   /* NULL: pid runs already */
	pid_t pid;
	bool follows; /* children of fork are probed, too */
	FILE *out;
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
	bool is_unbound;     /* BEGIN and its like */
	struct collect_account hits;
};

/* One a probe, in the order of the script. */
void session_accounts(const struct session *s,
		      void (*visit)(void *ctx, const struct session_account *a),
		      void *ctx);
/* One line for each reason that something was not recorded, or recorded and
 * not shown; all are losses but what came after exit(). */
void session_explain(const struct session *s,
		     void (*line)(void *ctx, bool is_loss, const char *text),
		     void *ctx);

#endif
