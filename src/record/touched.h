/* record/touched.h - which pages of this process's own memory were ever
 * touched.
 *
 * mincore tells which are in memory. One that is in swap was touched, too, and
 * what was written there must not be overlooked: where there is swap, the page
 * table is asked as well. Hosted. */
#ifndef RECORD_TOUCHED_H
#define RECORD_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

enum { TOUCHED_PAGE = 4096 };

/* Before a process can open nothing any more. Others need not call it. */
void touched_begin(void);

/* Bit 0 of out[i]: page i from at on may have been touched; all others are
 * untouched. Private memory. */
void touched_pages(const void *at, size_t n, uint8_t *out);

/* Adds what entries of the page table say of n pages. */
void touched_add(const uint64_t *entries, size_t n, uint8_t *out);

#endif
