/* travel/segment_log.h - what the log of one segment says of a range of memory:
 * the values that it filled in there, and the thread's clock.
 *
 * The records are read without a replay. Memory takes what the segment's log
 * does. Hosted. */
#ifndef TRAVEL_SEGMENT_LOG_H
#define TRAVEL_SEGMENT_LOG_H

#include "travel/latest.h"
#include "travel/timeline.h"

/* A value that the log filled in, as far as it lies in the range. */
struct log_fill {
	struct last_touch touch; /* is_logged */
	uint64_t address;
	uint32_t len;
	size_t bytes; /* offset in segment_log.bytes */
};

struct log_time {
	uint64_t count, pc, clock;
};

/* All-zero is a valid empty one. */
struct segment_log {
	unsigned segment;
	uint64_t fs_base; /* at its key frame */
	struct log_fill *fills;
	size_t n_fills, room_fills;
	struct log_time *times;
	size_t n_times, room_times;
	uint8_t *bytes;
	size_t n_bytes, room_bytes;
	uint64_t end_clock; /* of the next key frame; UINT64_MAX: none */
};

/* Of the range [address, address + len), which has less than 2 GiB. Fills are
 * found by the low half of an address alone. */
int segment_log_load(struct segment_log *log, struct timeline *t,
		     const struct lane *l, unsigned segment, uint64_t address,
		     uint64_t len, struct hark_err *err);
void segment_log_free(struct segment_log *log);

/* Sets the span in which a place of the segment lies. */
void segment_log_span(const struct segment_log *log, struct last_touch *touch);

#endif
