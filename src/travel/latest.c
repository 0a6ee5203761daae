/* travel/latest.c - which of several threads touched some bytes last. */
#include "travel/latest.h"

bool latest_tick(uint64_t *clock, const struct record_event *e)
{
	if (e->type == WIRE_REC_KEY)
		*clock = e->key.tsc;
	else if (e->type == WIRE_REC_CALL)
		*clock += e->call.ticks;
	else if (e->type == WIRE_REC_ORDER)
		*clock += e->order.ticks;
	else
		return false;
	return true;
}

/* -- Choosing -- */

struct touches {
	const struct last_touch *of; /* borrowed */
	unsigned n;
};

static bool may_be_after(const struct last_touch *a,
			 const struct last_touch *here)
{
	return a->to > here->to && !a->is_selected;
}

/* Has a third thread stored between the two, by their turns? Then what was
 * logged is what that one has left, and need not be older than the store. */
static bool is_explained(const struct touches *all,
			 const struct last_touch *logged,
			 const struct last_touch *store)
{
	for (unsigned i = 0; i < all->n; i++) {
		const struct last_touch *u = &all->of[i];

		if (u != logged && u != store && !u->is_logged &&
		    u->turn > store->turn && u->turn <= logged->turn)
			return true;
	}
	return false;
}

static bool is_later(const struct touches *all, const struct last_touch *a,
		     const struct last_touch *b, const struct last_touch *here)
{
	const struct last_touch *logged = a->is_logged ? a : b;
	const struct last_touch *store = a->is_logged ? b : a;

	if (a->from > b->to)
		return true;
	if (b->from > a->to)
		return false;
	if (a->is_logged != b->is_logged && !may_be_after(store, here) &&
	    !is_explained(all, logged, store))
		return a == store;
	return a->turn > b->turn;
}

/* By the selected thread, nanoseconds before the moment? */
static bool is_just_now(const struct last_touch *a,
			const struct last_touch *here)
{
	return a->is_selected && a->turn >= 0 && a->segment == here->segment &&
	       a->count == here->count && a->from == here->from;
}

int latest_choose(const struct last_touch *all, unsigned n,
		  const struct last_touch *here)
{
	const struct touches touches = {all, n};
	const struct last_touch *best = NULL;
	bool has_gone_on = false;

	for (unsigned i = 0; i < n; i++) {
		const struct last_touch *a = &all[i];

		if (a->turn < 0)
			continue;
		if (is_just_now(a, here))
			return (int)(a - all);
		if (!a->is_selected && a->from > here->to)
			has_gone_on = true;
		else if (best == NULL || is_later(&touches, a, best, here))
			best = a;
	}
	if (best == NULL || (has_gone_on && !best->is_selected))
		return -1;
	return (int)(best - all);
}
