/* inside/start.h - what a thread that comes for the engine calls.
 *
 * The image's entry knows of the engine only these two functions, which the
 * engine defines. Freestanding. */
#ifndef INSIDE_START_H
#define INSIDE_START_H

#include "wire/channel.h"

/* Does what slot->mode says, on the slot's stack, all signals blocked, hark
 * still attached. 0, or an errno. WIRE_TRANSLATE, WIRE_ATTACH: the thread then
 * goes home natively, and nothing of the engine is left. */
int engine_enter(struct wire_slot *slot);

/* Its status is told. A thread of a process that runs already waits until hark
 * takes it, or is dead. */
void engine_wait(struct wire_slot *slot);

/* hark has let go. Returns if the thread goes home natively; else it is in the
 * engine from here on. */
void engine_stay(struct wire_slot *slot);

#endif
