/* engine/sighand.h - what a process does with its signals.
 *
 * The program's dispositions, as it set them; natively the engine's handler
 * stands in for each of the program's, and for every signal that ends the
 * process with a core file, so that the core shows the program's registers.
 * Shared as the kernel shares them: by threads, not by processes. */
#ifndef ENGINE_SIGHAND_H
#define ENGINE_SIGHAND_H

#include "engine/engine.h"
#include "inside/sigframe.h"

struct sighand {
	struct engine_lock lock;
	uint32_t refs;
	struct memory *memory;		   /* borrowed: where it is from */
	struct sig_action action[SIG_MAX]; /* of signal i + 1 */
};

/* One that knows nothing yet. NULL: no memory. */
struct sighand *sighand_new(struct memory *m);
/* Takes over the dispositions that the process has. */
void sighand_take(struct sighand *s);
/* A copy, for a process that shares memory but not dispositions. */
struct sighand *sighand_copy(struct sighand *from);
struct sighand *sighand_share(struct sighand *s);
void sighand_drop(struct sighand *s);

/* Tells the kernel again what it is to do with each signal: after it was
 * told to forget (CLONE_CLEAR_SIGHAND). */
void sighand_clear(struct sighand *s);

/* The action for a delivery: one that is good once is used up. */
struct sig_action sighand_use(struct sighand *s, int sig);
struct sig_action sighand_get(struct sighand *s, int sig);
void sighand_set(struct sighand *s, int sig, const struct sig_action *new,
		 struct sig_action *out);

/* The kernel's own default action for sig, from now on. */
void sighand_default(int sig);
/* Dispositions of the set natively as the program set them: the engine is done
 * with those signals. */
void sighand_leave(struct sighand *s, uint64_t set);
/* Before execve: signals that the program ignores are ignored natively; and
 * back, if it failed. */
void sighand_expose(struct sighand *s, int exposed);

#endif
