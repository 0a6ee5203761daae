/* tests/unit/native_stand_ins.h - a collector for tests of src/native.
 *
 * It stands in for the real one wherever the plan has no COLLECT_MAGIC. */
#ifndef NATIVE_STAND_INS_H
#define NATIVE_STAND_INS_H

#include "native/native.h"

enum { STAND_IN_AREAS = 8 };

/* A probe of the tests: what a cookie points to. */
struct stand_in {
	uint64_t plan;	  /* as a struct collect_site has it */
	uint64_t hits;	  /* atomic */
	uint8_t *by_rax;  /* hits of each ordinal, which is in rax; or NULL */
	uint64_t pause;	  /* how long a hit takes */
	uint64_t sends;	  /* set of signals that a hit sends to its thread */
	uint64_t reads;	  /* an address that a hit reads, or 0 */
	uint64_t read_ok; /* how often it could */
	uint64_t counts;  /* from the first hit on, by itself */
};

extern struct collect_area stand_in_areas[STAND_IN_AREAS];

/* Of the one probe that counts by itself. */
enum {
	STAND_IN_SLOT = 64,
	STAND_IN_PART = offsetof(struct collect_area, collector)
};
static inline struct collect_slot *stand_in_slot(struct collect_area *a)
{
	return (struct collect_slot *)(void *)(a->collector + STAND_IN_SLOT);
}

#endif
