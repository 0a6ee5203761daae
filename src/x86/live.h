/* x86/live.h - which registers and flags will nobody look at any more?
 *
 * What is dead at a place may be overwritten there: by instrumentation that
 * needs a register, or that changes flags. Liveness is told as sets of what is
 * live, so that an unknown future is simply "all".
 *
 * There are two notions. By default only the program's own instructions look.
 * With X86_LIVE_AT_FAULTS an instruction that may end in a signal shows every
 * register to its handler, so all is live before it.
 *
 * Nothing is assumed of any calling convention. rsp is always live: signals
 * are delivered on it.
 *
 * Pure. */
#ifndef X86_LIVE_H
#define X86_LIVE_H

#include <stdint.h>

#include "x86/decode.h"

struct x86_live {
	uint16_t gpr;	/* a bit each, by hardware number */
	uint16_t flags; /* X86_CF and so on */
};

enum {
	X86_LIVE_GPRS = 0xffff,
	X86_LIVE_FLAGS =
	    X86_FLAGS_STATUS | X86_TF | X86_IF | X86_DF | X86_FLAG_OTHER,
};

static inline struct x86_live x86_live_all(void)
{
	return (struct x86_live){X86_LIVE_GPRS, X86_LIVE_FLAGS};
}

enum { X86_LIVE_AT_FAULTS = 1 }; /* how */

/* May the instruction end in a signal? Only what certainly cannot, on any
 * x86-64 processor, is 0. */
int x86_may_fault(const struct x86_insn *insn);

/* What is live before insn if `next` is live behind it and `taken` where its
 * branch goes (of conditional branches; ignored otherwise). Behind a direct
 * jump or call means at its target. Before any other transfer all is live. */
struct x86_live x86_live_before(const struct x86_insn *insn,
				struct x86_live next, struct x86_live taken,
				unsigned how);

/* The same over a run of n instructions, each the successor of the one before
 * (by falling through, or by a direct jump or call): out[i] is live before
 * insns[i], end behind the last. taken[i] is live where insns[i] branches to;
 * taken NULL means all. */
void x86_live_run(const struct x86_insn *insns, unsigned n,
		  const struct x86_live *taken, struct x86_live end,
		  unsigned how, struct x86_live *out);

/* Code that may be read: len bytes, those of addresses pc and on. */
struct x86_text {
	const uint8_t *bytes; /* borrowed */
	uint64_t pc, len;
};

/* Addresses from lo up to, not including, hi; lo == hi is none. */
struct x86_span {
	uint64_t lo, hi;
};

/* What of `want` is live at pc, as far as looking at no more than max_insns
 * instructions of text can tell; all else counts as live. Branches are
 * followed on both sides, jumps and calls to their target, inside text. The
 * answer depends on the code bytes in *seen alone, if seen is not NULL. */
struct x86_live x86_live_ahead(const struct x86_text *text, uint64_t pc,
			       struct x86_live want, unsigned max_insns,
			       unsigned how, struct x86_span *seen);

#endif
