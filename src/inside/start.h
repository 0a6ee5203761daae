/* inside/start.h - what a thread that comes to be translated calls.
 *
 * The image's entry knows of the engine only these two functions, which the
 * engine defines. Freestanding. */
#ifndef INSIDE_START_H
#define INSIDE_START_H

#include "wire/channel.h"

/* Makes the engine ready for the thread in slot, on the slot's stack, all
 * signals blocked, hark still attached. 0, or an errno: then the thread goes
 * home natively, and nothing of the engine is left. */
int engine_start(struct wire_slot *slot);

/* From here on the thread runs translated; does not return. */
_Noreturn void engine_go(struct wire_slot *slot);

#endif
