/* native/collect_profile.c - a tick of the thread's clock: which profile-N
 *fire.
 *
 * There is one clock, which ticks as often as the most frequent of them asks
 * for. With tick n, n periods of the clock are over: another profile-N is due
 * if one of its own ends among those that are new. So each fires as often as
 * it should, in the long run exactly, and never more than once a tick.
 *
 *	clock	 |   |   |   |   |   |   |   |   |
 *	other	      |	       |	|	  |
 *	fires		 *	 *	 *	     *
 *
 * Ticks that nobody can see, for the thread had no signal of their own, count
 * as time (collect_overran), and so do those that are let pass because clauses
 * take too long. These are accounted for as missed: they are no hits. */
#include "native/collect_board.h"

/* Ticks of a thread, before this one and with it. */
struct ticks {
	uint64_t before, after;
};

static const struct collect_plan *plan_of(const struct collect_area *area)
{
	return (const struct collect_plan *)(uintptr_t)area->plan;
}

static const struct collect_site *next_due(const struct collect_plan *plan,
					   const struct ticks *t, uint64_t *k)
{
	const struct collect_profile *all =
	    collect_at(plan, plan->profiles.offset);

	for (; *k < plan->profiles.n; ++*k) {
		const uint64_t clock = plan->period_ns, own = all[*k].period_ns;

		if (t->before * clock / own != t->after * clock / own)
			return collect_at(plan, all[(*k)++].site);
	}
	return NULL;
}

static struct ticks count_ticks(struct collect_area *area)
{
	struct collect_state *s = collect_state(area);
	const struct ticks t = {s->ticks, s->ticks + 1 + s->passed};

	s->ticks = t.after;
	s->passed = 0;
	return t;
}

void collect_profile(struct collect_area *area, const struct probe_frame *frame,
		     uint64_t time_ns)
{
	const struct ticks t = count_ticks(area);
	const struct collect_site *site;
	uint64_t k = 0;

	area->busy = 1;
	while ((site = next_due(plan_of(area), &t, &k)) != NULL)
		collect_fire_at(area, site, frame, time_ns);
	area->busy = 0;
}

void collect_profile_recursed(struct collect_area *area)
{
	const struct ticks t = count_ticks(area);
	const struct collect_site *site;
	uint64_t k = 0;

	while ((site = next_due(plan_of(area), &t, &k)) != NULL)
		collect_recursed(site, area);
}

/* All threads without an area have one count. */
void collect_profile_nobody(const struct collect_plan *plan)
{
	struct collect_board *board =
	    (struct collect_board *)(uintptr_t)plan->board;
	struct ticks t;
	const struct collect_site *site;
	uint64_t k = 0;

	t.before = __atomic_fetch_add(&board->ticks, 1, __ATOMIC_RELAXED);
	t.after = t.before + 1;
	while ((site = next_due(plan, &t, &k)) != NULL)
		collect_nobody(plan, site);
}
