/* travel/access.c - what an instruction found in memory, and what it left.
 *
 * One that reads what it writes has found what its own thread holds then, and
 * nothing else. One that only writes has looked at nothing: what its thread
 * last knew of the place may be old, or of a segment before. What was there is
 * what memory held at that moment, by all that is known (memory.c). */
#include "travel/timeline.h"
#include "travel/touch.h"

/* The instruction that is next. */
struct next {
	struct touch touches[TOUCHES_MAX];
	unsigned n;
};

/* Does it read all of these bytes itself? */
static int does_read(const struct next *next, uint64_t address, uint32_t size)
{
	for (const struct touch *t = next->touches; t < next->touches + next->n;
	     t++)
		if (!t->is_write && t->address <= address &&
		    t->address + t->size >= address + size)
			return 1;
	return 0;
}

/* Where its bytes are: it may be by way of fs. */
static uint64_t index_of(const struct next *next, uint64_t address)
{
	for (const struct touch *t = next->touches; t < next->touches + next->n;
	     t++)
		if (t->address == address)
			return t->index;
	return address;
}

static void look_at_own(struct walker *w, uint64_t index, uint32_t size,
			struct hark_access *out)
{
	for (uint32_t i = 0; i < size; i++)
		if (walker_byte(w, index + i, &out->before[i]))
			out->before_known |= 1ull << i;
}

/* What it has left. What it found is known now, even if it was the first to
 * look. */
static void look_afterwards(struct walker *w, uint64_t index, uint32_t size,
			    int did_look, struct hark_access *out)
{
	for (uint32_t i = 0; i < size; i++)
		if (walker_byte(w, index + i, &out->after[i]))
			out->after_known |= 1ull << i;
	if (did_look)
		out->before_known |= out->after_known;
	out->known = (uint32_t)__builtin_popcountll(out->before_known);
}

int travel_look_at_all(struct timeline *t, const struct lane *l,
		       const struct walker_place *at, uint32_t size,
		       struct hark_access *out, struct hark_err *err)
{
	unsigned selected = t->selected;
	struct walker_place here = t->here;
	uint8_t known[sizeof out->before];

	t->selected = (unsigned)(l - t->lanes);
	t->here = *at;
	t->in_window = -1;
	out->known = (uint32_t)travel_read(t, out->address, size, out->before,
					   known, err);
	t->selected = selected;
	t->here = here;
	for (uint32_t i = 0; i < size; i++)
		out->before_known |= (uint64_t)(known[i] == 1) << i;
	return err->code == HARK_OK ? 0 : -1;
}

int travel_access(struct timeline *t, struct lane *l, const struct hit *hit,
		  struct hark_access *out, struct hark_err *err)
{
	struct walker *w = travel_scout(t, l, err);
	struct walker_place at;
	uint32_t size = hit->size;
	struct next next;
	uint64_t index;
	int does_look;

	if (w == NULL || walker_observe(w, NULL, err) < 0 ||
	    walker_goto_pc(w, hit->count, hit->pc, err) < 0 ||
	    walker_place(w, &at, err) < 0)
		return -1;
	*out = (struct hark_access){
	    .at = {t->process, l->about.number, at.count, at.step},
	    .pc = hit->pc,
	    .address = hit->address,
	    .size = size,
	    .is_write = hit->is_write};
	if (size > sizeof out->before)
		size = sizeof out->before;
	walker_settle(w);
	next.n = touches_of(w, next.touches);
	index = index_of(&next, hit->address);
	does_look = !walker_is_left(w) &&
		    (!hit->is_write || does_read(&next, hit->address, size));
	if (does_look)
		look_at_own(w, index, size, out);
	if (walker_step(w, err) < 0)
		return -1;
	look_afterwards(w, index, size, does_look, out);
	return does_look ? 0 : travel_look_at_all(t, l, &at, size, out, err);
}
