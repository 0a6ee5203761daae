/* image/heap_priv.h - malloc with a budget.
 *
 * What one ELF file may make hark allocate is bounded by what the file is:
 * a fixed sum plus a multiple of its size. A file that lies about counts or
 * holds a compression bomb runs out of budget, and that is an error. */
#ifndef IMAGE_HEAP_PRIV_H
#define IMAGE_HEAP_PRIV_H

#include "base/heap.h"

#include <stdint.h>

struct budget {
	struct heap heap; /* its ctx is this struct: do not copy */
	uint64_t used, limit;
};

void budget_init(struct budget *b, uint64_t limit);

#endif
