/* travel/walker.c - one recorded thread, at a moment that can be chosen.
 *
 * Records and instructions take turns: a record is applied when the thread is
 * at its position, and then either is all that happens there (a system call, a
 * signal) or comes before the instruction (what memory held).
 *
 * W1  Records of positions before the present one have been passed; those of
 *     the present one may have been, or not.
 * W2  At a key frame the walker is in the segment that begins there. */
#include "travel/walker.h"

#include "record/segment.h"
#include "travel/events.h"
#include "x86/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct walker {
	struct recording *r;  /* borrowed */
	unsigned first, end;  /* its segments */
	unsigned segment;     /* where it is */
	struct events events; /* owned: the next is the next to be applied */
	struct replay *cpu;   /* owned */
	struct code *code;    /* owned */
	struct xstate_layout layout;
	struct segment s;
	uint64_t count, step; /* of the present place, if has_step */
	int has_step;
	int is_somewhere;
	uint64_t began, began_pc; /* where the run did */
	walker_ask *ask;
	void *ask_ctx;
	walker_change *change;
	void *change_ctx;
};

/* -- Life -- */

static unsigned fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	const struct walker *w = ctx;

	return code_fetch(w->code, pc, to, len);
}

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM,
		       "no memory to replay in (it takes 8 GiB of address "
		       "space for each thread)");
}

static int prepare(struct walker *w, struct hark_err *err)
{
	const struct recording_segment *about =
	    recording_segment(w->r, w->first);
	const struct observe touches = {.touches =
					    OBSERVE_LOADS | OBSERVE_STORES};

	if (code_load(w->r, about->process, &w->code, err) < 0)
		return -1;
	w->cpu = replay_new(fetch, w);
	if (w->cpu == NULL || replay_observe(w->cpu, &touches) < 0)
		return out_of_memory(err);
	xstate_layout_of(w->r, &w->layout);
	w->s = (struct segment){.cpu = w->cpu,
				.code = w->code,
				.layout = &w->layout,
				.process = about->process,
				.thread = about->thread};
	return 0;
}

int walker_new(struct recording *r, unsigned first, unsigned end,
	       struct walker **out, struct hark_err *err)
{
	struct walker *w = calloc(1, sizeof *w);

	if (w == NULL)
		return out_of_memory(err);
	w->r = r;
	w->first = first;
	w->end = end;
	if (prepare(w, err) < 0) {
		walker_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void walker_free(struct walker *w)
{
	if (w == NULL)
		return;
	events_close(&w->events);
	replay_free(w->cpu);
	code_free(w->code);
	free(w);
}

void walker_on_change(struct walker *w, walker_change *f, void *ctx)
{
	w->change = f;
	w->change_ctx = ctx;
}

uint64_t walker_key_count(const struct walker *w)
{
	return recording_segment(w->r, w->segment)->count;
}

void walker_on_ask(struct walker *w, walker_ask *f, void *ctx)
{
	w->ask = f;
	w->ask_ctx = ctx;
}

int walker_observe(struct walker *w, const struct observe *o,
		   struct hark_err *err)
{
	struct observe with = {0};

	if (o != NULL)
		with = *o;
	with.touches = OBSERVE_LOADS | OBSERVE_STORES;
	return replay_observe(w->cpu, &with) < 0 ? out_of_memory(err) : 0;
}

/* -- The present -- */

uint64_t walker_count(const struct walker *w)
{
	return *replay_count(w->cpu);
}

uint64_t walker_pc(const struct walker *w)
{
	return replay_state(w->cpu)->pc;
}

unsigned walker_segment(const struct walker *w)
{
	return w->segment;
}

const struct wire_rec_state *walker_state(const struct walker *w)
{
	return replay_state(w->cpu);
}

uint32_t walker_xstate(struct walker *w, uint8_t out[WIRE_XSTATE_MAX])
{
	return replay_get_xstate(w->cpu, out);
}

const uint8_t *walker_shadow(const struct walker *w)
{
	return replay_shadow(w->cpu);
}

const uint8_t *walker_touched(const struct walker *w)
{
	return replay_touched(w->cpu);
}

unsigned walker_code(struct walker *w, uint64_t pc, uint8_t *to, unsigned len)
{
	return code_fetch(w->code, pc, to, len);
}

/* Steps are counted from the first instruction of a count. */
static void note_step(struct walker *w)
{
	uint64_t now = walker_count(w);

	if (now != w->count) {
		w->step = 0;
		w->has_step = 1;
	} else {
		w->step++;
	}
	w->count = now;
}

static int is_here(const struct walker *w, const struct record_event *e)
{
	return e->count == walker_count(w) && e->pc == walker_pc(w);
}

static int is_fill(const struct record_event *e)
{
	return e->type == WIRE_REC_GRANULE || e->type == WIRE_REC_BYTES;
}

static void fill_in(struct walker *w, const struct record_event *e)
{
	if (w->change != NULL)
		w->change(w->change_ctx, (uint32_t)e->index, e->len);
	replay_fill(w->cpu, (uint32_t)e->index, e->bytes, e->len);
}

uint64_t walker_turns(struct walker *w)
{
	const struct record_event *e;
	struct hark_err ignored;

	while (events_peek(&w->events, &e, &ignored) > 0 && is_here(w, e) &&
	       (is_fill(e) || e->type == WIRE_REC_ORDER)) {
		if (is_fill(e))
			fill_in(w, e);
		events_pass(&w->events);
	}
	return w->events.n_orders;
}

uint64_t walker_passed(const struct walker *w)
{
	return w->events.n_passed;
}

int walker_byte(const struct walker *w, uint64_t address, uint8_t *out)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);

