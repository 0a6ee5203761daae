/* record/place.h - which file a recorded address belongs to. Hosted. */
#ifndef RECORD_PLACE_H
#define RECORD_PLACE_H

#include "record/recording.h"

#include <stddef.h>
#include <stdint.h>

/* ` (libc.so.6+0x1234)` for an address of a process when code up to the epoch
 * had been seen; nothing if no file is known to be mapped there. */
void place_text(struct recording *r, uint32_t process, uint64_t epoch,
		uint64_t address, char *text, size_t size);

#endif
