/* inside/visit.h - one pass of a thread through the image. Freestanding. */
#ifndef INSIDE_VISIT_H
#define INSIDE_VISIT_H

#include "wire/channel.h"

/* Called by hark_entry on the slot's own stack, all signals blocked: does what
 * slot->mode says. */
void inside_enter(struct wire_slot *slot);

#endif
