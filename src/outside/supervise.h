/* outside/supervise.h - be a good parent of the program, and end as it did.
 *
 * While hark works it must not be interrupted halfway; while the program runs,
 * signals that somebody sends to hark are meant for the program. Hosted. */
#ifndef OUTSIDE_SUPERVISE_H
#define OUTSIDE_SUPERVISE_H

#include <signal.h>
#include <sys/types.h>

struct supervise {
	sigset_t before;      /* the mask hark was given: the program's */
	int chld_was_ignored; /* likewise SIGCHLD */
};

/* From now on signals wait; SIGCHLD is not ignored. What hark writes belongs
 * between the two: a pipe without a reader or a file that may not grow raises
 * a signal that is nobody's business but hark's. */
void supervise_begin(struct supervise *s);
void supervise_end(const struct supervise *s);

/* Waits for the next signal (or, if wait is 0, only looks): none, SIGCHLD, or
 * one that hark's own writing raised, returns 0. One that somebody sent to
 * hark is passed on to pid (if not 0) and returned; one that the terminal sent
 * has reached the program too, and is returned as a negative number. */
int supervise_wait(pid_t pid, int wait);
/* The same, but signal `mine` is meant for hark if somebody sent it, and not
 * passed on; unless it was the program itself, which cannot mean hark: 0. */
int supervise_wait_but(pid_t pid, int wait, int mine);

/* Ends hark as the program ended: the same status, or the same signal (but
 * no core of hark's own). */
_Noreturn void supervise_exit_as(int wait_status);

#endif
