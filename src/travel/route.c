/* travel/route.c - by which of two ways a thread touched a byte last.
 *
 * Thread-local variables are touched by way of fs, and by their addresses: the
 * loader and memcpy() do that, and every function that has a pointer to one.
 * The shadow has what each way knew, at an index of its own (M2 of memory.c).
 * If both are known and differ, the last touch was right: it is looked for. So
 * are system calls that stored there, which use addresses.
 *
 * What was found for the bytes of a word is kept: a variable is asked for byte
 * by byte. */
#include "travel/timeline.h"

enum { WORD = 8, ALL = (1 << WORD) - 1 };

static int answer(struct timeline *t, struct route *r, const struct hit *hit,
		  struct walker *at, struct hark_err *err)
{
	const struct walker_place now = {r->count, r->step, r->pc};

	for (unsigned i = 0; i < WORD; i++) {
		uint64_t address = r->word + i;
		int is_logged;

		if (r->answered >> i & 1 || address - hit->address >= hit->size)
			continue;
		r->answered |= (uint8_t)(1 << i);
		if (hit->index == hit->address)
			continue;
		is_logged = travel_log_has(t, walker_segment(at), hit, &now,
					   address, err);
		if (is_logged < 0)
			return -1;
		if (!is_logged)
			r->by_fs |= (uint8_t)(1 << i);
	}
	return 0;
}

static int find(struct timeline *t, struct lane *l, struct walker *at,
		struct route *r, struct hark_err *err)
{
	struct stretch range = {.end_count = r->count, .end_step = r->step};

	while (r->answered != ALL) {
		struct stop stops[WORD];
		unsigned n =
		    travel_watches_of(r->word, WORD, r->answered, stops);
		struct walker_place place;
		struct hit hit = {0};
		struct walker *w;
		int rc = travel_scan_last(t, l, &range, stops, n, &hit, err);

		if (rc <= 0)
			return rc; /* never touched by an instruction */
		w = travel_scout(t, l, err);
		if (w == NULL ||
		    walker_goto_pc(w, hit.count, hit.pc, err) < 0 ||
		    walker_place(w, &place, err) < 0 ||
		    answer(t, r, &hit, at, err) < 0)
			return -1;
		range.end_count = place.count;
		range.end_step = place.step;
	}
	return 0;
}

int travel_is_by_fs(struct timeline *t, struct lane *l, struct walker *at,
		    uint64_t address, struct hark_err *err)
{
	unsigned lane = (unsigned)(l - t->lanes), byte = address % WORD;
	uint64_t word = address - byte;
	struct route *r = &t->routes[(word / WORD + lane) % TRAVEL_ROUTES];
	struct walker_place end;

	if (lane == t->selected)
		end = t->here;
	else if (walker_place(at, &end, err) < 0)
		return -1;
	if (r->word != word || r->lane != lane || r->count != end.count ||
	    r->step != end.step) {
		*r = (struct route){.word = word,
				    .count = end.count,
				    .step = end.step,
				    .pc = end.pc,
				    .lane = lane};
		if (find(t, l, at, r, err) < 0) {
			r->word = UINT64_MAX;
			return -1;
		}
	}
	return r->by_fs >> byte & 1;
}
