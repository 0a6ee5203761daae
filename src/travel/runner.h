/* travel/runner.h - a recorded thread, once through its whole life.
 *
 * From cut to cut: system calls on their way in and out, signals, key frames,
 * its end, and the instructions that it is told to stop at. Meanwhile its loads
 * or its stores, or both, are marked in a map; what the log says of memory is
 * not. Forwards only. Hosted. */
#ifndef TRAVEL_RUNNER_H
#define TRAVEL_RUNNER_H

#include "engine/observe.h"
#include "record/recording.h"
#include "record/stream.h"

struct runner; /* opaque */

enum runner_cut {
	RUNNER_BORN,
	RUNNER_STOP,   /* about to execute one */
	RUNNER_CALL,   /* about to make a system call */
	RUNNER_CALLED, /* it has been made */
	RUNNER_SIGNAL, /* a handler is about to be entered */
	RUNNER_KEY,    /* marks are about to be taken away */
	RUNNER_END,
};

/* Of segments [first, end) of the recording. touches: OBSERVE_*. stops are in
 * ascending order, and copied. */
int runner_new(struct recording *r, unsigned first, unsigned end,
	       uint32_t touches, const uint64_t *stops, uint32_t n_stops,
	       struct runner **out, struct hark_err *err);
void runner_free(struct runner *x);
/* Another thread of the same process: what was made of its code is kept. */
int runner_restart(struct runner *x, unsigned first, unsigned end,
		   struct hark_err *err);
/* Others, from here on. */
int runner_stops(struct runner *x, const uint64_t *stops, uint32_t n,
		 struct hark_err *err);
/* Asked now and then. Not 0: it is given up (HARK_ETIME). */
typedef int runner_ask(void *ctx);
void runner_on_ask(struct runner *x, runner_ask *f, void *ctx);

/* At a stop that only loads: it is not stopped there any more, until it may
 * load something new: a turn begins, or the log says what it loads. */
int runner_hush(struct runner *x, struct hark_err *err);

/* On to the next one. */
int runner_next(struct runner *x, enum runner_cut *out, struct hark_err *err);
/* At a stop: it is executed. */
int runner_over(struct runner *x, struct hark_err *err);

const struct wire_rec_state *runner_state(const struct runner *x);
uint64_t runner_count(const struct runner *x);
uint64_t runner_pc(const struct runner *x);
unsigned runner_segment(const struct runner *x);
/* How many turns (record/order.h) it has begun since its segment did. */
uint64_t runner_turns(const struct runner *x);
/* At a CALL: what the recording says of it. */
const struct record_event *runner_call(const struct runner *x);
unsigned runner_code(struct runner *x, uint64_t pc, uint8_t *to, unsigned len);

const uint8_t *runner_shadow(const struct runner *x);
/* At the shadow's index plus OBSERVE_SKEW. Marks may be taken away. */
uint8_t *runner_map(const struct runner *x);

#endif
