/* tests/unit/record_sample.h - a small program, and what a recorder would have
 * written of a round of it. */
#ifndef TESTS_RECORD_SAMPLE_H
#define TESTS_RECORD_SAMPLE_H

#include "record/stream.h"

enum {
	SAMPLE_START = 0x1000, /* where it lies */
	SAMPLE_LOAD = 0x100c,
	SAMPLE_CALL = 0x100f,
	SAMPLE_RESULT = 0x1011,
	SAMPLE_LEN = 24,
	SAMPLE_DATA = 0x20000, /* what it loads */
	SAMPLE_EVENTS = 5,
};

/* Of general registers, by hardware number. */
enum { RAX, RCX, RDX, RBX, RSI = 6, RDI, R11 = 11 };

extern const uint8_t sample_program[SAMPLE_LEN];

/* ORDER: what sample_events makes. */
enum { EV_KEY, EV_BYTES, EV_CALL, EV_RESULT, EV_NEXT };

/* One round: from the KEY at 100 to the next KEY at 105. */
void sample_events(struct record_event e[SAMPLE_EVENTS]);
/* The END of a thread that was last at that KEY and then came to LOAD. */
struct record_event sample_end(void);
/* Extended registers in their initial state. */
const uint8_t *sample_xstate(void);

#endif
