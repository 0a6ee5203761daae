/* native/collect_sample.c - a sample of a thread's stack, as records.
 *
 * Of the stack before, .kept frames are still there and are not written again.
 * A stack that is too long for one record becomes several; hark puts them
 * together. The first part finds room or the sample is dropped, at once. For
 * the others the thread waits, if need be, until hark has taken some away: a
 * stack of a million frames is longer than any ring should be, and seldom new.
 * That wait has an end, and is not begun for a hark that is dead.
 *
 * The clock goes on while a sample is taken. If that takes as long as a period
 * or longer, the thread would do nothing else: then some ticks are let pass,
 * so that samples take a quarter of the time at most, and the next one stands
 * for them. One that takes long may have been interrupted; so the time of the
 * next ones is taken by the thread's own clock, which costs more.
 *
 * S1  Frames that hark has are those of the last sample that was recorded;
 *     after one that was not, the next one keeps none.
 * S2  A frame that was the top and is not any longer, or the other way round,
 *     is new, for its address now means something else. */
#include "inside/sys.h"
#include "native/collect_board.h"

enum {
	PART = 2000, /* frames: 16 KB, a quarter of a ring's chunk */
	WAIT_NS = 1000000,
	WAITS = 2000,
	REST = 3, /* times as long as a sample took */
	PAUSE_MOST = 100000,
	CLOCK_OF_THREAD = 3,
	TOLD = 8, /* differences, of an area */
};

/* -- Memory -- */

static uint64_t line_up(uint64_t v)
{
	return (v + 63) & ~63ull;
}

static uint64_t page_up(uint64_t v)
{
	return (v + 4095) & ~4095ull;
}

static uint64_t cache_len(void)
{
	return page_up(unwind_cache_size());
}

static uint64_t maps_len(const struct collect_plan *plan)
{
	return page_up(line_up(unwind_maps_size(plan->max_depth)));
}

uint64_t collect_work_size(const struct collect_plan *plan)
{
	return cache_len() + plan->geometry.max_threads * maps_len(plan);
}

struct unwind_cache *collect_cache(const struct collect_plan *plan)
{
	return (struct unwind_cache *)(uintptr_t)plan->work;
}

static const struct collect_plan *plan_of(const struct collect_area *area)
{
	return (const struct collect_plan *)(uintptr_t)area->plan;
}

static struct unwind_maps *maps_of(const struct collect_area *area)
{
	const struct collect_plan *plan = plan_of(area);

	return (struct unwind_maps *)(uintptr_t)(plan->work + cache_len() +
						 area->number * maps_len(plan));
}

static void forget_depths(struct collect_state *s)
{
	for (unsigned k = 0; k < UNWIND_MAPS; k++)
		s->depth[k] = 0;
}

/* Of another owner's stacks nothing is known. */
struct unwind_maps *collect_maps(struct collect_area *area)
{
	struct collect_state *s = collect_state(area);
	struct unwind_maps *m = maps_of(area);

	if (s->sampled != area->owner) {
		unwind_maps_init(m, plan_of(area)->max_depth);
		forget_depths(s);
		s->sampled = area->owner;
	}
	return m;
}

void collect_forget_sample(struct collect_area *area)
{
	forget_depths(collect_state(area));
	unwind_maps_forget(maps_of(area));
}

/* -- Accounts -- */

void collect_sampled(const struct collect_plan *plan, struct collect_area *area,
		     enum collect_fate fate)
{
	struct collect_board *board =
	    (struct collect_board *)(uintptr_t)plan->board;
	struct collect_account *a =
	    area != NULL ? &collect_part(area)->samples : &board->samples;
	uint64_t *const fates[] = {[FATE_RECORDED] = &a->recorded,
				   [FATE_DROPPED] = &a->dropped,
				   [FATE_RECURSED] = &a->recursed,
				   [FATE_FAULTED] = &a->faulted};

