/* travel/maps.h - what was mapped where, and when.
 *
 * All mappings that a process ever had, each with the moment of its birth; and
 * which are there at another moment. Hosted. */
#ifndef TRAVEL_MAPS_H
#define TRAVEL_MAPS_H

#include "record/recording.h"

struct maps; /* opaque */

/* Without any, of a recording whose records are of this version; NULL: no
 * memory. Then each record of its process streams, in order. */
struct maps *maps_new(unsigned version);
int maps_add(struct maps *m, const struct record_event *e,
	     struct hark_err *err);
/* All of a process and of those that it was forked from. */
int maps_load(struct recording *r, uint32_t process, struct maps **out,
	      struct hark_err *err);
void maps_free(struct maps *m);

struct map {
	uint64_t start, end, offset;
	uint32_t prot, flags;
	/* What was allowed at any time since it was mapped; all, if the
	 * recording does not say. */
	uint32_t prot_ever;
	uint64_t dev, ino;
	const char *path; /* "": none */
	int is_first;	  /* it was there when the process began */
};

/* Has thread come beyond this place? 1: it has. pc: its low half; 0: it is not
 * known. */
typedef int maps_is_past(void *ctx, uint32_t thread, uint64_t count,
			 uint32_t pc);
/* Those of a moment, ascending; they live until the next call. */
int maps_at(struct maps *m, maps_is_past *is_past, void *ctx,
	    const struct map **out, unsigned *n, struct hark_err *err);

/* Had any memory of the process that could be accessed, at any time, an address
 * with the same low half as one of these, and another high half? */
int maps_has_alias(const struct maps *m, uint64_t address, uint64_t len);

/* From here on nothing in the range is what it was: it was mapped, unmapped or
 * emptied by a thread, at the system call there. (Ranges of which it is known
 * that they held nothing are left out: address space that was free, or that
 * could never be accessed.) */
struct maps_change {
	uint64_t start, end;
	uint64_t count;
	uint32_t thread;
	uint32_t pc; /* as above */
};
typedef int maps_each_change(void *ctx, const struct maps_change *c,
			     struct hark_err *err);
/* All of them, as they came. Below 0 from `each` ends it. */
int maps_changes(struct maps *m, maps_each_change *each, void *ctx,
		 struct hark_err *err);

#endif
