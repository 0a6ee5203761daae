/* outside/follow.h - a program, its children, and whatever they execute.
 *
 * hark stays attached to all of them (as strace -f does): every new process,
 * thread and executed program passes once through the image (outside/native).
 * A program with privileges of its own is let go before it is executed, so
 * that it keeps them, and runs unobserved. Hosted. */
#ifndef OUTSIDE_FOLLOW_H
#define OUTSIDE_FOLLOW_H

#include "outside/native.h"

struct follow;

/* Starts a program and follows it. */
int follow_start(const struct launch *plan, const struct native_watch *w,
		 struct follow **out, struct hark_err *err);
/* Follows a running process from now on; its threads pass first. */
int follow_attach(pid_t pid, const struct native_watch *w, struct follow **out,
		  struct hark_err *err);
pid_t follow_root(const struct follow *f);

enum follow_status {
	FOLLOW_MORE, /* more has happened: come back at once */
	FOLLOW_ON,   /* something may happen yet */
	FOLLOW_DONE, /* nobody is left */
};

/* Handles what has happened, without waiting (SIGCHLD announces more); not
 * more than a while of it, for busy programs never come to an end, and hark
 * has signals of its own to look at. */
enum follow_status follow_step(struct follow *f);

/* The wait status of the first process; -1 while it lives or is not hark's to
 * know. */
int follow_exit_status(const struct follow *f);

/* Lets everybody go on unobserved, and frees. */
void follow_close(struct follow *f);

#endif
