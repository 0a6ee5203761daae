/* travel/serve.h - the process in which a timeline is replayed. */
#ifndef TRAVEL_SERVE_H
#define TRAVEL_SERVE_H

#include "travel/channel.h"
#include "travel/timeline.h"

/* In a child of the program: goes into the sandbox and does what it is asked
 * for, until it is killed or the program is gone. */
_Noreturn void serve(struct channel *c, struct hark_recording *rec);

enum { SERVE_NAME = 256 }; /* of a thread, at most */

/* Of a window all places: the data of a STEP's answer that is in another window
 * than the last. */
enum { SERVE_PLACES = 1 << 16 };
struct serve_place {
	uint64_t count, step;
};

/* Between which moments; of visits, fewer than so many addresses follow. */
enum { SERVE_ADDRESSES = 1 << 18 };
struct serve_range {
	uint32_t has_from, has_to;
	struct hark_position from, to;
};

/* How many accesses a message may have. */
enum { SERVE_ACCESSES = 256 };

/* Visits that one message has: args[0] of them, one after the other. Each is
 * this, then its thread's registers: regs_len bytes of struct hark_registers,
 * and up to the next multiple of 8. */
enum { SERVE_VISITS = 256, SERVE_VISIT_BYTES = 1 << 20, SERVE_STACK = 8 };
struct serve_visit {
	struct hark_position at;
	uint32_t regs_len, pad;
	uint64_t stack_known;	    /* a bit for each byte */
	uint8_t stack[SERVE_STACK]; /* from the stack pointer on */
};
static inline size_t serve_visit_size(const struct serve_visit *v)
{
	return sizeof *v + ((size_t)v->regs_len + 7) / 8 * 8;
}

/* A mapping, as a message has it: this, and the path without its end. */
struct serve_mapping {
	uint64_t start, end, offset;
	uint32_t prot, prot_ever;
	int32_t module;
	uint32_t path_len;
};

/* One possible value of some bytes, as a message has it. */
struct serve_possible {
	struct hark_access by;
	uint32_t has_by, pad;
	uint8_t bytes[64], known[64];
};

#endif
