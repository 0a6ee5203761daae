/* outside/recorder_key.c - how far apart are key frames, if only the newest
 * bytes are kept?
 *
 * With --ring what is too old goes in whole segments, from key frame to key
 * frame. A program chooses their distance by what they cost (record/collect.c):
 * of one with much memory a segment may be larger than all that is to be kept,
 * and then nothing would be. So hark chooses it: such that PARTS segments of
 * each thread fit. It starts small, for programs ask for it only when a key
 * frame is due, and at most doubles from one to the next; each segment teaches
 * how many bytes a count is. As long as one grows beyond its part the distance
 * is halved at every look. */
#include "outside/recorder_priv.h"

enum {
	PARTS = 4,
	AT_FIRST = 20000, /* counts */
	AT_LEAST = 100,
	AT_MOST = 1 << 30,
};

static void set_distance(struct recorder_source *s, uint64_t counts)
{
	s->key_every = counts < AT_LEAST  ? AT_LEAST
		       : counts > AT_MOST ? AT_MOST
					  : counts;
	if (drain_base(s->drain) != NULL)
		__atomic_store_n(
		    &wire_recording_of(drain_base(s->drain))->key_every,
		    s->key_every, __ATOMIC_RELAXED);
}

uint64_t recorder_key_first(struct recorder_source *s)
{
	const struct recorder_plan *plan = &s->recorder->plan;

	s->key_every = plan->keep != 0 && plan->key_every == 0 ? AT_FIRST : 0;
	return s->key_every != 0 ? s->key_every : plan->key_every;
}

/* Bytes that a segment may have. */
static uint64_t part_of(const struct recorder_source *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_rings; i++)
		n += s->streams[i].kind == STREAM_THREAD;
	return s->recorder->plan.keep / PARTS / (n > 0 ? n : 1) + 1;
}

void recorder_key_seen(struct recorder_source *s, struct stream *t,
		       uint64_t count)
{
	uint64_t counts = count - t->segment_count, bytes = t->segment_bytes;
	uint64_t part, want;

	t->segment_count = count;
	t->segment_bytes = 0;
	if (s->key_every == 0 || bytes == 0 || counts == 0 ||
	    counts > UINT32_MAX)
		return;
	part = part_of(s);
	want = part > UINT32_MAX ? AT_MOST : counts * part / bytes;
	set_distance(s, want < 2 * s->key_every ? want : 2 * s->key_every);
}

void recorder_key_look(struct recorder_source *s)
{
	uint64_t part;

	if (s->key_every == 0)
		return;
	part = part_of(s);
	for (uint32_t i = 0; i < s->n_rings; i++)
		if (s->streams[i].kind == STREAM_THREAD &&
		    s->streams[i].segment_bytes > part) {
			set_distance(s, s->key_every / 2);
			return;
		}
}
