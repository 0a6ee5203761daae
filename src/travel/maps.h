/* travel/maps.h - what was mapped where, and when.
 *
 * All mappings that a process ever had, each with the moment of its birth; and
 * which are there at another moment. Hosted. */
#ifndef TRAVEL_MAPS_H
#define TRAVEL_MAPS_H

#include "record/recording.h"

struct maps; /* opaque */

int maps_load(struct recording *r, uint32_t process, struct maps **out,
	      struct hark_err *err);
void maps_free(struct maps *m);

struct map {
	uint64_t start, end, offset;
	uint32_t prot, flags;
	uint64_t dev, ino;
	const char *path; /* "": none */
	int is_first;	  /* it was there when the process began */
};

/* Has thread come beyond this count? 1: it has. */
typedef int maps_is_past(void *ctx, uint32_t thread, uint64_t count);
/* Those of a moment, ascending; they live until the next call. */
int maps_at(struct maps *m, maps_is_past *is_past, void *ctx,
	    const struct map **out, unsigned *n, struct hark_err *err);

#endif
