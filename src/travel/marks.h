/* travel/marks.h - marks of a map (engine/observe.h), a line at a time.
 *
 * Lines of 64 bytes, none of which is in two pages of the map; pages of the
 * shadow, and so of all that is made of marks, are. To read a page that is not
 * there is to have it there from then on: each time one looks, there would be
 * more. Hosted. */
#ifndef TRAVEL_MARKS_H
#define TRAVEL_MARKS_H

#include "engine/observe.h"
#include "record/touched.h"

enum { MARKS_LINE = 64 };

_Static_assert(OBSERVE_SKEW % MARKS_LINE == 0 &&
		   OBSERVE_STORED % MARKS_LINE == 0,
	       "a line is in one page");

/* The line at `at`, or NULL: there are no marks. present: what touched_pages
 * says of the map. */
static inline const uint8_t *marks_line(const uint8_t *map,
					const uint8_t *present, uint32_t at)
{
	return present[at / TOUCHED_PAGE] & 1 ? map + at : NULL;
}

#endif