	*out = walker_shadow(w)[index];
	return walker_touched(w)[(uint32_t)(index + OBSERVE_SKEW)] != 0;
}

/* The signal that is about to be delivered, or that ends it all. */
static int signal_of(const struct record_event *e, uint8_t siginfo[128])
{
	int32_t signo;

	if (e->siginfo == NULL)
		return 0;
	memcpy(siginfo, e->siginfo, 128);
	memcpy(&signo, e->siginfo, sizeof signo);
	return signo;
}

int walker_signal(struct walker *w, uint8_t siginfo[128])
{
	const struct record_event *e;
	struct hark_err ignored;

	while (events_peek(&w->events, &e, &ignored) > 0 && is_here(w, e)) {
		if (e->type == WIRE_REC_STATE || e->type == WIRE_REC_END)
			return signal_of(e, siginfo);
		if (!is_fill(e) && e->type != WIRE_REC_ORDER)
			break;
		if (is_fill(e))
			fill_in(w, e);
		events_pass(&w->events);
	}
	return 0;
}

/* -- Records -- */

/* What an instruction that was left to the CPU has stored, nobody knows. */
static void forget_stored(struct walker *w, const struct record_event *e)
{
	uint8_t code[X86_MAX_LEN];
	unsigned have = code_fetch(w->code, e->pc, code, sizeof code);
	const struct wire_rec_state *s = walker_state(w);
	struct x86_insn x;
	uint64_t address;
	uint32_t size;

	if (x86_decode(code, have, &x) != X86_OK || !x.is_mem ||
	    !(x.row->mem & X86_M_WRITE))
		return;
	address = (uint64_t)x.disp;
	if (x.base == X86_RIP)
		address += e->pc + x.len;
	else if (x.base < 16)
		address += s->gpr[x.base];
	if (x.index < 16)
		address += s->gpr[x.index] << x.scale;
	size = x.row->mem_size != 0 ? x.row->mem_size : 4096;
	if (w->change != NULL)
		w->change(w->change_ctx, (uint32_t)(address + WIRE_SHADOW_SKEW),
			  size);
	replay_forget(w->cpu, (uint32_t)(address + WIRE_SHADOW_SKEW), size);
}

/* The record is here, and is passed. 1: it was all that happens here. */
static int apply(struct walker *w, const struct record_event *e,
		 struct hark_err *err)
{
	int is_all = e->type == WIRE_REC_CALL || e->type == WIRE_REC_RESULT ||
		     e->type == WIRE_REC_STATE;

	if (e->type == WIRE_REC_STATE && e->info & WIRE_STATE_STEP)
		forget_stored(w, e);
	if (is_fill(e))
		fill_in(w, e);
	else if (e->type != WIRE_REC_ORDER && segment_apply(&w->s, e, err) < 0)
		return -1;
	if (e->type == WIRE_REC_KEY) { /* W2 */
		if (segment_begin(&w->s, e, err) < 0)
			return -1;
		w->segment = w->events.segment;
	}
	events_pass(&w->events);
	return is_all;
}

