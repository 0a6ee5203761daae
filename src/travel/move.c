/* travel/move.c - steps and runs, forwards and backwards.
 *
 * Backwards there is no other way than to look through what was before, from
 * the nearest key frame on, for the last place that is wanted. */
#include "travel/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- What to stop at -- */

static uint32_t add_stop(struct timeline *t, struct stop stop)
{
	if (t->n_stops == t->room_stops) {
		unsigned room = t->room_stops == 0 ? 8 : 2 * t->room_stops;
		struct stop *more = reallocarray(t->stops, room, sizeof *more);

		if (more == NULL)
			return 0;
		t->stops = more;
		t->room_stops = room;
	}
	stop.id = ++t->last_id;
	t->stops[t->n_stops++] = stop;
	return stop.id;
}

uint32_t timeline_break(struct timeline *t, uint64_t address, uint32_t thread,
			timeline_condition *when, void *ctx)
{
	return add_stop(t, (struct stop){.kind = HARK_STOP_BREAKPOINT,
					 .thread = thread,
					 .address = address,
					 .when = when,
					 .ctx = ctx});
}

uint32_t timeline_watch(struct timeline *t, uint64_t address, uint64_t len,
			unsigned on, uint32_t thread, timeline_condition *when,
			void *ctx)
{
	return add_stop(t, (struct stop){.kind = HARK_STOP_WATCH,
					 .thread = thread,
					 .address = address,
					 .len = len,
					 .on = on,
					 .when = when,
					 .ctx = ctx});
}

uint32_t timeline_catch_call(struct timeline *t, int64_t number)
{
	return add_stop(
	    t, (struct stop){.kind = HARK_STOP_CALL, .number = number});
}

uint32_t timeline_catch_signal(struct timeline *t, int signal)
{
	return add_stop(
	    t, (struct stop){.kind = HARK_STOP_SIGNAL, .number = signal});
}

void timeline_forget_stop(struct timeline *t, uint32_t id)
{
	for (unsigned i = 0; i < t->n_stops; i++)
		if (t->stops[i].id == id) {
			t->n_stops--;
			memmove(&t->stops[i], &t->stops[i + 1],
				(t->n_stops - i) * sizeof *t->stops);
			return;
		}
}

/* -- Steps -- */

static void say(struct timeline *t, enum hark_stop why,
		struct hark_stopped *out)
{
	*out =
	    (struct hark_stopped){.why = why, .thread = timeline_selected(t)};
}

/* Which of the window's places the moment is; -1: none. */
static int place_in_window(const struct timeline *t)
{
	if (t->in_window >= 0)
		return t->in_window;
	return t->window != NULL && t->window_of == t->selected
		   ? window_find(t->window, t->here.count, t->here.step)
		   : -1;
}

static void put_in_window(struct timeline *t, unsigned i)
{
	t->in_window = (int)i;
	t->here = window_place(t->window, i)->place;
}

static int step_on(struct timeline *t, uint64_t n, struct hark_stopped *out,
		   struct hark_err *err)
{
	struct lane *l = &t->lanes[t->selected];
	struct walker *w = travel_walker(t, l, err);
	int rc = 0;

	say(t, HARK_STOP_STEP, out);
	if (t->in_window >= 0 &&
	    n < window_n(t->window) - (unsigned)t->in_window) {
		put_in_window(t, (unsigned)t->in_window + (unsigned)n);
		return 0;
	}
	t->in_window = -1;
	if (w == NULL || walker_goto(w, t->here.count, t->here.step, err) < 0)
		return -1;
	while (rc == 0 && n-- > 0)
		rc = walker_step(w, err);
	if (rc < 0 || walker_place(w, &t->here, err) < 0)
		return -1;
	say(t, rc > 0 ? HARK_STOP_END : HARK_STOP_STEP, out);
	return 0;
}

/* How many instructions a count has. */
static int length_of(struct timeline *t, struct lane *l, uint64_t count,
		     uint64_t *out, struct hark_err *err)
{
	struct walker *w = travel_walker(t, l, err);
	struct walker_place at;
	uint64_t n = 0;

	if (w == NULL || walker_goto(w, count, 0, err) < 0)
		return -1;
	do {
		if (walker_step(w, err) < 0 || walker_place(w, &at, err) < 0)
			return -1;
		n++;
	} while (at.count == count);
	*out = n;
	return 0;
}

