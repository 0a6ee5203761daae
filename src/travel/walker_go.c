/* travel/walker_go.c - a walker gets somewhere.
 *
 * There is only forwards: from where it is, from a frame that was left on an
 * earlier way, or from a key frame. On a long way it leaves frames, the denser
 * the nearer it comes: whoever goes somewhere looks around there. */
#include "travel/walker_priv.h"

#include <errno.h>

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
	w->first_section = 0;
	w->section_end = UINT64_MAX;
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
	if (stop == REPLAY_LACKS)
		return segment_lacks(&w->s, err);
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
		for (unsigned i = 0; w->filled != NULL && i < done; i++)
			w->filled(w->memory_ctx, fills[i].index, fills[i].len);
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
	/* The CPU did it, unseen; also where the run begins, for callers step
	 * over it. */
	if (w->has_windows && walker_was_left(w, e)) {
		*out = WALKER_WATCH;
		return 1;
	}
	if (e->type == WIRE_REC_END) {
		*out = WALKER_END;
		return 1;
	}
	rc = walker_apply(w, e, err);
	w->count = walker_count(w);
	w->has_step = 0;
	return rc < 0 ? -1 : 0;
}

/* What is near it lies elsewhere now: windows must be set anew. */
static int has_other_fs(struct walker *w)
{
	uint64_t fs = walker_state(w)->fs_base;
	int is_other = w->has_windows && fs != w->windows_fs;

	w->windows_fs = fs;
	return is_other;
}

/* To the first instruction of a count. 1: stopped before. */
static int arrive_at(struct walker *w, uint64_t count, enum walker_stop *out,
		     struct hark_err *err)
{
	int rc = see_to(w, replay_arrive(w->cpu, count), out, err);

	if (rc == 0) {
		w->step = 0;
		w->has_step = 1;
	}
	return rc;
}

int walker_run_part(struct walker *w, uint64_t count, enum walker_stop *out,
		    struct hark_err *err)
{
	const struct record_event *e;

	while (walker_count(w) < count) {
		int rc = run_fills(w, count, out, err);

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
		if (e->count >= count) {
			*out = WALKER_THERE;
			return arrive_at(w, count, out, err) < 0 ? -1 : 0;
		}
		if (e->type == WIRE_REC_KEY) {
			*out = WALKER_END;
			rc = see_to(w, replay_run(w->cpu, e->count, e->pc), out,
				    err);
			return rc < 0 ? -1 : 0;
		}
		rc = run_over(w, e, 0, out, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
	}
	*out = WALKER_THERE;
	return 0;
}

int walker_run_segment(struct walker *w, enum walker_stop *out,
		       struct hark_err *err)
{
	return walker_run_part(w, UINT64_MAX, out, err);
}

int walker_is_at_first(const struct walker *w)
{
	return w->has_step && w->step == 0 && w->count == walker_count(w);
}

/* 1: stopped before the count. */
static int run_to(struct walker *w, uint64_t count, int calls,
		  enum walker_stop *out, struct hark_err *err)
{
	unsigned segment = w->segment;

	while (walker_count(w) < count) {
		const struct record_event *e;
		int rc;

		if (has_other_fs(w)) {
			*out = WALKER_FS;
			return 1;
		}
		rc = run_fills(w, count, out, err);
		if (rc != 0)
			return rc;
		if (is_given_up(w, err))
			return -1;
		rc = events_peek(&w->events, &e, err);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			*out = WALKER_END;
			return 1;
		}
		if (e->count >= count)
			return arrive_at(w, count, out, err);
		rc = run_over(w, e, calls, out, err);
		if (rc != 0)
			return rc;
		if (w->segment != segment)
			return 1;
	}
	if (walker_count(w) == count && w->count == count)
		w->has_step |= w->step == 0;
	return 0;
}

int walker_run(struct walker *w, uint64_t count, int calls,
	       enum walker_stop *out, struct hark_err *err)
{
	int rc = 0;

	*out = WALKER_THERE;
	w->began = walker_count(w);
	w->began_pc = walker_pc(w);
	do {
		rc = run_to(w, count < w->section_end ? count : w->section_end,
			    calls, out, err);
		if (rc == 0)
			rc = walker_enter_section(w, err);
	} while (rc == 0 && walker_count(w) < count);
	return rc < 0 ? -1 : 0;
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

/* The section to begin at; 0: the way from the key frame, or from `here` (a
 * count of the segment), is as short. To begin at a section takes about as long
 * as to replay one. */
static unsigned section_before(const struct walker *w, unsigned segment,
			       uint64_t count, uint64_t here)
{
	unsigned section;

	if (w->index == NULL)
		return 0;
	section = index_section_at(w->index, segment, count);
	return section > index_section_at(w->index, segment, here) + 1 ||
		       (here == 0 && section > 0)
		   ? section
		   : 0;
}

/* To the last place before the count, or at it, that one can start from: where
 * it is, a frame, a section of the index, or the key frame. */
static int set_out(struct walker *w, uint64_t count, struct hark_err *err)
{
	unsigned from = segment_before(w, count), section;
	const struct frame *f =
	    w->frames != NULL ? frames_before(w->frames, from, count) : NULL;
	int can_go_on =
	    w->is_somewhere && w->segment >= from && walker_count(w) < count;
	uint64_t here = can_go_on ? walker_count(w) : 0;
	int rc = 1;

	if (f != NULL && f->count > here)
		here = f->count;
	section = section_before(w, from, count, here);
	if (section > 0)
		rc = walker_goto_section(w, from, section, err);
	if (rc <= 0)
		return rc;
	can_go_on = can_go_on && w->is_somewhere;
	if (f != NULL && (!can_go_on || walker_count(w) < f->count))
		return walker_return(w, f, err);
	return can_go_on ? 0 : walker_goto_segment(w, from, err);
}

/* Where the next frame is to be left on the way to a count: half-way. */
static uint64_t next_stop(const struct walker *w, uint64_t count)
{
	uint64_t left = count - walker_count(w);

	return w->frames == NULL || left <= frames_near(w->frames)
		   ? count
		   : count - left / 2;
}

static int is_at_first(const struct walker *w, uint64_t count)
{
	return w->has_step && w->step == 0 && w->count == count &&
	       walker_count(w) == count;
}

/* To the first instruction of the count, or to the end. */
static int arrive(struct walker *w, uint64_t count, struct hark_err *err)
{
	enum walker_stop stop = WALKER_THERE;

	if (set_out(w, count, err) < 0)
		return -1;
	while (stop != WALKER_END && walker_count(w) < count) {
		uint64_t next = next_stop(w, count);

		if (walker_run(w, next, 0, &stop, err) < 0 ||
		    (stop == WALKER_WATCH && walker_step(w, err) < 0))
			return -1;
		if (next < count && is_at_first(w, next) &&
		    walker_leave_frame(w, err) < 0)
			return -1;
	}
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

void walker_know_step(struct walker *w, const struct walker_place *place)
{
	if (!w->is_somewhere || walker_count(w) != place->count ||
	    walker_pc(w) != place->pc)
		return;
	w->count = place->count;
	w->step = place->step;
	w->has_step = 1;
}
