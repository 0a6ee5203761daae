/* travel/access.c - what an instruction found in memory, and what it left.
 *
 * One that reads what it writes has found what its own thread holds then, and
 * nothing else. One that only writes has looked at nothing: what its thread
 * last knew of the place may be old, or of a segment before. What was there is
 * what memory held at that moment, by all that is known (memory.c). */
#include "travel/timeline.h"
#include "travel/touch.h"

/* Does it read all of these bytes itself? */
static int does_read(struct walker *w, uint64_t address, uint32_t size)
{
	struct touch touches[TOUCHES_MAX];
	unsigned n = touches_of(w, touches);

	for (unsigned i = 0; i < n; i++)
		if (!touches[i].is_write && touches[i].address <= address &&
		    touches[i].address + touches[i].size >= address + size)
			return 1;
	return 0;
}

static void look_at_own(struct walker *w, uint32_t size,
			struct hark_access *out)
{
	for (uint32_t i = 0; i < size; i++)
		if (walker_byte(w, out->address + i, &out->before[i])) {
			out->known++;
			out->before_known |= 1ull << i;
		}
}

/* With all threads; the lane's scout is elsewhere then. The timeline stays
 * where it is. */
static int look_at_all(struct timeline *t, const struct lane *l,
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
	does_look = !hit->is_write || does_read(w, hit->address, size);
	if (does_look)
		look_at_own(w, size, out);
	if (walker_step(w, err) < 0)
		return -1;
	for (uint32_t i = 0; i < size; i++)
		walker_byte(w, hit->address + i, &out->after[i]);
	return does_look ? 0 : look_at_all(t, l, &at, size, out, err);
}
