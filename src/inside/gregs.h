/* inside/gregs.h - registers, in the order in which a signal frame holds them.
 *
 * inside/sigframe.h has the frame around them. */
#ifndef INSIDE_GREGS_H
#define INSIDE_GREGS_H

#include <stdint.h>

enum {
	GREG_R8,
	GREG_R9,
	GREG_R10,
	GREG_R11,
	GREG_R12,
	GREG_R13,
	GREG_R14,
	GREG_R15,
	GREG_RDI,
	GREG_RSI,
	GREG_RBP,
	GREG_RBX,
	GREG_RDX,
	GREG_RAX,
	GREG_RCX,
	GREG_RSP,
	GREG_RIP,
	GREG_EFL,
	GREG_CSGSFS,
	GREG_ERR,
	GREG_TRAPNO,
	GREG_OLDMASK,
	GREG_CR2,
	GREG_MAX
};

/* By hardware number. */
static inline unsigned greg_of(unsigned gpr)
{
	static const uint8_t by_number[16] = {
	    GREG_RAX, GREG_RCX, GREG_RDX, GREG_RBX, GREG_RSP, GREG_RBP,
	    GREG_RSI, GREG_RDI, GREG_R8,  GREG_R9,  GREG_R10, GREG_R11,
	    GREG_R12, GREG_R13, GREG_R14, GREG_R15,
	};

	return by_number[gpr];
}

#endif
