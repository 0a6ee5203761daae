/* travel/runner.c - a recorded thread, once through its whole life. */
#include "travel/runner.h"

#include "record/segment.h"
#include "travel/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HUSHED_MOST = 8 };

struct runner {
	struct recording *r;  /* borrowed */
	struct events events; /* owned: the next is the next to be applied */
	unsigned segment;     /* where it is */
	struct replay *cpu;   /* owned */
	struct code *code;    /* owned */
	struct xstate_layout layout;
	struct segment s;
	struct observe observe; /* its stops are owned: all of them */
	uint64_t hushed[HUSHED_MOST];
	unsigned n_hushed;
	enum runner_cut at;
	/* Runs do not stop where they begin: it may be at a stop that it has
	 * not been told of. */
	int is_fresh;
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

/* All stops but those that are hushed. */
static int set_stops(struct runner *x, struct hark_err *err)
{
	struct observe o = x->observe;
	uint64_t *some = malloc((o.n_stops + 1) * sizeof *some);
	int rc;

	if (some == NULL)
		return out_of_memory(err);
	o.n_stops = 0;
	for (uint32_t i = 0; i < x->observe.n_stops; i++) {
		uint64_t pc = x->observe.stops[i];
		unsigned k = 0;

		while (k < x->n_hushed && x->hushed[k] != pc)
			k++;
		if (k == x->n_hushed)
			some[o.n_stops++] = pc;
	}
	o.stops = some;
	rc = replay_observe(x->cpu, &o) < 0 ? out_of_memory(err) : 0;
	free(some);
	return rc;
}

static int wake(struct runner *x, struct hark_err *err)
{
	if (x->n_hushed == 0)
		return 0;
	x->n_hushed = 0;
	x->is_fresh = 1;
	return set_stops(x, err);
}

int runner_restart(struct runner *x, unsigned first, unsigned end,
		   struct hark_err *err)
{
	const struct recording_segment *about = recording_segment(x->r, first);
	const struct record_event *e;
	int rc;

	events_close(&x->events);
	if (wake(x, err) < 0 ||
	    events_open(&x->events, x->r, first, end, err) < 0)
		return -1;
	x->s.process = about->process;
	x->s.thread = about->thread;
	rc = events_peek(&x->events, &e, err);
	if (rc == 0 || (rc > 0 && e->type != WIRE_REC_KEY))
		return err_set(err, HARK_EINPUT, 0,
			       "a segment has no key frame");
	if (rc < 0 || segment_begin(&x->s, e, err) < 0)
		return -1;
	events_pass(&x->events);
	x->segment = first;
	x->at = RUNNER_BORN;
	x->is_fresh = 1;
	return 0;
}

static int prepare(struct runner *x, unsigned first, unsigned end,
		   struct hark_err *err)
{
	uint32_t process = recording_segment(x->r, first)->process;

	if (code_load(x->r, process, &x->code, err) < 0)
		return -1;
	x->cpu = replay_new(fetch, x, recording_version(x->r));
	if (x->cpu == NULL || replay_observe(x->cpu, &x->observe) < 0)
		return out_of_memory(err);
	xstate_layout_of(x->r, &x->layout);
	x->s = (struct segment){
	    .cpu = x->cpu, .code = x->code, .layout = &x->layout};
	return runner_restart(x, first, end, err);
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

int runner_hush(struct runner *x, struct hark_err *err)
{
	if (x->n_hushed == HUSHED_MOST)
		return 0;
	x->hushed[x->n_hushed++] = runner_pc(x);
	return set_stops(x, err);
}

int runner_stops(struct runner *x, const uint64_t *stops, uint32_t n,
		 struct hark_err *err)
{
	uint64_t *copy;

	if (n == x->observe.n_stops && x->n_hushed == 0 &&
	    memcmp(stops, x->observe.stops, n * sizeof *stops) == 0)
		return 0;
	copy = calloc((size_t)n + 1, sizeof *copy);
	if (copy == NULL)
		return out_of_memory(err);
	memcpy(copy, stops, n * sizeof *copy);
	free((void *)x->observe.stops);
	x->observe.stops = copy;
	x->observe.n_stops = n;
	return set_stops(x, err);
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

static int is_hushed(const struct runner *x, uint64_t pc)
{
	for (unsigned i = 0; i < x->n_hushed; i++)
		if (x->hushed[i] == pc)
			return 1;
	return 0;
}

/* The record is here, and is passed. What memory held nobody has touched. */
static int apply(struct runner *x, const struct record_event *e,
		 struct hark_err *err)
{
	if ((e->type == WIRE_REC_ORDER || e->type == WIRE_REC_KEY ||
	     (is_fill(e) && is_hushed(x, e->pc))) &&
	    wake(x, err) < 0)
		return -1;
	x->is_fresh |= e->type == WIRE_REC_CALL || e->type == WIRE_REC_STATE ||
		       e->type == WIRE_REC_RESULT;
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
	if (stop == REPLAY_LACKS)
		return segment_lacks(&x->s, err);
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

/* 1: it is at a stop. */
static int is_at_stop(const struct runner *x)
{
	return observe_is_stop(&x->observe, runner_pc(x)) &&
	       !is_hushed(x, runner_pc(x));
}

static int stop_here(struct runner *x, struct hark_err *err)
{
	int rc;

	x->at = RUNNER_STOP;
	rc = take_here(x, err);
	x->is_fresh = 0; /* whatever has come: this is told */
	return rc;
}

static int run(struct runner *x, struct hark_err *err)
{
	const struct record_event *e;
	enum replay_stop stop;
	int rc;

	while ((rc = events_peek(&x->events, &e, err)) > 0) {
		if (x->ask != NULL && x->ask(x->ask_ctx))
			return err_set(err, HARK_ETIME, EINTR, "interrupted");
		if (x->is_fresh && is_at_stop(x))
			return stop_here(x, err);
		x->is_fresh = 0;
		stop = replay_run(x->cpu, e->count, e->pc);
		if (stop == REPLAY_BREAK)
			return stop_here(x, err);
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
	} else if (rc == 0 && was != RUNNER_END) {
		rc = run(x, err);
	}
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
	if (rc > 0 && is_here(x, e)) {
		if (e->type == WIRE_REC_KEY || e->type == WIRE_REC_END ||
		    (e->type == WIRE_REC_STATE && e->info & WIRE_STATE_SIGNAL))
			return 0; /* something else comes first */
		return apply(x, e, err);
	}
	x->is_fresh = 1;
	stop = replay_step(x->cpu);
	return stop == REPLAY_THERE ? 0 : diverged(x, (int)stop, err);
}
