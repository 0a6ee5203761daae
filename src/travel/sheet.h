/* travel/sheet.h - what a thread knew of memory at a moment.
 *
 * A copy of its shadow, and of which bytes of it were touched: pages of the
 * shadow's index. Sheets that were taken one after the other share the pages
 * that did not change between them. Hosted. */
#ifndef TRAVEL_SHEET_H
#define TRAVEL_SHEET_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sheet; /* opaque */

/* Of a shadow and the map of what was touched (engine/observe.h). `like`: one
 * that it may share pages with; or NULL. NULL: *err. */
struct sheet *sheet_take(const uint8_t *shadow, const uint8_t *map,
			 const struct sheet *like, struct hark_err *err);
/* How many bytes of memory that gave. */
size_t sheet_free(struct sheet *s);
/* Into a shadow and a map that were cleared. */
void sheet_put(const struct sheet *s, uint8_t *shadow, uint8_t *map);
/* The byte at an index: 1; 0: it was not touched. */
int sheet_byte(const struct sheet *s, uint32_t index, uint8_t *out);
/* Bytes of memory that it takes, but for those that it shared when it was
 * taken. */
size_t sheet_memory(const struct sheet *s);

#endif
