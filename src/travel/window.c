/* travel/window.c - the last few thousand instructions of a thread, at hand.
 *
 * Before every step what it may change of the shadow is noted, in pieces that
 * do not cross a granule; those of a granule are a chain, the last one first.
 * To know a byte at an earlier place, the chain is followed back to there. When
 * very much is forgotten at once, so are all places before. */
#include "travel/window.h"

#include "travel/touch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 1 << 14, PLACES_MOST = 1 << 16, NOTED_MOST = 1 << 16 };

/* Before place `at` + 1 was come to, these bytes were so. */
struct note {
	uint32_t at, index;
	uint32_t before; /* the next of the chain, plus 1; 0: none */
	uint8_t len;
	uint8_t bytes[WIRE_GRANULE];
	uint32_t touched; /* a bit each */
};

struct window {
	struct walker *of;	     /* borrowed */
	struct window_place *places; /* owned */
	uint32_t *states_at;	     /* owned: which of states each has */
	unsigned n, room;
	struct note *notes; /* owned */
	uint32_t n_notes, room_notes;
	uint8_t **states; /* owned, and what is in it: length, bytes */
	uint32_t n_states, room_states;
	uint32_t chains[CHAINS]; /* plus 1 */
	int failed;
};

/* -- Life -- */

struct window *window_new(void)
{
	return calloc(1, sizeof(struct window));
}

void window_close(struct window *w)
{
	for (uint32_t i = 0; i < w->n_states; i++)
		free(w->states[i]);
	w->n = w->n_notes = w->n_states = 0;
	w->failed = 0;
	memset(w->chains, 0, sizeof w->chains);
}

void window_free(struct window *w)
{
	if (w == NULL)
		return;
	window_close(w);
	free(w->places);
	free(w->states_at);
	free(w->notes);
	free(w->states);
	free(w);
}

/* -- Noting -- */

static uint32_t *chain_of(struct window *w, uint32_t index)
{
	return &w->chains[(index / WIRE_GRANULE * 0x9e3779b1u) >> 18];
}

static struct note *new_note(struct window *w)
{
	if (w->n_notes == w->room_notes) {
		uint32_t room = w->room_notes == 0 ? 1024 : 2 * w->room_notes;
		struct note *more = reallocarray(w->notes, room, sizeof *more);

		if (more == NULL) {
			w->failed = 1;
			return NULL;
		}
		w->notes = more;
		w->room_notes = room;
	}
	return &w->notes[w->n_notes++];
}

static void note_piece(struct window *w, uint32_t index, uint32_t len)
{
	const uint8_t *shadow = walker_shadow(w->of);
	const uint8_t *touched = walker_touched(w->of);
	uint32_t *chain = chain_of(w, index);
	struct note *n = new_note(w);

	if (n == NULL)
		return;
	*n = (struct note){.at = w->n - 1,
			   .index = index,
			   .before = *chain,
			   .len = (uint8_t)len};
	memcpy(n->bytes, shadow + index, len);
	for (uint32_t i = 0; i < len; i++)
		if (touched[(uint32_t)(index + i + OBSERVE_SKEW)] != 0)
			n->touched |= 1u << i;
	*chain = w->n_notes;
}

/* The shadow is about to be changed there. */
static void note_change(void *ctx, uint32_t index, uint64_t len)
{
	struct window *w = ctx;

	if (len > NOTED_MOST)
		window_close(w);
	while (len > 0 && !w->failed && w->n > 0) {
		uint32_t here = WIRE_GRANULE - index % WIRE_GRANULE;

		if (here > len)
			here = (uint32_t)len;
		note_piece(w, index, here);
		index += here;
		len -= here;
	}
}

static void note_stores(struct window *w)
{
	struct touch touches[TOUCHES_MAX];
	unsigned n = touches_of(w->of, touches);

	for (unsigned i = 0; i < n; i++) /* what is loaded becomes touched */
		note_change(w, (uint32_t)(touches[i].index + WIRE_SHADOW_SKEW),
			    touches[i].size < NOTED_MOST ? touches[i].size
							 : NOTED_MOST);
}

static int grow(struct window *w)
{
	unsigned room = w->room == 0 ? 1024 : 2 * w->room;
	struct window_place *places;
	uint32_t *states;

	if (w->n < w->room)
		return 0;
	places = reallocarray(w->places, room, sizeof *places);
	if (places == NULL)
		return -1;
	w->places = places;
	states = reallocarray(w->states_at, room, sizeof *states);
	if (states == NULL)
		return -1;
	w->states_at = states;
	w->room = room;
	return 0;
}