int walker_step(struct walker *w, struct hark_err *err)
{
	const struct record_event *e;
	int rc;

	while ((rc = events_peek(&w->events, &e, err)) > 0 && is_here(w, e)) {
		if (e->type == WIRE_REC_END)
			return 1;
		rc = apply(w, e, err);
		if (rc < 0)
			return -1;
		if (rc > 0) {
			note_step(w);
			return 0;
		}
	}
	if (rc <= 0)
		return rc < 0 ? -1 : 1;
	switch (replay_step(w->cpu)) {
	case REPLAY_THERE:
		note_step(w);
		return 0;
	default:
		return err_set(err, HARK_EBUG, 0,
			       "thread %u cannot go on at 0x%llx", w->s.thread,
			       (unsigned long long)walker_pc(w));
	}
}

/* -- Going -- */

int walker_goto_segment(struct walker *w, unsigned i, struct hark_err *err)
{
	const struct record_event *e;
	int rc;

	events_close(&w->events);
	w->is_somewhere = 0;
	if (events_open(&w->events, w->r, i, w->end, err) < 0)
		return -1;
	rc = events_peek(&w->events, &e, err);
	if (rc == 0 || (rc > 0 && e->type != WIRE_REC_KEY))
		return err_set(err, HARK_EINPUT, 0,
			       "a segment has no key frame");
	if (rc < 0 || segment_begin(&w->s, e, err) < 0)
		return -1;
	events_pass(&w->events);
	w->segment = i;
	w->count = walker_count(w);
	w->step = 0;
	w->has_step = i == w->first;
	w->is_somewhere = 1;
	return 0;
}

static int is_given_up(struct walker *w, struct hark_err *err)
{
	if (w->ask == NULL || !w->ask(w->ask_ctx))
		return 0;
	w->is_somewhere = 0;
	err_set(err, HARK_ETIME, EINTR, "interrupted");
	return 1;
}

static int diverged(struct walker *w, enum replay_stop stop,
		    struct hark_err *err)
{
	w->is_somewhere = 0;
	return err_set(err, HARK_EBUG, 0,
		       "thread %u does not go on as recorded at 0x%llx (%d)",
		       w->s.thread, (unsigned long long)walker_pc(w),
		       (int)stop);
}

/* 1: stopped for somebody; *out says why. */
static int see_to(struct walker *w, enum replay_stop stop,
		  enum walker_stop *out, struct hark_err *err)
{
	w->has_step = 0;
	w->count = walker_count(w);
	switch (stop) {
	case REPLAY_THERE:
		return 0;
	case REPLAY_BREAK:
		*out = WALKER_BREAK;
		return 1;
	case REPLAY_WATCH:
		*out = WALKER_WATCH;
		return 1;
	default:
		return diverged(w, stop, err);
	}
}

/* Fills that come before the count. */
static int run_fills(struct walker *w, uint64_t count, enum walker_stop *out,
		     struct hark_err *err)
{
	const struct replay_fill *fills;
	enum replay_stop stop;
	unsigned n, done;

	for (;;) {
		int rc;

		if (events_fills(&w->events, count, &fills, &n, err) < 0)
			return -1;
		if (n == 0)
			return 0;
		done = replay_run_fills(w->cpu, fills, n, &stop);
		while (done-- > 0)
			events_pass(&w->events);
		rc = see_to(w, stop, out, err);
		if (rc != 0)
			return rc;
		if (is_given_up(w, err))
			return -1;
	}
}

static int is_wanted(const struct record_event *e, enum walker_stop *out)
{
	*out = e->type == WIRE_REC_CALL ? WALKER_CALL : WALKER_SIGNAL;
	return e->type == WIRE_REC_CALL ||
	       (e->type == WIRE_REC_STATE && e->info & WIRE_STATE_SIGNAL);
}

/* Up to the record, which is no fill, and over it. 1: stopped before it. */
static int run_over(struct walker *w, const struct record_event *e, int calls,
		    enum walker_stop *out, struct hark_err *err)
{
	int began_here = e->count == w->began && e->pc == w->began_pc;
	int rc = see_to(w, replay_run(w->cpu, e->count, e->pc), out, err);

	if (rc != 0)
		return rc;
	if (calls && !began_here && is_wanted(e, out))
		return 1;
	if (e->type == WIRE_REC_END) {
		*out = WALKER_END;
		return 1;
	}
	rc = apply(w, e, err);
	w->count = walker_count(w);
	w->has_step = 0;
	return rc < 0 ? -1 : 0;
}

int walker_run_segment(struct walker *w, enum walker_stop *out,
		       struct hark_err *err)
{
	const struct record_event *e;

