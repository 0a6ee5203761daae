/* gdb/regs.h - registers as gdb numbers and describes them.
 *
 * One table of rows says which registers there are; from it come the target
 * description (target.xml) and what packets carry. Parts that the processor
 * does not have (AVX, AVX-512, PKRU) are left out of both. Pure. */
#ifndef GDB_REGS_H
#define GDB_REGS_H

#include "gdb/doc.h"

#include <hark/recording.h>

enum {
	REGS_MAX = 160,
	REGS_RBP = 6,
	REGS_RSP = 7,
	REGS_RIP = 16,
};

/* Where components lie in what xsave stores; 0: there is none. */
struct regs_layout {
	uint32_t avx, opmask, zmm_low, zmm_high, pkru;
};
/* As this processor has them: a recording can only be replayed where nothing
 * is missing that it used. */
void regs_layout_here(struct regs_layout *out);

struct regs_row; /* of the table */
struct regs {
	struct regs_layout layout;
	unsigned n;
	struct {
		const struct regs_row *row;
		unsigned i; /* which of the row */
	} at[REGS_MAX];
};
void regs_init(struct regs *r, const struct regs_layout *layout);

/* The target description. */
void regs_describe(const struct regs *r, struct doc *out);

/* The bytes of one, at most 16 (32 for those of zmm): how many; 0: there is
 * no such number. */
unsigned regs_get(const struct regs *r, const struct hark_registers *from,
		  unsigned number, uint8_t out[32]);

#endif
