/* travel/walker_frame.c - places of a walker, to start from again. */
#include "travel/walker_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void walker_use_frames(struct walker *w, struct frames *frames)
{
	w->frames = frames;
}

static int take_xstate(struct walker *w, struct frame *out)
{
	uint8_t bytes[WIRE_XSTATE_MAX];

	out->xstate_len = walker_xstate(w, bytes);
	out->xstate = malloc(out->xstate_len);
	if (out->xstate == NULL)
		return -1;
	memcpy(out->xstate, bytes, out->xstate_len);
	return 0;
}

int walker_leave_frame(struct walker *w, struct hark_err *err)
{
	struct frame f = {.segment = w->segment,
			  .count = walker_count(w),
			  .state = *walker_state(w),
			  .epoch = code_epoch(w->code),
			  .n_events = w->s.n_events};
	const struct frame *like = frames_before(w->frames, f.segment, f.count);

	if (like != NULL && like->count == f.count)
		return 0;
	if (take_xstate(w, &f) < 0)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	f.memory = sheet_take(walker_shadow(w), walker_touched(w),
			      like != NULL ? like->memory : NULL, err);
	if (f.memory == NULL) {
		free(f.xstate);
		return -1;
	}
	events_mark(&w->events, &f.mark);
	return frames_add(w->frames, &f, err);
}

int walker_return(struct walker *w, const struct frame *to,
		  struct hark_err *err)
{
	w->is_somewhere = 0;
	events_close(&w->events);
	if (events_open_at(&w->events, w->r, &to->mark, w->end, err) < 0)
		return -1;
	segment_resume(&w->s, recording_segment(w->r, to->segment)->count,
		       to->n_events, to->epoch);
	*replay_state(w->cpu) = to->state;
	*replay_count(w->cpu) = to->count;
	if (replay_put_xstate(w->cpu, to->xstate, to->xstate_len) < 0)
		return err_set(err, HARK_EBUG, 0,
			       "a frame is of no known form");
	replay_clear_shadow(w->cpu);
	sheet_put(to->memory, replay_shadow(w->cpu),
		  (uint8_t *)walker_touched(w));
	w->segment = to->segment;
	w->count = to->count;
	w->step = 0;
	w->has_step = 1;
	w->is_somewhere = 1;
	return 0;
}
