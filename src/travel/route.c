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

#include "travel/events.h"

enum { WORD = 8, ALL = (1 << WORD) - 1 };

/* Of the bytes of the word that have no answer yet. */
static unsigned unanswered(const struct route *r, struct stop *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WORD; i++) {
		if (r->answered >> i & 1)
			continue;
		if (n > 0 && out[n - 1].address + out[n - 1].len == r->word + i)
			out[n - 1].len++;
		else
			out[n++] =
			    (struct stop){.kind = HARK_STOP_WATCH,
					  .address = r->word + i,
					  .len = 1,
					  .on = HARK_ON_READ | HARK_ON_WRITE};
	}
	return n;
}

static int is_after(const struct record_event *e, uint64_t count, uint64_t pc)
{
	return e->count > count || (e->count == count && e->pc > pc);
}

/* Has the log said between the hit and the moment what is at the address? That
 * is what system calls have stored. */
static int is_told_since(struct timeline *t, const struct route *r,
			 const struct hit *hit, unsigned last, uint64_t address,
			 struct hark_err *err)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);
	int found = 0;

	for (unsigned s = last + 1; s-- > 0 && !found;) {
		const struct record_event *e;
		struct events events;

		if (events_open(&events, t->rec->r, s, s + 1, err) < 0)
			return -1;
		while (events_peek(&events, &e, err) > 0 &&
		       !is_after(e, r->count, r->pc)) {
			found |=
			    e->type == WIRE_REC_BYTES &&
			    !(e->info & WIRE_BYTES_KEPT) &&
			    is_after(e, hit->count, hit->pc) &&
			    (uint32_t)(index - (uint32_t)e->index) < e->len;
			events_pass(&events);
		}
		events_close(&events);
		if (recording_segment(t->rec->r, s)->count <= hit->count)
			break;
	}
	return err->code != HARK_OK ? -1 : found;
}

static int answer(struct timeline *t, struct route *r, const struct hit *hit,
		  struct walker *at, struct hark_err *err)
{
	for (unsigned i = 0; i < WORD; i++) {
		uint64_t address = r->word + i;
		int told;

		if (r->answered >> i & 1 || address - hit->address >= hit->size)
			continue;
		r->answered |= (uint8_t)(1 << i);
		if (hit->index == hit->address)
			continue;
		told =
		    is_told_since(t, r, hit, walker_segment(at), address, err);
		if (told < 0)
			return -1;
		if (!told)
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
		unsigned n = unanswered(r, stops);
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