/* Of the instructions before the moment. Who goes on and on gets larger and
 * larger ones. */
static int open_window(struct timeline *t, struct hark_err *err)
{
	enum { COUNTS = 512, COUNTS_MOST = 8192 };
	uint64_t counts = COUNTS;
	struct walker *w;

	if (t->window == NULL)
		t->window = window_new();
	if (t->window == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	if (t->in_window == 0 && t->window_counts > 0)
		counts = t->window_counts < COUNTS_MOST ? 2 * t->window_counts
							: COUNTS_MOST;
	t->in_window = -1;
	t->window_of = t->selected;
	t->window_counts = counts;
	t->window_number++;
	window_close(t->window);
	if (travel_bring(t, &t->lanes[t->selected], &w, err) < 0)
		return -1;
	if (window_open(t->window, w, counts, err) == 0)
		return 0;
	if (counts == COUNTS || err->code != HARK_ENOMEM)
		return -1;
	*err = (struct hark_err){0};
	t->window_counts = COUNTS;
	if (travel_bring(t, &t->lanes[t->selected], &w, err) < 0)
		return -1;
	return window_open(t->window, w, COUNTS, err);
}

/* Within the window, or a new one before it, so far as it goes: how far; 0: no
 * window goes back from here. */
static uint64_t back_in_window(struct timeline *t, uint64_t n,
			       struct hark_err *err)
{
	struct hark_err ignored = {0};
	int at = place_in_window(t);

	if (at <= 0 && open_window(t, &ignored) == 0)
		at = place_in_window(t);
	if (ignored.code == HARK_ETIME)
		*err = ignored;
	if (at <= 0)
		return 0;
	if (n > (uint64_t)at)
		n = (uint64_t)at;
	put_in_window(t, (unsigned)at - (unsigned)n);
	return n;
}

/* To the last instruction of the count before. */
static int back_a_count(struct timeline *t, struct hark_err *err)
{
	struct lane *l = &t->lanes[t->selected];
	uint64_t count = t->here.count - 1, len;

	t->in_window = -1;
	return length_of(t, l, count, &len, err) < 0
		   ? -1
		   : travel_set(t, l, count, len - 1, err);
}

static int step_back(struct timeline *t, uint64_t n, struct hark_stopped *out,
		     struct hark_err *err)
{
	uint64_t first = travel_first_count(t, &t->lanes[t->selected]);

	while (n > 0) {
		uint64_t done = back_in_window(t, n, err);

		if (err->code != HARK_OK)
			return -1;
		n -= done;
		if (done > 0)
			continue;
		if (t->here.step > 0) {
			done = t->here.step < n ? t->here.step : n;
			n -= done;
			if (travel_set(t, &t->lanes[t->selected], t->here.count,
				       t->here.step - done, err) < 0)
				return -1;
			continue;
		}
		if (t->here.count == first)
			break;
		if (back_a_count(t, err) < 0)
			return -1;
		n--;
	}
	say(t, n > 0 ? HARK_STOP_START : HARK_STOP_STEP, out);
	return 0;
}

int timeline_step(struct timeline *t, enum hark_direction way, uint64_t n,
		  struct hark_stopped *out, struct hark_error *err)
{
	struct walker_place here = t->here;
	struct hark_err why = {0};
	int rc = way == HARK_FORWARD ? step_on(t, n, out, &why)
				     : step_back(t, n, out, &why);

	if (rc == 0)
		return 0;
	t->here = here;
	t->in_window = -1;
	return travel_failed(&why, err);
}

uint32_t timeline_window(const struct timeline *t, uint32_t *n, uint32_t *at)
{
	if (t->in_window < 0)
		return 0;
	*n = window_n(t->window);
	*at = (uint32_t)t->in_window;
	return t->window_number;
}

void timeline_window_place(const struct timeline *t, uint32_t i,
			   uint64_t *count, uint64_t *step)
{
	const struct walker_place *p = &window_place(t->window, i)->place;

	*count = p->count;
	*step = p->step;
}

/* -- Runs -- */

/* Where a lane is at the moment, as the border of a stretch. 0: unborn. */
static int border(struct timeline *t, struct lane *l, int64_t turn,
		  uint64_t *count, uint64_t *step, struct hark_err *err)
{
	struct walker_place at;
	struct walker *w;
	uint64_t pc;
	int how;

	if (l == &t->lanes[t->selected]) {
		*count = t->here.count;
		*step = t->here.step;
		return 1;
	}
	how = travel_place_at(t, l, turn, count, &pc);
	if (how == 2) {
		*count = *step = UINT64_MAX;
		return 1;
	}
	if (how == 0)
		return 0;
	w = travel_walker(t, l, err);
	if (w == NULL || walker_goto_pc(w, *count, pc, err) < 0 ||
	    walker_place(w, &at, err) < 0)
		return -1;
	*step = at.step;
	return 1;
}

/* Is a before b, of hits of different lanes? */
static int is_before(const struct hit *a, const struct hit *b)
{
	return a->turn < b->turn;
}

/* A lane that is looked through for its next hit. */
struct first {
	struct timeline *t;
	struct lane *l;
	struct stretch range; /* what is left to be looked at */
	int resumed;	      /* the hit at its beginning was told */
	int is_here;	      /* the moment is its beginning */
	int found;
	struct hit hit;
	struct hark_err *err;
};

static int keep_first(void *ctx, struct walker *at, const struct hit *hit)
{
	struct first *f = ctx;
	struct hark_err ignored;
	struct walker_place place;

	/* Not where it began, but for what the instruction there touches. */
	if (((hit->stop->kind == HARK_STOP_BREAKPOINT && f->is_here) ||
	     f->resumed) &&
	    hit->count == f->range.count &&
	    walker_place(at, &place, &ignored) == 0 &&
	    place.step == f->range.step)
		return 0;
	f->hit = *hit;
	f->hit.turn = travel_turn_of(f->t, f->l, at);
	f->found = 1;
	return 1;
}

/* Goes on to the lane's next hit; no further than that of `best`. */
static int look_on(struct first *f, const struct first *best)
{
	struct stretch part = f->range;
	uint64_t pc;
	int how = 2;

	if (best != NULL)
		how = travel_place_at(f->t, f->l, best->hit.turn,
				      &part.end_count, &pc);
	if (how == 0)
		return 0;
	if (how == 2)
		part.end_count = UINT64_MAX;
	part.end_step = UINT64_MAX;
	if (part.count > part.end_count)
		return 0;
	if (travel_scan(f->t, f->l, &part, 0, f->t->stops, f->t->n_stops,
			keep_first, f, f->err) < 0)
		return -1;
	if (f->found)
		return 0;
	f->range.count = how == 2 ? UINT64_MAX : part.end_count + 1;
	f->range.step = 0;
	f->resumed = f->is_here = 0;
	return 0;
}

/* Each lane from where it is at the moment. */
static int begin_all(struct timeline *t, struct first *all,
		     struct hark_err *err)
{
	int64_t turn = travel_turn(t, err);

	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct first *f = &all[i];
		int rc;

		*f = (struct first){.t = t,
				    .l = &t->lanes[i],
				    .is_here = i == t->selected,
				    .err = err};
		rc =
		    border(t, f->l, turn, &f->range.count, &f->range.step, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			f->range.count = f->range.step = 0;
	}
	return 0;
}

/* The first hit of all lanes; NULL: none, or *err. */
static struct first *earliest(struct timeline *t, struct first *all,
			      struct hark_err *err)
{
	struct first *best = NULL;

	for (unsigned k = 0; k < t->n_lanes; k++) {
		/* The selected one first: the others need go no further. */
		struct first *f = &all[(t->selected + k) % t->n_lanes];

		if (!f->found && f->range.count != UINT64_MAX &&
		    look_on(f, best) < 0)
			return NULL;
		if (f->found &&
		    (best == NULL || is_before(&f->hit, &best->hit)))
			best = f;
	}
	return err->code == HARK_OK ? best : NULL;
}

/* Its hit is not wanted: from there on. The scout is there still. */
static int pass(struct timeline *t, struct first *f,
		const struct walker_place *at, struct hark_err *err)
{
	struct walker *scout = travel_scout(t, f->l, err);

	if (scout == NULL)
		return -1;
	walker_know_step(scout, at);
	f->range.count = at->count;
	f->range.step = at->step;
	f->resumed = 1;
	f->found = 0;
	return 0;
}

/* The first wanted hit of any lane behind the moment. Conditions are asked in
 * the order of all. */
static int first_hit(struct timeline *t, struct lane **lane, struct hit *out,
		     struct hark_err *err)
{
	struct first *all = calloc(t->n_lanes, sizeof *all), *f;
	int rc = 0;

	if (all == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	if (begin_all(t, all, err) < 0)
		rc = -1;
	while (rc == 0 && (f = earliest(t, all, err)) != NULL) {
		struct walker_place at = {0};

		rc = travel_is_wanted(t, f->l, &f->hit, HARK_FORWARD, &at, err);
		if (rc == 0)
			rc = pass(t, f, &at, err);
		else if (rc > 0) {
			*out = f->hit;
			*lane = f->l;
		}
	}
	free(all);
	return err->code == HARK_OK ? rc : -1;
}

/* The last hit of any lane before the moment. */
static int last_hit(struct timeline *t, struct lane **lane, struct hit *out,
		    struct hark_err *err)
{
	int64_t turn = travel_turn(t, err);
	int found = 0;

	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct lane *l = &t->lanes[i];
		struct stretch range = {0};
		struct hit hit = {0};
		struct walker *w;
		int rc =
		    border(t, l, turn, &range.end_count, &range.end_step, err);

		if (rc > 0)
			rc = travel_scan_last(t, l, &range, t->stops,
					      t->n_stops, &hit, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		w = travel_scout(t, l, err);
		if (w == NULL || walker_goto_pc(w, hit.count, hit.pc, err) < 0)
			return -1;
		hit.turn = travel_turn_of(t, l, w);
		if (!found || is_before(out, &hit)) {
			*out = hit;
			*lane = l;
			found = 1;
		}
	}
	return found;
}

static int go_to_hit(struct timeline *t, struct lane *l, const struct hit *hit,
		     enum hark_direction way, struct hark_err *err)
{
	struct walker_place of_hit, at;

	if (travel_come_to(t, l, hit, way, &of_hit, &at, err) < 0)
		return -1;
	t->selected = (unsigned)(l - t->lanes);
	t->here = at;
	t->in_window = -1;
	return 0;
}

static void say_hit(struct timeline *t, const struct hit *hit,
		    struct hark_stopped *out)
{
	*out = (struct hark_stopped){.why = hit->stop->kind,
				     .thread = timeline_selected(t),
				     .address = hit->address,
				     .size = hit->size,
				     .is_write = hit->is_write,
				     .id = hit->stop->id,
				     .call = hit->call,
				     .signal = hit->signal};
}

static int to_the_end(struct timeline *t, enum hark_direction way,
		      struct hark_stopped *out, struct hark_err *err)
{
	struct hark_error why;
	int rc = way == HARK_FORWARD ? timeline_seek_end(t, &why)
				     : timeline_seek_start(t, &why);

	say(t, way == HARK_FORWARD ? HARK_STOP_END : HARK_STOP_START, out);
	return rc < 0 ? err_set(err, HARK_EBUG, 0, "%s", why.text) : 0;
}

static int run(struct timeline *t, enum hark_direction way,
	       struct hark_stopped *out, struct hark_err *err)
{
	struct lane *l = NULL;
	struct hit hit = {0};
	int rc = t->n_stops == 0       ? 0
		 : way == HARK_FORWARD ? first_hit(t, &l, &hit, err)
				       : last_hit(t, &l, &hit, err);

	if (rc == 0)
		return to_the_end(t, way, out, err);
	if (rc < 0 || go_to_hit(t, l, &hit, way, err) < 0)
		return -1;
	say_hit(t, &hit, out);
	return 0;
}

int timeline_run(struct timeline *t, enum hark_direction way,
		 struct hark_stopped *out, struct hark_error *err)
{
	unsigned selected = t->selected;
	struct walker_place here = t->here;
	struct hark_err why = {0};

	if (run(t, way, out, &why) == 0)
		return 0;
	t->selected = selected;
	t->here = here;
	t->in_window = -1;
	return travel_failed(&why, err);
}
