/* travel/alias.c - bytes whose place in the shadow is that of others, too.
 *
 * The shadow has 32 bits of an address. Where two mappings have the same ones,
 * it holds what was touched last of either. What was last touched of the one
 * that is asked for is looked for in the past, by its whole address, and is
 * what it was then; unless the log has told of the place since (M1 of
 * memory.c), or something else is there since (fresh.c). */
#include "travel/timeline.h"

#include "travel/events.h"

#include <stdbool.h>

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

unsigned travel_watches_of(uint64_t address, unsigned len, uint64_t done,
			   struct stop *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < len; i++) {
		if (done >> i & 1)
			continue;
		if (n > 0 && out[n - 1].address + out[n - 1].len == address + i)
			out[n - 1].len++;
		else
			out[n++] =
			    (struct stop){.kind = HARK_STOP_WATCH,
					  .address = address + i,
					  .len = 1,
					  .on = HARK_ON_READ | HARK_ON_WRITE};
	}
	return n;
}

static bool is_after(const struct record_event *e, uint64_t count, uint64_t pc)
{
	return e->count > count || (e->count == count && e->pc > pc);
}

/* What was kept over a key frame is not news. */
static bool has_bytes_of(const struct record_event *e, uint32_t index)
{
	return e->type == WIRE_REC_BYTES && !(e->info & WIRE_BYTES_KEPT) &&
	       (uint32_t)(index - (uint32_t)e->index) < e->len;
}

int travel_log_has(struct timeline *t, unsigned last, const struct hit *after,
		   const struct walker_place *until, uint64_t address,
		   struct hark_err *err)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);
	bool found = false;

	for (unsigned s = last + 1; s-- > 0 && !found;) {
		const struct record_event *e;
		struct events events;

		if (events_open(&events, t->rec->r, s, s + 1, err) < 0)
			return -1;
		while (events_peek(&events, &e, err) > 0 &&
		       !is_after(e, until->count, until->pc)) {
			found |= has_bytes_of(e, index) &&
				 is_after(e, after->count, after->pc);
			events_pass(&events);
		}
		events_close(&events);
		if (recording_segment(t->rec->r, s)->count <= after->count)
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

static int take(struct timeline *t, struct lane *l, unsigned segment,
		const struct walker_place *now, const struct hit *hit,
		struct known *k, struct hark_err *err)
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
		int is_logged;

		if (k->resolved >> i & 1 || here - hit->address >= hit->size)
			continue;
		k->resolved |= 1ull << i;
		if (was_other(t, l, hit, here)) {
			k->fresh |= 1ull << i;
			continue;
		}
		is_logged = travel_log_has(t, segment, hit, now, here, err);
		if (is_logged < 0)
			return -1;
		if (walker_byte(w, hit->index + (here - hit->address),
				&k->bytes[i]) &&
		    !is_logged)
			k->turns[i] = turn;
	}
	return 0;
}

static int ask_lane(struct timeline *t, struct lane *l, struct walker *at,
		    struct known *k, struct hark_err *err)
{
	struct stretch range = {0};
	struct walker_place now;

	if (l == &t->lanes[t->selected])
		now = t->here;
	else if (walker_place(at, &now, err) < 0)
		return -1;
	range.end_count = now.count;
	range.end_step = now.step;
	for (;;) {
		struct stop stops[BYTES_MOST];
		unsigned n =
		    travel_watches_of(k->address, k->len, k->resolved, stops);
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
		    take(t, l, walker_segment(at), &now, &hit, k, err) < 0)
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
