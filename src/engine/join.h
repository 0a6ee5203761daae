/* engine/join.h - threads that are there already come in, and go again. */
#ifndef ENGINE_JOIN_H
#define ENGINE_JOIN_H

#include "engine/engine.h"
#include "inside/sigframe.h"

/* -- join.c: in -- */

/* A vcpu for each of n threads, whose slots in the channel begin with first.
 * 0, or an errno. */
int join_all(struct engine *e, struct wire_slot *first, unsigned n);
/* The thread of this slot begins. */
_Noreturn void join_go(struct wire_slot *slot);

/* A handler is about to be entered: if a call is to be made again at .pc, it
 * may be over instead. */
void join_interrupt(struct vcpu *v, const struct sig_action *act);

/* What the thread had registered with the kernel, before it came; and not. */
void join_rseq(const struct vcpu *v, int registered);

/* -- park.c: and out -- */

/* The process's threads are parked, slot->n_threads of them: its signals are
 * natively its own from now on. 0, or an errno: not all are there, or they do
 * not wait any more. */
int park_leave(const struct wire_slot *slot);

/* home.S: sleeps for a moment (20 ms), where hark looks for it; rbx is p. */
void park_wait(const void *p);
enum { PARK_MOMENTS = 500 }; /* and then hark is not waited for any more */

/* -- start.c -- */

/* All that the engine has mapped is gone, but for image and channel. */
void engine_vanish(struct engine *e);

#endif