	if (area != NULL) {
		collect_add(&a->executed, 1);
		collect_add(fates[fate], 1);
		return;
	}
	__atomic_fetch_add(&a->executed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(fates[fate], 1, __ATOMIC_RELAXED);
}

/* -- Ticks that pass -- */

uint64_t collect_stopwatch(struct collect_area *area)
{
	uint64_t time[2] = {0};

	if (collect_state(area)->slow == 0)
		return collect_time(&plan_of(area)->clock);
	sys_call3(SYS_NR_CLOCK_GETTIME, CLOCK_OF_THREAD, (uint64_t)time, 0);
	return time[0] * 1000000000 + time[1];
}

bool collect_passes(struct collect_area *area)
{
	struct collect_state *s = collect_state(area);

	if (s->pause == 0)
		return false;
	s->pause--;
	s->passed++;
	collect_add(
	    &collect_part(area)->reasons[plan_of(area)->flags & COLLECT_SAMPLES
					     ? COLLECT_PASSED
					     : COLLECT_MISSED],
	    1);
	return true;
}

void collect_overran(struct collect_area *area, uint32_t n)
{
	enum { MOST = 1 << 20 };

	collect_state(area)->passed += n < MOST ? n : MOST;
}

void collect_took(struct collect_area *area, uint64_t ns)
{
	const struct collect_plan *plan = plan_of(area);
	struct collect_state *s = collect_state(area);
	uint64_t pause;

	if (ns < plan->period_ns / 2) {
		s->slow = 0;
		return;
	}
	if (s->slow == 0) {
		s->slow = 1;
		return;
	}
	pause = REST * ns / plan->period_ns;
	s->pause = pause < PAUSE_MOST ? (uint32_t)pause : PAUSE_MOST;
}

/* -- Records -- */

struct putting {
	struct collect_work *w;
	const struct unwind_maps *maps;
	const struct unwind_sample *s;
	uint64_t time_ns;
	uint64_t check;
	uint32_t kept, ticks;
};

/* Nobody wakes it: a pause. */
static void pause_for_hark(const struct collect_work *w)
{
	const uint64_t time[2] = {0, WAIT_NS};
	uint32_t never = 0;

	collect_ring(w->board);
	sys_call(SYS_NR_FUTEX, (uint64_t)(uintptr_t)&never, SYS_FUTEX_WAIT, 0,
		 (uint64_t)(uintptr_t)time, 0, 0);
}

/* Room for a part; NULL: there is none. */
static uint8_t *reserve(const struct putting *p, uint32_t len, bool waits)
{
	uint8_t *to = collect_reserve(p->w, len);

	for (unsigned i = 0; to == NULL && waits && i < WAITS; i++) {
		if (p->w->plan->geometry.policy != COLLECT_SWITCH ||
		    collect_hark_is_dead(p->w->plan))
			return NULL;
		pause_for_hark(p->w);
		to = collect_reserve(p->w, len);
	}
	return to;
}

static void fill_head(const struct putting *p, uint8_t *body, uint32_t len,
		      uint32_t kind)
{
	const struct collect_ids ids = collect_ids(p->w->area);
	struct collect_record *r =
	    (struct collect_record *)(void *)(body -
					      sizeof(struct collect_record));

	*r = (struct collect_record){
	    .size = (uint32_t)sizeof *r + len,
	    .kind = kind,
	    .time_ns = p->time_ns,
	    .tid = ids.tid,
	    .pid = ids.pid,
	};
}

static bool put_part(const struct putting *p, uint32_t from, uint32_t n)
{
	const uint32_t len =
	    (uint32_t)(sizeof(struct collect_sample) + n * sizeof(uint64_t));
	uint8_t *body = reserve(p, len, from != p->kept);
	uint64_t *pc;

	if (body == NULL)
		return false;
	fill_head(p, body, len, COLLECT_SAMPLE);
	*(struct collect_sample *)(void *)body = (struct collect_sample){
	    .map = p->s->map,
	    .kept = p->kept,
	    .depth = p->s->depth,
	    .from = from,
	    .n = n,
	    .end = p->s->end,
	    .ticks = p->ticks,
	    .owner = p->w->area->owner,
	    .check = p->check,
	};
	pc = (uint64_t *)(void *)(body + sizeof(struct collect_sample));
	for (uint32_t i = 0; i < n; i++)
		pc[i] = unwind_word(unwind_at(p->maps, p->s->map, from + i));
	collect_publish(p->w, (uint32_t)sizeof(struct collect_record) + len);
	return true;
}

/* S2 */
static uint32_t kept_of(const struct collect_state *state,
			const struct unwind_sample *s)
{
	uint32_t before = state->depth[s->map], least;

	if (before == s->depth)
		return s->kept;
	least = before < s->depth ? before : s->depth;
	if (least == 0)
		return 0;
	return s->kept < least ? s->kept : least - 1;
}

enum collect_fate collect_put_sample(struct collect_area *area,
				     uint64_t time_ns,
				     const struct unwind_sample *s,
				     uint64_t check)
{
	struct collect_state *state = collect_state(area);
	struct putting p = {.w = collect_work(area),
			    .maps = collect_maps(area),
			    .s = s,
			    .time_ns = time_ns,
			    .check = check,
			    .ticks = 1 + state->passed,
			    .kept = kept_of(state, s)};
	uint32_t from = p.kept, n;

	do {
		n = s->depth - from < PART ? s->depth - from : PART;
		if (!put_part(&p, from, n)) {
			collect_forget_sample(area); /* S1 */
			return FATE_DROPPED;
		}
		from += n;
	} while (from < s->depth);
	state->depth[s->map] = s->depth;
	state->passed = 0;
	return FATE_RECORDED;
}

void collect_checked(struct collect_area *area, uint64_t time_ns,
		     const struct collect_difference *d)
{
	struct collect_state *state = collect_state(area);
	const struct putting p = {.w = collect_work(area), .time_ns = time_ns};
	uint8_t *body;

	collect_add(&collect_part(area)->checked, 1);
	if (d == NULL)
		return;
	collect_add(&collect_part(area)->differing, 1);
	if (state->differing == TOLD)
		return;
	state->differing++;
	body = reserve(&p, sizeof *d, false);
	if (body == NULL)
		return;
	fill_head(&p, body, sizeof *d, COLLECT_DIFFERENCE);
	*(struct collect_difference *)(void *)body = *d;
	collect_publish(p.w,
			(uint32_t)(sizeof(struct collect_record) + sizeof *d));
}
