/* travel/walker_frame.c - places of a walker, to start from again. */
#include "travel/walker_priv.h"

#include "record/xstate.h"
#include "travel/index.h"

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
			  .first_section = w->first_section,
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

/* Of the section that it is in. */
static void set_section_end(struct walker *w, unsigned section)
{
	w->section_end =
	    section + 1 < index_sections(w->index, w->segment)
		? index_section_count(w->index, w->segment, section + 1)
		: UINT64_MAX;
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
	w->first_section = to->first_section;
	w->section_end = UINT64_MAX;
	if (to->first_section > 0)
		set_section_end(
		    w, index_section_at(w->index, to->segment, to->count));
	w->count = to->count;
	w->step = 0;
	w->has_step = 1;
	w->is_somewhere = 1;
	return 0;
}

/* -- Sections -- */

void walker_use_sections(struct walker *w, struct index *x)
{
	w->index = x;
}

unsigned walker_first_section(const struct walker *w)
{
	return w->first_section;
}

void walker_get_state(struct walker *w, struct index_state *out)
{
	out->state = *walker_state(w);
	out->count = walker_count(w);
	out->epoch = code_epoch(w->code);
	out->n_events = w->s.n_events;
	events_mark(&w->events, &out->mark);
	/* Addresses of this process have no business in a file. */
	out->mark.spot.records.at = out->mark.spot.records.end = NULL;
	out->xstate_len = walker_xstate(w, out->xstate);
}

int walker_goto_section(struct walker *w, unsigned segment, unsigned section,
			struct hark_err *err)
{
	struct index_state s;

	w->is_somewhere = 0;
	events_close(&w->events);
	replay_clear_shadow(w->cpu);
	if (index_begin_at(w->index, segment, section, &s) < 0 ||
	    xstate_check(w->s.layout, s.xstate, s.xstate_len) < 0 ||
	    index_load(w->index, segment, section, section,
		       replay_shadow(w->cpu)) < 0 ||
	    replay_put_xstate(w->cpu, s.xstate, s.xstate_len) < 0)
		return 1;
	if (events_open_at(&w->events, w->r, &s.mark, w->end, err) < 0)
		return -1;
	segment_resume(&w->s, recording_segment(w->r, segment)->count,
		       s.n_events, s.epoch);
	*replay_state(w->cpu) = s.state;
	*replay_count(w->cpu) = s.count;
	w->segment = segment;
	w->first_section = section;
	set_section_end(w, section);
	w->count = s.count;
	w->step = 0;
	w->has_step = 1;
	w->is_somewhere = 1;
	return 0;
}

int walker_enter_section(struct walker *w, struct hark_err *err)
{
	unsigned section;

	if (walker_count(w) < w->section_end)
		return 0;
	section = index_section_at(w->index, w->segment, w->section_end);
	if (index_load(w->index, w->segment, w->first_section, section,
		       replay_shadow(w->cpu)) < 0) {
		w->is_somewhere = 0;
		return err_set(err, HARK_EINPUT, 0,
			       "the index beside the recording is damaged: "
			       "remove it");
	}
	set_section_end(w, section);
	return 0;
}
