/* travel/index_harvest.h - what a section of a replay has touched.
 *
 * While a segment is replayed with loads and stores marked apart
 * (engine/observe.h), the marks are read at the end of each section, and taken
 * away. Or it is replayed twice, side by side, once for each kind of marks.
 * Hosted. */
#ifndef TRAVEL_INDEX_HARVEST_H
#define TRAVEL_INDEX_HARVEST_H

#include "travel/index_priv.h"

#include "base/err.h"

struct harvest; /* opaque */

/* Of a segment; maps with the marks of loads and of stores (the same map twice:
 * of both, apart), and the shadow; blocks go to the blob. All are borrowed.
 * NULL: no memory. */
struct harvest *harvest_new(uint8_t *loads, uint8_t *stores,
			    const uint8_t *shadow, struct index_bytes *blob);
void harvest_free(struct harvest *h);
/* A segment begins: nothing is marked, and nothing known of others is kept. */
void harvest_begin(struct harvest *h);

/* The log has changed the shadow there. */
void harvest_fill(struct harvest *h, uint32_t index, uint64_t len);
/* What was touched there counts as touched, but nothing is known of it any
 * more. `which` marks have come to this moment. -1: no memory. */
enum harvest_kinds { HARVEST_LOADS = 1, HARVEST_STORES = 2 };
int harvest_forget(struct harvest *h, unsigned which, uint32_t index,
		   uint64_t len);
/* A section ends: its marks are taken. Sections are numbered from 0. */
int harvest_section(struct harvest *h, unsigned section, struct hark_err *err);

/* Is what sections say of values right? Not if marks of loads lie where those
 * of stores do. */
bool harvest_has_values(const struct harvest *h);
/* All sections are one from here on, without values; the blob may be emptied.
 * -1: no memory. */
int harvest_join_sections(struct harvest *h);
/* Bytes that are not in the blob yet. */
size_t harvest_size(const struct harvest *h);
/* The segment ends: all that was found is in the blob now. -1: no memory. */
int harvest_end(struct harvest *h, unsigned n_sections);
/* Of a cluster, then; NULL: nothing touched it. */
struct harvest_cluster {
	uint32_t pages;
	uint32_t n_parts;
	struct index_part *parts; /* owned */
	struct index_block summary;
	uint8_t *presence; /* owned: index_presence_len(n_sections) */
};
const struct harvest_cluster *harvest_cluster(const struct harvest *h,
					      uint32_t number);

#endif
