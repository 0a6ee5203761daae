/* engine/place.h - places that the signal handler knows by name.
 *
 * More of what engine.h declares as engine_place and engine_redo. */
#ifndef ENGINE_PLACE_H
#define ENGINE_PLACE_H

#include "engine/engine.h"

/* Right behind the system call of engine_guest_call. */
uint64_t place_call_end(void);
/* Before it: in its window, and where that begins. */
uint64_t place_call(void);
int place_is_call(uint64_t rip);
/* Where all of the state is in the vcpu and nothing is half done: just before
 * the dispatcher, or just behind it. */
int place_is_rest(uint64_t rip);
/* At the instruction that leaves for a native step. */
int place_is_iret(uint64_t rip);

#endif
