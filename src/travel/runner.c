/* travel/runner.c - a recorded thread, once through its whole life. */
#include "travel/runner.h"

#include "record/segment.h"
#include "travel/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct runner {
	struct recording *r;  /* borrowed */
	struct events events; /* owned: the next is the next to be applied */
	unsigned segment;     /* where it is */
	struct replay *cpu;   /* owned */
	struct code *code;    /* owned */
	struct xstate_layout layout;
	struct segment s;
	struct observe observe; /* its stops are owned */
	enum runner_cut at;
	int is_over; /* the stop that it was at */
	struct record_event call;
	runner_ask *ask;
	void *ask_ctx;
};

/* -- Life -- */

static unsigned fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	const struct runner *x = ctx;

	return code_fetch(x->code, pc, to, len);
}

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM,
		       "no memory to replay in (it takes 8 GiB of address "
		       "space for each thread)");
}

static int prepare(struct runner *x, unsigned first, unsigned end,
		   struct hark_err *err)
{
	const struct recording_segment *about = recording_segment(x->r, first);
	const struct record_event *e;
	int rc;

	if (code_load(x->r, about->process, &x->code, err) < 0)
		return -1;
	x->cpu = replay_new(fetch, x);
	if (x->cpu == NULL || replay_observe(x->cpu, &x->observe) < 0)
		return out_of_memory(err);
	xstate_layout_of(x->r, &x->layout);
	x->s = (struct segment){.cpu = x->cpu,
				.code = x->code,
				.layout = &x->layout,
				.process = about->process,
				.thread = about->thread};
	if (events_open(&x->events, x->r, first, end, err) < 0)
		return -1;
	rc = events_peek(&x->events, &e, err);
	if (rc == 0 || (rc > 0 && e->type != WIRE_REC_KEY))
		return err_set(err, HARK_EINPUT, 0,
			       "a segment has no key frame");
	if (rc < 0 || segment_begin(&x->s, e, err) < 0)
		return -1;
	events_pass(&x->events);
	x->segment = first;
	return 0;
}

int runner_new(struct recording *r, unsigned first, unsigned end,
	       uint32_t touches, const uint64_t *stops, uint32_t n_stops,
	       struct runner **out, struct hark_err *err)
{
	struct runner *x = calloc(1, sizeof *x);
	uint64_t *copy = calloc((size_t)n_stops + 1, sizeof *copy);

	if (x == NULL || copy == NULL) {
		free(copy);
		free(x);
		return out_of_memory(err);
	}
	if (n_stops > 0)
		memcpy(copy, stops, n_stops * sizeof *copy);
	x->r = r;
	x->observe = (struct observe){
	    .touches = touches, .stops = copy, .n_stops = n_stops};
	if (prepare(x, first, end, err) < 0) {
		runner_free(x);
		return -1;
	}
	*out = x;
	return 0;
}

void runner_free(struct runner *x)
{
	if (x == NULL)
		return;
	events_close(&x->events);
	replay_free(x->cpu);
	code_free(x->code);
	free((void *)x->observe.stops);
	free(x);
}

int runner_stops(struct runner *x, const uint64_t *stops, uint32_t n,
		 struct hark_err *err)
{
	uint64_t *copy = calloc((size_t)n + 1, sizeof *copy);

	if (copy == NULL)
		return out_of_memory(err);
	memcpy(copy, stops, n * sizeof *copy);
	free((void *)x->observe.stops);
	x->observe.stops = copy;
	x->observe.n_stops = n;
	return replay_observe(x->cpu, &x->observe) < 0 ? out_of_memory(err) : 0;
}

void runner_on_ask(struct runner *x, runner_ask *f, void *ctx)
{
	x->ask = f;
	x->ask_ctx = ctx;
}

/* -- The present -- */

const struct wire_rec_state *runner_state(const struct runner *x)
{
	return replay_state(x->cpu);
}

uint64_t runner_count(const struct runner *x)
{
	return *replay_count(x->cpu);
}

uint64_t runner_pc(const struct runner *x)
{
	return replay_state(x->cpu)->pc;
}

unsigned runner_segment(const struct runner *x)
{
	return x->segment;
}

uint64_t runner_turns(const struct runner *x)
{
	return x->events.n_orders;
}

const struct record_event *runner_call(const struct runner *x)
{
	return &x->call;
}

unsigned runner_code(struct runner *x, uint64_t pc, uint8_t *to, unsigned len)
{
	return code_fetch(x->code, pc, to, len);
}

const uint8_t *runner_shadow(const struct runner *x)
{
	return replay_shadow(x->cpu);
}

uint8_t *runner_map(const struct runner *x)
{
	return (uint8_t *)replay_touched(x->cpu);
}

/* -- Records -- */

