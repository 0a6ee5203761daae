/* outside/lifeline.h - words in shared memory that say whether hark lives.
 *
 * A robust futex is a word that holds a thread's id and stands on that
 * thread's list; when the thread ends, however it ends, the kernel takes the
 * id out and puts FUTEX_OWNER_DIED in. A program that waits for hark's answer
 * looks there, so that a hark that is killed leaves nobody waiting.
 *
 * L1  A word is on the list before it holds the id, and holds it no longer
 *     when it leaves the list: killed in between, it says "nobody".
 * L2  The links lie in memory of hark's own, LIFELINE_WORD bytes below their
 *     words, where no program can bend them.
 * L3  All of it belongs to one thread, the first that joins. That takes the
 *     list from glibc, which needs it only for robust pthread mutexes: hark
 *     has none. Hosted. */
#ifndef OUTSIDE_LIFELINE_H
#define OUTSIDE_LIFELINE_H

#include "wire/channel.h"
#include "wire/run.h"

struct lifeline {
	struct lifeline *next; /* first: what the kernel follows */
	struct lifeline *previous;
};

/* A page of hark's own comes first, and then the channel. */
enum {
	LIFELINE_WORD =
	    WIRE_PAGE + WIRE_RUN_AT + (int)offsetof(struct wire_run, hark_lock),
};

/* The word behind l holds this thread's id from now on. */
void lifeline_join(struct lifeline *l);
/* The word becomes 0: nobody. */
void lifeline_leave(struct lifeline *l);
/* The word is about to be unmapped for a moment, and stays as it is. */
void lifeline_hide(struct lifeline *l);

#endif
