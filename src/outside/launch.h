/* outside/launch.h - start a program and hold it before its first
 * instruction.
 *
 * The kernel loads the program in the ordinary way, with the signal mask,
 * limits and descriptors that hark itself was given; hark only makes it stop
 * at the end of execve. Hosted. */
#ifndef OUTSIDE_LAUNCH_H
#define OUTSIDE_LAUNCH_H

#include "base/err.h"

#include <signal.h>
#include <sys/types.h>

struct launch {
	char *const *argv;    /* borrowed; argv[0] is searched in PATH */
	const sigset_t *mask; /* borrowed: the mask the program gets */
	int ignore_chld;      /* SIGCHLD was ignored when hark began */
	long ptrace_options;  /* besides those that starting needs */
	int beside;  /* -D: this very process becomes the program, and hark
		      * goes on in another; launch_start returns only there */
	int to_main; /* hold.h: at main, not before initialisers have run */
};

/* The program is at the system call stop that ends execve. Errors: HARK_ENOENT
 * not found, HARK_ENOEXEC cannot be executed, HARK_EREFUSE, HARK_EDENIED; no
 * process is left behind. */
int launch_start(const struct launch *plan, pid_t *out, struct hark_err *err);

/* Ends a program that could not be entered, for the reason in err; if it was
 * killed meanwhile, and that is the reason, err says so. */
void launch_abandon(const struct launch *plan, pid_t pid, struct hark_err *err);

/* Where execvp would find name. */
int launch_find(const char *name, char *out, size_t size, struct hark_err *err);

#endif
