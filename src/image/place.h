/* image/place.h - everything about one pc at once, for those who print it.
 *
 * Module, function, and the chain of inlined calls with their lines, by
 * modules.h, symbols.h and lines.h together. What is not known is NULL or 0;
 * a pc is always a place, if only an address. */
#ifndef IMAGE_PLACE_H
#define IMAGE_PLACE_H

#include "image/lines.h"
#include "image/modules.h"
#include "image/symbols.h"

struct place {
	const struct module *module; /* NULL: in none */
	bool has_symbol;
	struct symbol symbol; /* link-time addresses; add the bias */
	uint64_t offset;      /* of pc from the symbol's begin */
	/* Outermost first; at least one. Without debug information there is
	 * one with the symbol's name, or none. */
	struct line_frame frame[LINES_DEPTH];
	size_t n;
};

/* For a return address ask for the byte before it, which is in the call. */
void place_of(struct modules *m, uint64_t pc, struct place *out);

#endif
