/* image/relocated.h - the initial data of a file, as the loader relocates it.
 *
 * Words that hold addresses are 0 in a position-independent file, and their
 * values are in its relocations. Values here are link-time addresses: those of
 * the process minus the bias of the module. Hosted. */
#ifndef IMAGE_RELOCATED_H
#define IMAGE_RELOCATED_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct image_file;

/* Calls visit with the bytes of each loaded segment that are in the file, and
 * the link-time address of the first. Applied are relocations by the load
 * address and by symbols that the file defines itself. A result of visit other
 * than 0 ends the tour and is returned. */
int relocated_each(struct image_file *f,
		   int (*visit)(void *ctx, uint64_t addr, const uint8_t *bytes,
				uint64_t len),
		   void *ctx, struct hark_err *err);

#endif