static int is_here(const struct runner *x, const struct record_event *e)
{
	return e->count == runner_count(x) && e->pc == runner_pc(x);
}

static int is_fill(const struct record_event *e)
{
	return e->type == WIRE_REC_GRANULE || e->type == WIRE_REC_BYTES;
}

/* The record is here, and is passed. What memory held nobody has touched. */
static int apply(struct runner *x, const struct record_event *e,
		 struct hark_err *err)
{
	if (is_fill(e))
		memcpy(replay_shadow(x->cpu) + (uint32_t)e->index, e->bytes,
		       e->len);
	else if (e->type != WIRE_REC_ORDER && segment_apply(&x->s, e, err) < 0)
		return -1;
	if (e->type == WIRE_REC_KEY) {
		if (segment_begin(&x->s, e, err) < 0)
			return -1;
		x->segment = x->events.segment;
	}
	events_pass(&x->events);
	return 0;
}

/* What is said of memory and of turns here. */
static int take_here(struct runner *x, struct hark_err *err)
{
	const struct record_event *e;
	int rc;

	while ((rc = events_peek(&x->events, &e, err)) > 0 && is_here(x, e) &&
	       (is_fill(e) || e->type == WIRE_REC_ORDER))
		if (apply(x, e, err) < 0)
			return -1;
	return rc < 0 ? -1 : 0;
}

static int apply_next(struct runner *x, struct hark_err *err)
{
	const struct record_event *e;
	int rc = events_peek(&x->events, &e, err);

	return rc <= 0 ? rc : apply(x, e, err);
}

/* -- Going -- */

static int diverged(const struct runner *x, int stop, struct hark_err *err)
{
	return err_set(err, HARK_EBUG, 0,
		       "thread %u does not go on as recorded at 0x%llx (%d)",
		       x->s.thread, (unsigned long long)runner_pc(x), stop);
}

static int is_cut(struct runner *x, const struct record_event *e)
{
	switch (e->type) {
	case WIRE_REC_CALL:
		x->call = *e;
		x->at = RUNNER_CALL;
		return 1;
	case WIRE_REC_KEY:
		x->at = RUNNER_KEY;
		return 1;
	case WIRE_REC_END:
		x->at = RUNNER_END;
		return 1;
	case WIRE_REC_STATE:
		x->at = RUNNER_SIGNAL;
		return (e->info & WIRE_STATE_SIGNAL) != 0;
	default:
		return 0;
	}
}

static int run(struct runner *x, struct hark_err *err)
{
	const struct record_event *e;
	enum replay_stop stop;
	int rc;

	while ((rc = events_peek(&x->events, &e, err)) > 0) {
		if (x->ask != NULL && x->ask(x->ask_ctx))
			return err_set(err, HARK_ETIME, EINTR, "interrupted");
		stop = replay_run(x->cpu, e->count, e->pc);
		if (stop == REPLAY_BREAK) {
			x->at = RUNNER_STOP;
			return take_here(x, err);
		}
		if (stop != REPLAY_THERE)
			return diverged(x, (int)stop, err);
		if (is_cut(x, e))
			return 0;
		if (apply(x, e, err) < 0)
			return -1;
	}
	x->at = RUNNER_END;
	return rc;
}

int runner_next(struct runner *x, enum runner_cut *out, struct hark_err *err)
{
	enum runner_cut was = x->at;
	int rc = 0;

	if (was == RUNNER_CALL || was == RUNNER_SIGNAL || was == RUNNER_KEY)
		rc = apply_next(x, err);
	if (rc == 0 && was == RUNNER_CALL) {
		x->at = RUNNER_CALLED;
		rc = take_here(x, err);
	} else if (rc == 0 && x->is_over &&
		   observe_is_stop(&x->observe, runner_pc(x))) {
		x->at = RUNNER_STOP; /* runs do not stop where they begin */
		rc = take_here(x, err);
	} else if (rc == 0 && was != RUNNER_END) {
		rc = run(x, err);
	}
	x->is_over = 0;
	if (rc == 0)
		*out = x->at;
	return rc;
}

int runner_over(struct runner *x, struct hark_err *err)
{
	const struct record_event *e;
	enum replay_stop stop;
	int rc = events_peek(&x->events, &e, err);

	if (rc < 0)
		return -1;
	x->is_over = 1;
	if (rc > 0 && is_here(x, e)) {
		if (e->type == WIRE_REC_KEY || e->type == WIRE_REC_END ||
		    (e->type == WIRE_REC_STATE &&
		     e->info & WIRE_STATE_SIGNAL)) {
			x->is_over = 0; /* something else comes first */
			return 0;
		}
		return apply(x, e, err);
	}
	stop = replay_step(x->cpu);
	return stop == REPLAY_THERE ? 0 : diverged(x, (int)stop, err);
}
