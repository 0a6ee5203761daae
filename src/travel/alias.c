/* travel/alias.c - bytes whose place in the shadow is that of others, too.
 *
 * The shadow has 32 bits of an address. Where two mappings have the same ones,
 * it holds what was touched last of either. What was last touched of the one
 * that is asked for is looked for in the past, by its whole address, and is
 * what it was then; unless the log has told of the place since (M1 of
 * memory.c), or something else is there since (fresh.c). */
#include "travel/timeline.h"

#include "travel/events.h"

enum { BYTES_MOST = 64 };

/* What one lane knows. */
struct known {
	uint64_t address;
	unsigned len;
	uint8_t bytes[BYTES_MOST];
	int64_t turns[BYTES_MOST]; /* -1: it does not know */
	uint64_t resolved;	   /* a bit each */
	uint64_t fresh;		   /* it was something else that it touched */
};

static unsigned unresolved(const struct known *k, struct stop *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->len; i++) {
		if (k->resolved >> i & 1)
			continue;
		if (n > 0 &&
		    out[n - 1].address + out[n - 1].len == k->address + i) {
			out[n - 1].len++;
			continue;
		}
		out[n++] = (struct stop){.kind = HARK_STOP_WATCH,
					 .address = k->address + i,
					 .len = 1,
					 .on = HARK_ON_READ | HARK_ON_WRITE};
	}
	return n;
}

/* Has the log told of the place after the hit, up to where `at` is? */
static int is_told(struct timeline *t, const struct hit *hit, struct walker *at,
		   uint32_t index, struct hark_err *err)
{
	struct recording *r = t->rec->r;
	unsigned now = walker_segment(at);
	int found = 0;

	for (unsigned s = now + 1; s-- > 0 && !found;) {
		uint64_t left = s == now ? walker_passed(at) : UINT64_MAX;
		const struct record_event *e;
		struct events events;

		if (events_open(&events, r, s, s + 1, err) < 0)
			return -1;
		while (left-- > 0 && events_peek(&events, &e, err) > 0) {
			found |=
			    e->type == WIRE_REC_BYTES &&
			    e->count > hit->count &&
			    (uint32_t)(index - (uint32_t)e->index) < e->len;
			events_pass(&events);
		}
		events_close(&events);
		if (recording_segment(r, s)->count <= hit->count)
			break;
	}
	return err->code != HARK_OK ? -1 : found;
}

/* Was something else there, when the hit was? */
static int was_other(struct timeline *t, const struct lane *l,
		     const struct hit *hit, uint64_t address)
{
	const struct fresh_event *e = travel_fresh_of(t, address);

	return e != NULL &&
	       travel_fresh_is_behind(t, l, hit->count, hit->pc, e);
}

/* All that is left: it need not be looked for any further. */
static int were_others(struct timeline *t, const struct lane *l,
		       const struct hit *hit, const struct known *k)
{
	for (unsigned i = 0; i < k->len; i++)
		if (!(k->resolved >> i & 1) &&
		    !was_other(t, l, hit, k->address + i))
			return 0;
	return 1;
}

static int take(struct timeline *t, struct lane *l, struct walker *at,
		const struct hit *hit, struct known *k, struct hark_err *err)
{
	struct walker *w = travel_scout(t, l, err);
	int64_t turn;

	if (w == NULL || walker_goto_pc(w, hit->count, hit->pc, err) < 0)
		return -1;
	turn = travel_turn_of(t, l, w);
	if (walker_step(w, err) < 0)
		return -1;
	for (unsigned i = 0; i < k->len; i++) {
		uint64_t here = k->address + i;
		int told;

		if (k->resolved >> i & 1 || here - hit->address >= hit->size)
			continue;
		k->resolved |= 1ull << i;
		if (was_other(t, l, hit, here)) {
			k->fresh |= 1ull << i;
			continue;
		}
		told = is_told(t, hit, at, (uint32_t)(here + WIRE_SHADOW_SKEW),
			       err);
		if (told < 0)
			return -1;
		if (walker_byte(w, hit->index + (here - hit->address),
				&k->bytes[i]) &&
		    !told)
			k->turns[i] = turn;
	}
	return 0;
}

static int ask_lane(struct timeline *t, struct lane *l, struct walker *at,
		    struct known *k, struct hark_err *err)
{
	struct stretch range = {0};
	struct walker_place end;

	if (l == &t->lanes[t->selected])
		end = t->here;
	else if (walker_place(at, &end, err) < 0)
		return -1;
	range.end_count = end.count;
	range.end_step = end.step;
	for (;;) {
		struct stop stops[BYTES_MOST];
		unsigned n = unresolved(k, stops);
		struct walker_place place;
		struct hit hit = {0};
		struct walker *w;
		int rc = n == 0 ? 0
				: travel_scan_last(t, l, &range, stops, n, &hit,
						   err);

		if (rc <= 0 || were_others(t, l, &hit, k))
			return rc < 0 ? -1 : 0;
		w = travel_scout(t, l, err);
		if (w == NULL ||
		    walker_goto_pc(w, hit.count, hit.pc, err) < 0 ||
		    walker_place(w, &place, err) < 0 ||
		    take(t, l, at, &hit, k, err) < 0)
			return -1;
		range.end_count = place.count;
		range.end_step = place.step;
	}
}

int travel_read_alias(struct timeline *t, struct walker **at, uint64_t address,
		      unsigned len, uint8_t *out, uint8_t *known,
		      struct hark_err *err)
{
	int64_t best[BYTES_MOST];
	uint64_t touched = 0;
	int rc = 0;

	for (unsigned i = 0; i < len; i++)
		best[i] = -1;
	for (unsigned l = 0; l < t->n_lanes; l++) {
		struct known k = {.address = address, .len = len};

		for (unsigned i = 0; i < len; i++)
			k.turns[i] = -1;
		if (at[l] != NULL)
			rc = ask_lane(t, &t->lanes[l], at[l], &k, err);
		if (rc < 0)
			return -1;
		touched |= k.resolved & ~k.fresh;
		for (unsigned i = 0; i < len; i++)
			if (k.turns[i] > best[i]) {
				best[i] = k.turns[i];
				out[i] = k.bytes[i];
				known[i] = 1;
			}
	}
	for (unsigned i = 0; i < len; i++)
		if (!(touched >> i & 1))
			known[i] = TRAVEL_UNTOUCHED;
	return 0;
}
