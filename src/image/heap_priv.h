/* image/heap_priv.h - malloc with a budget.
 *
 * What one ELF file may make hark allocate is bounded by what the file is:
 * a fixed sum plus a multiple of its size. A file that lies about counts or
 * holds a compression bomb runs out of budget, and that is an error. Many such
 * files together run out of the budget that all files of an image share. */
#ifndef IMAGE_HEAP_PRIV_H
#define IMAGE_HEAP_PRIV_H

#include "base/heap.h"

#include <stdint.h>

struct budget {
	struct heap heap; /* its ctx is this struct: do not copy */
	uint64_t used, limit;
	struct budget *all; /* borrowed: this is a part of it; NULL: of none */
	uint64_t adds;	    /* to the limit of all */
};

void budget_init(struct budget *b, uint64_t limit);
/* From now on, until budget_leave, what b takes is taken of `all`, too, which
 * has so much more while b is there. Nothing has been taken yet. */
void budget_join(struct budget *b, struct budget *all, uint64_t adds);
/* Everything was given back. */
void budget_leave(struct budget *b);

#endif