/* Extended registers, if they are not those of the last place. */
static int note_state(struct window *w)
{
	static uint8_t bytes[WIRE_XSTATE_MAX];
	uint32_t len = walker_xstate(w->of, bytes), last;
	uint8_t *copy;

	if (w->n_states > 0) {
		const uint8_t *before = w->states[w->n_states - 1];

		memcpy(&last, before, sizeof last);
		if (last == len && memcmp(before + 4, bytes, len) == 0)
			return 0;
	}
	if (w->n_states == w->room_states) {
		uint32_t room = w->room_states == 0 ? 64 : 2 * w->room_states;
		uint8_t **more = reallocarray(w->states, room, sizeof *more);

		if (more == NULL)
			return -1;
		w->states = more;
		w->room_states = room;
	}
	copy = malloc(len + 4);
	if (copy == NULL)
		return -1;
	memcpy(copy, &len, sizeof len);
	memcpy(copy + 4, bytes, len);
	w->states[w->n_states++] = copy;
	return 0;
}

static int note_place(struct window *w, struct hark_err *err)
{
	struct window_place *p;

	walker_settle(w->of);
	if (grow(w) < 0 || note_state(w) < 0)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	p = &w->places[w->n];
	if (walker_place(w->of, &p->place, err) < 0)
		return -1;
	p->state = *walker_state(w->of);
	p->turns = walker_turns(w->of);
	p->segment = walker_segment(w->of);
	w->states_at[w->n++] = w->n_states - 1;
	return 0;
}

/* -- Opening -- */

static int fill(struct window *w, uint64_t from, const struct walker_place *to,
		struct hark_err *err)
{
	struct walker_place at;
	int rc = walker_goto(w->of, from, 0, err);

	if (rc < 0)
		return -1;
	walker_on_change(w->of, note_change, w);
	for (;;) {
		if (note_place(w, err) < 0)
			return -1;
		at = w->places[w->n - 1].place;
		if (at.count == to->count && at.step == to->step)
			return 0;
		if (w->failed || w->n == PLACES_MOST || at.count > to->count)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "no room to go back in");
		note_stores(w);
		rc = walker_step(w->of, err);
		if (rc != 0)
			return rc < 0 ? -1
				      : err_set(err, HARK_EBUG, 0,
						"a thread ends early");
	}
}

/* Its memory is that since the last key frame, so it does not go beyond. */
int window_open(struct window *w, struct walker *of, uint64_t counts,
		struct hark_err *err)
{
	struct walker_place to;
	uint64_t from, first;
	int rc;

	if (walker_place(of, &to, err) < 0)
		return -1;
	first = walker_key_count(of);
	from = to.count > counts ? to.count - counts : 0;
	if (from < first)
		from = first + (first > 0);
	if (from > to.count)
		from = to.count;
	w->of = of;
	window_close(w);
	rc = fill(w, from, &to, err);
	walker_on_change(of, NULL, NULL);
	if (rc < 0)
		window_close(w);
	return rc;
}

/* -- Looking -- */

unsigned window_n(const struct window *w)
{
	return w->n;
}

const struct window_place *window_place(const struct window *w, unsigned i)
{
	return &w->places[i];
}

int window_find(const struct window *w, uint64_t count, uint64_t step)
{
	unsigned low = 0, high = w->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct walker_place *p = &w->places[middle].place;

		if (p->count < count || (p->count == count && p->step < step))
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->n && w->places[low].place.count == count &&
		       w->places[low].place.step == step
		   ? (int)low
		   : -1;
}

uint32_t window_xstate(const struct window *w, unsigned i,
		       uint8_t out[WIRE_XSTATE_MAX])
{
	const uint8_t *state = w->states[w->states_at[i]];
	uint32_t len;

	memcpy(&len, state, sizeof len);
	memcpy(out, state + 4, len);
	return len;
}

int window_byte(const struct window *w, unsigned i, uint32_t index,
		int was_touched, uint8_t *out)
{
	uint32_t at = *chain_of((struct window *)w, index);

	while (at != 0) {
		const struct note *n = &w->notes[at - 1];
		uint32_t off = index - n->index;

		if (n->at < i)
			break;
		if (off < n->len) {
			*out = n->bytes[off];
			was_touched = (int)(n->touched >> off & 1);
		}
		at = n->before;
	}
	return was_touched;
}
