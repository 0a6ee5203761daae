/* travel/last_values.c - the last value of each thread, word by word.
 *
 * A word of 8 bytes has a list of views. A view is what one thread touched at
 * one time: some bytes of the word.
 *
 * LAST-VALUES-1  Of each byte a thread has one view at most: a new one takes
 *                its bytes away from the thread's older ones, and those that
 *                have none left are dropped. */
#include "travel/last_values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, NONE = UINT32_MAX, THREADS_MOST = 256 };

struct view {
	struct last_touch touch;
	uint8_t bytes[WORD];
	uint8_t mask; /* of the word's bytes; not 0 */
	unsigned thread;
	uint32_t next; /* of the word; or of those that are not used */
};

struct slot {
	uint64_t word;
	uint32_t first; /* view; NONE: the slot is empty */
};

struct last_values {
	struct slot *slots; /* owned; a power of two, open addressing */
	size_t n_slots, n_words;
	struct view *views; /* owned */
	uint32_t n_views, room_views, unused;
};

/* -- Words -- */

static struct slot *slot_of(const struct last_values *v, uint64_t word)
{
	size_t i = (size_t)(word * 0x9e3779b97f4a7c15ull >> 20);

	for (;; i++) {
		struct slot *s = &v->slots[i & (v->n_slots - 1)];

		if (s->first == NONE || s->word == word)
			return s;
	}
}

static int make_slots(struct last_values *v, size_t n)
{
	struct slot *old = v->slots;
	size_t n_old = v->n_slots;

	v->slots = calloc(n, sizeof *v->slots);
	if (v->slots == NULL) {
		v->slots = old;
		return -1;
	}
	v->n_slots = n;
	for (size_t i = 0; i < n; i++)
		v->slots[i].first = NONE;
	v->n_words = 0;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].first != NONE) {
			*slot_of(v, old[i].word) = old[i];
			v->n_words++;
		}
	free(old);
	return 0;
}

struct last_values *last_values_new(void)
{
	struct last_values *v = calloc(1, sizeof *v);

	if (v == NULL)
		return NULL;
	v->unused = NONE;
	if (make_slots(v, 64) < 0) {
		free(v);
		return NULL;
	}
	return v;
}

void last_values_free(struct last_values *v)
{
	if (v == NULL)
		return;
	free(v->slots);
	free(v->views);
	free(v);
}

/* -- Views -- */

/* NONE: no memory. */
static uint32_t take_view(struct last_values *v)
{
	uint32_t i = v->unused;

	if (i != NONE) {
		v->unused = v->views[i].next;
		return i;
	}
	if (v->n_views == v->room_views) {
		uint32_t room = v->room_views == 0 ? 64 : 2 * v->room_views;
		struct view *more =
		    room < NONE / 2 ? reallocarray(v->views, room, sizeof *more)
				    : NULL;

		if (more == NULL)
			return NONE;
		v->views = more;
		v->room_views = room;
	}
	return v->n_views++;
}

static void drop_view(struct last_values *v, uint32_t *at)
{
	uint32_t i = *at;

	*at = v->views[i].next;
	v->views[i].next = v->unused;
	v->unused = i;
}

/* LAST-VALUES-1. The caller adds a view at once: a slot that has become empty
 * in the middle of others would hide those. */
static void take_away(struct last_values *v, struct slot *s, unsigned thread,
		      uint8_t mask)
{
	uint32_t *at = &s->first;

	while (*at != NONE) {
		struct view *w = &v->views[*at];

		if (w->thread == thread)
			w->mask &= (uint8_t)~mask;
		if (w->mask == 0)
			drop_view(v, at);
		else
			at = &w->next;
	}
}

static int note_word(struct last_values *v, unsigned thread, uint64_t word,
		     const struct view *like)
{
	struct slot *s;
	uint32_t i;

	assert(like->mask != 0);
	if (v->n_words >= v->n_slots / 2 && make_slots(v, 2 * v->n_slots) < 0)
		return -1;
	i = take_view(v);
	if (i == NONE)
		return -1;
	s = slot_of(v, word);
	v->n_words += s->first == NONE;
	if (s->first != NONE)
		take_away(v, s, thread, like->mask);
	v->views[i] = *like;
	v->views[i].next = s->first;
	s->word = word;
	s->first = i;
	return 0;
}

int last_values_note(struct last_values *v, unsigned thread, uint64_t address,
		     const uint8_t *bytes, size_t len,
		     const struct last_touch *touch)
{
	while (len > 0) {
		unsigned at = (unsigned)(address % WORD);
		unsigned n = len < WORD - at ? (unsigned)len : WORD - at;
		struct view view = {.touch = *touch, .thread = thread};

		view.mask = (uint8_t)(((1u << n) - 1) << at);
		memcpy(view.bytes + at, bytes, n);
		if (note_word(v, thread, address / WORD, &view) < 0)
			return -1;
		address += n;
		bytes += n;
		len -= n;
	}
	return 0;
}

/* The table is made anew without them. */
void last_values_forget(struct last_values *v, uint64_t start, uint64_t end)
{
	struct slot *old = v->slots;
	size_t n = v->n_slots;
	bool any = false;

	for (size_t i = 0; i < n; i++)
		if (old[i].first != NONE && old[i].word >= start / WORD &&
		    old[i].word * WORD < end) {
			while (old[i].first != NONE)
				drop_view(v, &old[i].first);
			any = true;
		}
	/* Without memory for it all is forgotten: too much, never too little.
	 */
	if (any && make_slots(v, n) < 0) {
		for (size_t i = 0; i < n; i++)
			while (old[i].first != NONE)
				drop_view(v, &old[i].first);
		v->n_words = 0;
	}
}

/* -- Asking -- */

/* One byte, by all that have a view of it. 1: it is known; 0: it is not; -1: no
 * thread has touched it. */
static int ask_byte(const struct last_values *v, unsigned thread,
		    uint64_t address, const struct last_touch *here,
		    uint8_t *out)
{
	const struct slot *s = slot_of(v, address / WORD);
	struct last_touch touches[THREADS_MOST];
	uint8_t bytes[THREADS_MOST];
	unsigned n = 0, at = (unsigned)(address % WORD);
	bool differ = false;
	int which;

	for (uint32_t i = s->first; i != NONE; i = v->views[i].next) {
		const struct view *w = &v->views[i];

		if (!(w->mask >> at & 1))
			continue;
		if (n == THREADS_MOST)
			return 0;
		touches[n] = w->touch;
		touches[n].is_selected = w->thread == thread;
		bytes[n] = w->bytes[at];
		differ |= bytes[n] != bytes[0];
		n++;
	}
	if (n == 0)
		return -1;
	which = differ ? latest_choose(touches, n, here) : 0;
	if (which < 0)
		return 0;
	*out = bytes[which];
	return 1;
}

uint64_t last_values_ask(const struct last_values *v, unsigned thread,
			 uint64_t address, unsigned len,
			 const struct last_touch *here, uint8_t *out,
			 uint64_t *touched)
{
	uint64_t known = 0;

	*touched = 0;
	for (unsigned i = 0; i < len && i < 64; i++) {
		int rc = ask_byte(v, thread, address + i, here, &out[i]);

		*touched |= (uint64_t)(rc >= 0) << i;
		known |= (uint64_t)(rc > 0) << i;
	}
	return known;
}
