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

/* Between which moments. */
struct serve_range {
	uint32_t has_from, has_to;
	struct hark_position from, to;
};

/* How many accesses a message may have. */
enum { SERVE_ACCESSES = 256 };

/* A mapping, as a message has it: this, and the path without its end. */
struct serve_mapping {
	uint64_t start, end, offset;
	uint32_t prot;
	int32_t module;
	uint32_t path_len, pad;
};

/* One possible value of some bytes, as a message has it. */
struct serve_possible {
	struct hark_access by;
	uint32_t has_by, pad;
	uint8_t bytes[64], known[64];
};

#endif
