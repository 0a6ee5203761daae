/* site/body.h - where does a function begin, and where does it end?
 *
 * The entry is the first instruction, or the one behind an endbr64, which
 * must stay where indirect branches look for it. A function ends at its
 * returns, and where it jumps to another function for good:
 *
 *	ret
 *	jmp, jcc	out of the function, to where another one (or an entry
 *			of the linkage table) begins; to its own cold part is
 *			no end; to its own entry is one (a call of itself at its
 *			end, made a jump): that is entered once more
 *	jmp *		through memory at a fixed address, or through a register
 *			or memory that no jump table was seen to go through
 *
 * Hosted, no I/O. */
#ifndef SITE_BODY_H
#define SITE_BODY_H

#include "site/survey.h"

enum site_kind {
	SITE_ENTRY,
	SITE_RETURN, /* ret */
	SITE_JUMP,   /* to another function */
	SITE_TAKEN,  /* the same, if its condition holds: a return only then */
	SITE_INSIDE, /* any instruction */
};

struct site {
	uint64_t addr; /* link-time */
	enum site_kind kind;
};

/* A function: its extent, and (NULL: not known) whether an address outside of
 * it belongs to it all the same. */
struct body {
	const struct survey *survey; /* borrowed */
	uint64_t start, end;
	bool (*is_own)(void *ctx, uint64_t addr);
	void *ctx; /* borrowed */
};

uint64_t body_entry(const struct body *b);

/* Calls visit with each of its ends, ascending. Not 0 ends that, and is
 * returned. */
int body_ends(const struct body *b,
	      int (*visit)(void *ctx, const struct site *s), void *ctx);

#endif