	for (;;) {
		int rc = run_fills(w, UINT64_MAX, out, err);

		if (rc == 0)
			rc = events_peek(&w->events, &e, err);
		else
			return rc < 0 ? -1 : 0;
		if (rc < 0 || is_given_up(w, err))
			return -1;
		if (rc == 0) {
			*out = WALKER_END;
			return 0;
		}
		if (e->type == WIRE_REC_KEY) {
			rc = see_to(w, replay_run(w->cpu, e->count, e->pc), out,
				    err);
			return rc < 0 ? -1 : 0;
		}
		rc = run_over(w, e, 0, out, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
	}
}

int walker_run(struct walker *w, uint64_t count, int calls,
	       enum walker_stop *out, struct hark_err *err)
{
	unsigned segment = w->segment;

	*out = WALKER_THERE;
	w->began = walker_count(w);
	w->began_pc = walker_pc(w);
	while (walker_count(w) < count) {
		const struct record_event *e;
		int rc = run_fills(w, count, out, err);

		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (is_given_up(w, err))
			return -1;
		rc = events_peek(&w->events, &e, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			*out = WALKER_END;
			return 0;
		}
		if (e->count >= count) {
			rc = see_to(w, replay_arrive(w->cpu, count), out, err);
			if (rc == 0) {
				w->step = 0;
				w->has_step = 1;
			}
			return rc < 0 ? -1 : 0;
		}
		rc = run_over(w, e, calls, out, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (w->segment != segment)
			return 0;
	}
	if (walker_count(w) == count && w->count == count)
		w->has_step |= w->step == 0;
	return 0;
}

/* The last segment that begins before the count: a key frame may stand in the
 * middle of one. */
static unsigned segment_before(const struct walker *w, uint64_t count)
{
	unsigned low = w->first, high = w->end;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (recording_segment(w->r, middle)->count < count)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* To the first instruction of the count, or to the end. */
static int arrive(struct walker *w, uint64_t count, struct hark_err *err)
{
	unsigned from = segment_before(w, count);
	enum walker_stop stop = WALKER_THERE;

	if ((!w->is_somewhere || w->segment < from ||
	     walker_count(w) >= count) &&
	    walker_goto_segment(w, from, err) < 0)
		return -1;
	while (stop != WALKER_END && walker_count(w) < count)
		if (walker_run(w, count, 0, &stop, err) < 0 ||
		    (stop == WALKER_WATCH && walker_step(w, err) < 0))
			return -1;
	if (walker_count(w) == count) {
		/* By a record, or at the thread's very first instruction. */
		w->count = count;
		w->step = 0;
		w->has_step = 1;
	}
	return stop == WALKER_END;
}

int walker_goto(struct walker *w, uint64_t count, uint64_t step,
		struct hark_err *err)
{
	int rc;

	if (!w->is_somewhere || !w->has_step || w->count != count ||
	    w->step > step) {
		rc = arrive(w, count, err);
		if (rc != 0)
			return rc;
	}
	while (w->count == count && w->step < step) {
		rc = walker_step(w, err);
		if (rc != 0)
			return rc;
	}
	return w->count == count
		   ? 0
		   : err_set(err, HARK_ENOENT, 0,
			     "thread %u has no moment %llu+%llu", w->s.thread,
			     (unsigned long long)count,
			     (unsigned long long)step);
}

int walker_goto_pc(struct walker *w, uint64_t count, uint64_t pc,
		   struct hark_err *err)
{
	int rc = 0;

	/* It may lie ahead. */
	while (w->is_somewhere && w->has_step && w->count == count) {
		if (walker_pc(w) == pc)
			return 0;
		rc = walker_step(w, err);
		if (rc != 0)
			break;
	}
	if (rc < 0)
		return -1;
	rc = walker_goto(w, count, 0, err);
	while (rc == 0 && walker_pc(w) != pc) {
		rc = walker_step(w, err);
		if (rc == 0 && w->count != count)
			return err_set(err, HARK_ENOENT, 0,
				       "thread %u does not come to 0x%llx",
				       w->s.thread, (unsigned long long)pc);
	}
	return rc;
}

int walker_place(struct walker *w, struct walker_place *out,
		 struct hark_err *err)
{
	uint64_t count = walker_count(w), pc = walker_pc(w);

	if (!w->has_step && walker_goto_pc(w, count, pc, err) < 0)
		return -1;
	*out = (struct walker_place){count, w->step, pc};
	return 0;
}
