/* engine/translate.h - from the program's code to the cache's. */
#ifndef ENGINE_TRANSLATE_H
#define ENGINE_TRANSLATE_H

#include "engine/cache.h"

struct translate_how {
	uint64_t pc, limit; /* code is readable below limit */
	uint64_t sp;	    /* where the stack is */
	uint8_t kind;	    /* BLOCK_LIVE or BLOCK_CHECKED */
	uint8_t indirect;   /* with an indirect entry */
	uint8_t block_flags;
	uint8_t lonely; /* it is not found, and its exits are not linked */
	uint8_t blind;	/* whoever observes does not see it */
	uint64_t stop;	/* it ends before this instruction; 0: no matter */
};

/* Translates the superblock at pc and inserts it. Its number; 0: there is no
 * memory for it. The caller holds the lock. */
uint32_t translate(struct engine *e, const struct translate_how *how);

/* Makes the block's indirect entry, if it has none: 0, or -1: no memory. */
int translate_indirect(struct engine *e, struct block *b);

/* -- The way back: side tables (recover.c reads what translate.c writes) ---
 *
 * A block's hot code is a run of pieces, one for each instruction of the
 * program, and one with no instruction in front or at the end. Of each:
 *
 *	1 byte	 guest length | SIDE_POINTS
 *	1 byte	 host length
 *	SIDE_POINTS: 1 byte n, then n points, ascending
 *
 * At every host instruction of a piece without points the program's state is
 * the machine's, before the piece's instruction. A point holds from its offset
 * to the next one's. */
enum { SIDE_POINTS = 0x80, SIDE_LEN = 0x0f };
struct side_point {
	uint8_t off;
	uint8_t what; /* SIDE_* */
	uint8_t reg;  /* SIDE_REG: which is in spill[SPILL_ANY]; above it,
		       * if not 0, which is in spill[SPILL_MORE] */
};
enum {		     /* what */
       SIDE_R10 = 1, /* r10 is in its spill word */
       SIDE_RCX = 2,
       SIDE_PC = 4, /* pc is in the eight bytes behind the point */
       SIDE_REG = 8,
       SIDE_UNPUSH = 16, /* rsp + 8 */
       SIDE_NEXT = 32,	 /* pc is behind the instruction */
       SIDE_TARGET = 64, /* pc is what r10 holds */
       /* The status flags are in vcpu.saved_flags: */
       SIDE_SAVED = SIDE_NEXT | SIDE_TARGET,
       SIDE_FLAGS = 128, /* the status flags are in ah and al, as lahf and
			  * seto put them; rax is in spill[SPILL_ANY] */
};

#endif
