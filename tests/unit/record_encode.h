/* tests/unit/record_encode.h - events back into bytes: record/stream.h in the
 * other direction, for tests that need streams. */
#ifndef TESTS_RECORD_ENCODE_H
#define TESTS_RECORD_ENCODE_H

#include "record/stream.h"

struct record_encoder {
	uint8_t *at; /* owned */
	size_t n, room;
	uint64_t count, pc; /* of the last position */
	struct wire_locked locked[WIRE_LOCKED_SLOTS];
};

/* Adds one record: type, info, count, pc, and what belongs to the type. */
void record_encode(struct record_encoder *to, const struct record_event *e);
/* Two events as one record. A LOCKED: an ORDER, before it BYTES or NULL. BYTES
 * that were seen: their ticks. */
void record_encode_locked(struct record_encoder *to,
			  const struct record_event *bytes,
			  const struct record_event *order);
void record_encode_seen(struct record_encoder *to, const struct record_event *e,
			uint64_t ticks);
void record_encoder_fini(struct record_encoder *to);

#endif
