/* travel/scan.c - a stretch of a thread, looked through for something.
 *
 * A scout runs over it with stops and windows set. Near the end of a stretch,
 * in its last count, it walks, and is looked at after every step. */
#include "travel/timeline.h"

#include "travel/touch.h"
#include "x86/decode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct scan {
	struct timeline *t;
	struct lane *l;
	struct walker *w;
	const struct stop *stops;
	unsigned n_stops;
	scan_each *each;
	scan_done *done; /* NULL: not asked for */
	void *ctx;
	int calls;	  /* somebody wants system calls, or signals */
	unsigned segment; /* the last one */
};

/* -- What is looked for -- */

static int is_for(const struct scan *s, const struct stop *stop)
{
	return stop->thread == HARK_ANY_THREAD ||
	       stop->thread == s->l->about.number;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* -- Windows -- */

/* The code that compares an access with all windows is within one piece of a
 * block, and a piece has 255 bytes at most (engine/translate.c). A window takes
 * up to 21 of them; saving a register and the flags around them, 80. */
enum { WINDOWS_MOST = 6 };
_Static_assert(WINDOWS_MOST < (int)OBSERVE_WINDOWS,
	       "one more, until it is joined");
/* The index of the shadow is a ring: two windows of this length are all of it.
 */
#define HALF_RING ((uint32_t)1 << 31)

/* The window that takes in both, beginning where a does; UINT64_MAX: it would
 * be longer than half the ring. */
static uint64_t len_of_both(const struct observe_window *a,
			    const struct observe_window *b)
{
	uint64_t end = (uint64_t)(uint32_t)(b->index - a->index) + b->len;

	end = end > a->len ? end : a->len;
	return end <= HALF_RING ? end : UINT64_MAX;
}

/* Joins those two whose window is shortest. false: none of them is near enough
 * to another. */
static bool join_nearest(struct observe *o)
{
	struct observe_window *to = NULL, *from = NULL;
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < o->n_windows; i++)
		for (unsigned k = 0; k < o->n_windows; k++) {
			uint64_t len = i == k ? UINT64_MAX
					      : len_of_both(&o->windows[i],
							    &o->windows[k]);

			if (len < least) {
				least = len;
				to = &o->windows[i];
				from = &o->windows[k];
			}
		}
	if (to == NULL)
		return false;
	to->len = (uint32_t)least;
	to->on |= from->on;
	*from = o->windows[--o->n_windows];
	return true;
}

static void watch_everything(struct observe *o)
{
	uint32_t on = 0;

	for (unsigned i = 0; i < o->n_windows; i++)
		on |= o->windows[i].on;
	for (unsigned i = 0; i < 2; i++)
		o->windows[i] = (struct observe_window){
		    .index = i * HALF_RING, .len = HALF_RING, .on = on};
	o->n_windows = 2;
}

/* More than there may be are joined: what they have between them is looked at,
 * too, and found not to be meant (meet_watches). */
static void add_window(struct observe *o, uint64_t address, uint64_t len,
		       unsigned on)
{
	o->windows[o->n_windows++] = (struct observe_window){
	    .index = (uint32_t)(address + WIRE_SHADOW_SKEW),
	    .len = len < HALF_RING ? (uint32_t)len : HALF_RING,
	    .on = (on & HARK_ON_WRITE ? OBSERVE_STORES : 0u) |
		  (on & HARK_ON_READ ? OBSERVE_LOADS : 0u)};
	if (len > HALF_RING ||
	    (o->n_windows > WINDOWS_MOST && !join_nearest(o)))
		watch_everything(o);
}

static void add_watch(struct observe *o, uint64_t address, uint64_t len,
		      unsigned on, const struct walker *w)
{
	add_window(o, address, len, on);
	if (walker_is_near_fs(w, address))
		add_window(o, address - walker_state(w)->fs_base, len, on);
}

static int set_observers(struct scan *s, struct hark_err *err)
{
	struct observe o = {0};
	uint64_t *breaks =
	    realloc(s->t->breaks, (s->n_stops + 1) * sizeof *s->t->breaks);
	uint32_t n = 0;

	if (breaks == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	s->t->breaks = breaks;
	s->calls = 0;
	for (unsigned i = 0; i < s->n_stops; i++) {
		const struct stop *stop = &s->stops[i];

		if (!is_for(s, stop))
			continue;
		if (stop->kind == HARK_STOP_BREAKPOINT)
			breaks[n++] = stop->address;
		else if (stop->kind == HARK_STOP_WATCH)
			add_watch(&o, stop->address, stop->len, stop->on, s->w);
		else
			s->calls = 1;
	}
	qsort(breaks, n, sizeof *breaks, by_number);
	o.stops = breaks;
	o.n_stops = n;
	return walker_observe(s->w, &o, err);
}

/* -- Hits -- */

static int meet(struct scan *s, const struct stop *stop, struct hit *h)
{
	h->stop = stop;
	h->count = walker_count(s->w);
	h->pc = walker_pc(s->w);
	return s->each(s->ctx, s->w, h);
}

/* The instruction that is next: does it meet a watch? Not 0: enough. */
static int meet_watches(struct scan *s)
{
	struct touch touches[TOUCHES_MAX];
	unsigned n = touches_of(s->w, touches);

	for (unsigned i = 0; i < s->n_stops; i++) {
		const struct stop *stop = &s->stops[i];

		if (stop->kind != HARK_STOP_WATCH || !is_for(s, stop))
			continue;
		for (unsigned k = 0; k < n; k++) {
			const struct touch *t = &touches[k];
			struct hit h = {.address = t->address,
					.index = t->index,
					.size = t->size,
					.is_write = t->is_write};
			int rc;

			if (!(stop->on &
			      (t->is_write ? HARK_ON_WRITE : HARK_ON_READ)) ||
			    t->address >= stop->address + stop->len ||
			    stop->address >= t->address + t->size)
				continue;
			rc = meet(s, stop, &h);
			if (rc != 0)
				return rc;
			break;
		}
	}
	return 0;
}

static int meet_breaks(struct scan *s)
{
	for (unsigned i = 0; i < s->n_stops; i++) {
		const struct stop *stop = &s->stops[i];
		struct hit h = {.address = stop->address};
		int rc = 0;

		if (stop->kind == HARK_STOP_BREAKPOINT && is_for(s, stop) &&
		    stop->address == walker_pc(s->w))
			rc = meet(s, stop, &h);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int meet_calls(struct scan *s, enum walker_stop why)
{
	uint8_t info[128];
	int signal = why == WALKER_SIGNAL ? walker_signal(s->w, info) : 0;
	int64_t call = (int32_t)walker_state(s->w)->gpr[X86_RAX];

	for (unsigned i = 0; i < s->n_stops; i++) {
		const struct stop *stop = &s->stops[i];
		struct hit h = {.call = call, .signal = signal};
		int rc = 0;

		if (is_for(s, stop) &&
		    ((stop->kind == HARK_STOP_CALL && why == WALKER_CALL &&
		      (stop->number < 0 || stop->number == call)) ||
		     (stop->kind == HARK_STOP_SIGNAL && why == WALKER_SIGNAL &&
		      (stop->number == 0 || stop->number == signal))))
			rc = meet(s, stop, &h);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* -- Running over it -- */

/* Has it come to the end of the stretch, or of the segment? */
static int is_over(struct scan *s, const struct stretch *range,
		   struct hark_err *err)
{
	struct walker_place at;

	if (walker_segment(s->w) > s->segment ||
	    walker_count(s->w) > range->end_count)
		return 1;
	if (walker_count(s->w) < range->end_count)
		return 0;
	if (walker_place(s->w, &at, err) < 0)
		return -1;
	return at.step >= range->end_step;
}

/* The instruction that met watches is executed. 1: that was enough. */
static int step_over(struct scan *s, struct hark_err *err)
{
	if (walker_step(s->w, err) < 0)
		return -1;
	return s->done != NULL && s->done(s->ctx, s->w) != 0;
}

/* In the last count, step by step. */
static int walk(struct scan *s, const struct stretch *range,
		struct hark_err *err)
{
	for (;;) {
		int rc = is_over(s, range, err);

		if (rc != 0)
			return rc < 0 ? -1 : 0;
		rc = meet_breaks(s);
		if (rc == 0)
			rc = meet_watches(s);
		if (rc != 0)
			return 1;
		rc = walker_step(s->w, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (s->done != NULL && s->done(s->ctx, s->w) != 0)
			return 1;
	}
}

static int run(struct scan *s, const struct stretch *range,
	       struct hark_err *err)
{
	while (walker_count(s->w) < range->end_count) {
		enum walker_stop why;
		int rc = 0;

		if (walker_run(s->w, range->end_count, s->calls, &why, err) < 0)
			return -1;
		if (why == WALKER_END || walker_segment(s->w) > s->segment)
			return 0;
		/* In the last count one walks. */
		if (walker_count(s->w) >= range->end_count)
			break;
		if (why == WALKER_FS && set_observers(s, err) < 0)
			return -1;
		if (why == WALKER_BREAK)
			rc = meet_breaks(s);
		if (why == WALKER_CALL || why == WALKER_SIGNAL)
			rc = meet_calls(s, why);
		if (why == WALKER_WATCH) {
			rc = meet_watches(s);
			if (rc == 0)
				rc = step_over(s, err);
		}
		if (rc != 0)
			return rc < 0 ? -1 : 1;
	}
	return walk(s, range, err);
}

/* A stretch may begin before what is recorded. */
static void clip(const struct timeline *t, const struct lane *l,
		 struct stretch *range)
{
	uint64_t first = travel_first_count(t, l);

	if (range->count < first) {
		range->count = first;
		range->step = 0;
	}
}

/* To the beginning: 1: there is none. A segment may begin within a count. */
static int set_out(struct scan *s, struct stretch *range, struct hark_err *err)
{
	uint64_t first;
	int rc;

	clip(s->t, s->l, range);
	s->segment = range->in - 1;
	first = recording_segment(s->t->rec->r, s->segment)->count;
	if (range->count > first ||
	    (range->count == first && (first > 0 || range->step > 0))) {
		rc = walker_goto(s->w, range->count, range->step, err);
		if (rc != 0 || walker_segment(s->w) == s->segment)
			return rc;
		if (walker_segment(s->w) > s->segment)
			return 1;
	}
	return walker_goto_segment(s->w, s->segment, err);
}

/* From where the walker is. 1: it was enough. */
static int scan_from_here(struct scan *s, const struct stretch *range,
			  struct hark_err *err)
{
	int rc = is_over(s, range, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (set_observers(s, err) < 0)
		return -1;
	/* Runs do not stop where they begin. */
	rc = meet_breaks(s);
	return rc != 0 ? 1 : run(s, range, err);
}

static int scan_segment(struct timeline *t, struct lane *l,
			const struct stretch *of, const struct stop *stops,
			unsigned n_stops, scan_each *each, void *ctx,
			struct hark_err *err)
{
	struct stretch range = *of;
	struct scan s = {.t = t,
			 .l = l,
			 .w = travel_scout(t, l, err),
			 .stops = stops,
			 .n_stops = n_stops,
			 .each = each,
			 .ctx = ctx};
	int rc;

	if (s.w == NULL)
		return -1;
	rc = set_out(&s, &range, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return scan_from_here(&s, &range, err);
}

/* -- In pieces -- */

/* To where the last piece ended, unless the scout is still there. */
static int set_out_again(struct scan *s, const struct scan_place *at,
			 struct hark_err *err)
{
	s->segment = at->segment;
	return walker_is_at(s->w, at->segment, at->count, at->pc)
		   ? 0
		   : walker_goto_pc(s->w, at->count, at->pc, err);
}

int travel_scan_on(struct timeline *t, struct lane *l, const struct stretch *of,
		   struct scan_place *at, const struct stop *stops,
		   unsigned n_stops, const struct scan_calls *calls, void *ctx,
		   struct hark_err *err)
{
	struct stretch range = *of;
	struct scan s = {.t = t,
			 .l = l,
			 .w = travel_scout(t, l, err),
			 .stops = stops,
			 .n_stops = n_stops,
			 .each = calls->each,
			 .done = calls->done,
			 .ctx = ctx};
	int rc;

	if (s.w == NULL)
		return -1;
	range.in = at->segment + 1;
	rc = at->is_inside ? set_out_again(&s, at, err)
			   : set_out(&s, &range, err);
	if (rc == 0)
		rc = scan_from_here(&s, &range, err);
	else if (rc > 0)
		rc = 0;
	if (rc < 0)
		return -1;
	at->is_inside = walker_segment(s.w) == at->segment;
	at->count = walker_count(s.w);
	at->pc = walker_pc(s.w);
	return rc;
}

/* -- Conditions -- */

/* It goes forwards only, as the scout does. */
int travel_come_to(struct timeline *t, struct lane *l, const struct hit *hit,
		   enum hark_direction way, struct walker_place *of_hit,
		   struct walker_place *out, struct hark_err *err)
{
	struct walker *w = travel_walker(t, l, err);

	if (w == NULL || walker_goto_pc(w, hit->count, hit->pc, err) < 0 ||
	    walker_place(w, of_hit, err) < 0)
		return -1;
	/* Forwards one is told of an access when it is done. */
	if (hit->stop->kind == HARK_STOP_WATCH && way == HARK_FORWARD &&
	    walker_step(w, err) < 0)
		return -1;
	return walker_place(w, out, err);
}

int travel_is_wanted(struct timeline *t, struct lane *l, const struct hit *hit,
		     enum hark_direction way, struct walker_place *of_hit,
		     struct hark_err *err)
{
	unsigned selected = t->selected;
	struct walker_place here = t->here, at;
	int in_window = t->in_window, wanted;

	if (hit->stop->when == NULL)
		return 1;
	if (travel_come_to(t, l, hit, way, of_hit, &at, err) < 0)
		return -1;
	t->selected = (unsigned)(l - t->lanes);
	t->here = at;
	t->in_window = -1;
	wanted = hit->stop->when(hit->stop->ctx, t) != 0;
	t->selected = selected;
	t->here = here;
	t->in_window = in_window;
	return wanted;
}

/* -- The last one -- */

/* A place with very many hits is not looked through from its beginning. */
enum { HITS_MOST = 1 << 14, STRETCH = 1 << 16 };

struct last {
	struct timeline *t;
	struct lane *l;
	struct hit hit; /* if it has a stop */
	unsigned n, most;
	struct hark_err *err;
};

static int keep_last(void *ctx, struct walker *at, const struct hit *hit)
{
	struct last *last = ctx;
	struct walker_place place;
	int rc = travel_is_wanted(last->t, last->l, hit, HARK_BACKWARD, &place,
				  last->err);

	(void)at;
	if (rc < 0)
		return 1;
	if (rc > 0)
		last->hit = *hit;
	return ++last->n >= last->most;
}

/* 1: there were too many. */
static int scan_part(struct last *last, const struct stretch *part,
		     const struct stop *stops, unsigned n_stops)
{
	int rc = scan_segment(last->t, last->l, part, stops, n_stops, keep_last,
			      last, last->err);

	return rc < 0 || last->err->code != HARK_OK ? -1 : rc;
}

/* A scout looks at everything on its way; so somebody else goes ahead, and
 * leaves a frame for it. */
static int ferry_to(struct timeline *t, struct lane *l, uint64_t count,
		    struct hark_err *err)
{
	struct walker *w = travel_ferry(t, l, err);

	return w == NULL || walker_goto(w, count, 0, err) < 0
		   ? -1
		   : walker_leave_frame(w, err);
}

/* [count, end of the part) */
static int scan_end(struct last *last, struct stretch *part, uint64_t count,
		    const struct stop *stops, unsigned n_stops)
{
	struct stretch end = {count, 0, part->end_count, part->end_step,
			      part->in};

	if (ferry_to(last->t, last->l, count, last->err) < 0 ||
	    scan_part(last, &end, stops, n_stops) < 0)
		return -1;
	part->end_count = count;
	part->end_step = 0;
	return last->hit.stop != NULL;
}

/* A count behind the part. */
static int end_of(struct last *last, const struct stretch *part, uint64_t *out)
{
	int rc = 0;

	*out = part->end_count;
	if (*out != UINT64_MAX)
		return 0;
	if (part->in < last->l->end)
		*out = recording_segment(last->t->rec->r, part->in)->count;
	else
		rc = travel_last_count(last->t, last->l, out, last->err);
	(*out)++;
	return rc;
}

/* Many hits: from the end, in stretches that grow. The part's first hits are
 * known already. */
static int scan_dense(struct last *last, struct stretch *part,
		      const struct stop *stops, unsigned n_stops)
{
	struct hit before = last->hit;
	uint64_t first = before.stop != NULL ? before.count : part->count;
	uint64_t end;

	if (end_of(last, part, &end) < 0)
		return -1;
	last->most = UINT32_MAX;
	for (uint64_t len = STRETCH; end > first + 1; len *= 4) {
		uint64_t count = end - first - 1 > len ? end - len : first + 1;
		int rc;

		last->hit = (struct hit){0};
		rc = scan_end(last, part, count, stops, n_stops);
		if (rc != 0)
			return rc;
		end = count;
	}
	/* What is left is one count: that of the last hit there was. */
	last->hit = (struct hit){0};
	if (first > part->count) {
		part->count = first;
		part->step = 0;
	}
	return scan_part(last, part, stops, n_stops);
}

/* Most often it is not far; and there are frames near. */
static int scan_near(struct last *last, struct stretch *part,
		     const struct stop *stops, unsigned n_stops)
{
	uint64_t end = part->end_count;
	int rc;

	if (end == UINT64_MAX || end - part->count <= 4 * (uint64_t)STRETCH)
		return 0;
	last->most = UINT32_MAX;
	rc = scan_end(last, part, end - STRETCH, stops, n_stops);
	last->most = HITS_MOST;
	last->n = 0;
	return rc;
}

/* Of one segment: 1: there is one. */
static int last_of(struct last *last, struct stretch *part,
		   const struct stop *stops, unsigned n_stops)
{
	int rc = scan_part(last, part, stops, n_stops);

	if (rc > 0 && last->n >= last->most)
		rc = scan_dense(last, part, stops, n_stops);
	return rc < 0 ? -1 : last->hit.stop != NULL;
}

static unsigned kinds_of(const struct stop *stop)
{
	return (stop->on & HARK_ON_READ ? INDEX_READ : 0u) |
	       (stop->on & HARK_ON_WRITE ? INDEX_WRITTEN : 0u);
}

/* Might the segment have such a thing? */
static int may_meet(struct index *x, unsigned segment, const struct stop *stop)
{
	switch (stop->kind) {
	case HARK_STOP_BREAKPOINT:
		return index_may(x, segment, INDEX_EXECUTED, stop->address, 1);
	case HARK_STOP_WATCH:
		return index_may(x, segment, kinds_of(stop), stop->address,
				 stop->len);
	case HARK_STOP_CALL:
		return index_may_call(x, segment, stop->number);
	case HARK_STOP_SIGNAL:
		return index_may_signal(x, segment, (int)stop->number);
	default:
		return 1;
	}
}

/* One of them? */
int travel_may_have(struct index *x, unsigned segment, const struct lane *l,
		    const struct stop *stops, unsigned n_stops)
{
	for (unsigned i = 0; x != NULL && i < n_stops; i++)
		if ((stops[i].thread == HARK_ANY_THREAD ||
		     stops[i].thread == l->about.number) &&
		    may_meet(x, segment, &stops[i]))
			return 1;
	return x == NULL;
}

/* Is a part of the stretch in the segment? */
static int is_in(const struct timeline *t, const struct lane *l,
		 const struct stretch *range, unsigned s)
{
	struct recording *r = t->rec->r;

	return (s == l->first ||
		recording_segment(r, s)->count <= range->end_count) &&
	       (s + 1 == l->end ||
		recording_segment(r, s + 1)->count >= range->count);
}

/* -- Sections of a segment -- */

/* The last section before `end` that may have one of them; -1: none. *is_sure:
 * those of the answer only; else of any section of the segment. */
static int last_section(struct index *x, unsigned segment, unsigned end,
			const struct lane *l, const struct stop *stops,
			unsigned n_stops, bool *is_sure)
{
	int last = -1;

	*is_sure = true;
	for (unsigned i = 0; i < n_stops; i++) {
		const struct stop *s = &stops[i];
		int k = -1;

		if (!travel_may_have(x, segment, l, s, 1))
			continue;
		if (s->kind == HARK_STOP_WATCH) {
			k = index_last_section(x, segment, end, kinds_of(s),
					       s->address, s->len);
		} else {
			k = (int)end - 1;
			*is_sure = false;
		}
		last = k > last ? k : last;
	}
	return last;
}

/* Might it be met in the last STRETCH counts of the part, if these are in its
 * segment? To go there may take as long as to replay the section that it is
 * in. */
static bool may_be_near(const struct timeline *t, struct index *x,
			const struct stretch *part, const struct lane *l,
			const struct stop *stops, unsigned n_stops)
{
	unsigned segment = part->in - 1, near, end;
	bool is_sure;

	if (part->end_count < STRETCH)
		return true;
	if (part->in < l->end &&
	    recording_segment(t->rec->r, part->in)->count <=
		part->end_count - STRETCH)
		return false;
	if (x == NULL || index_sections(x, segment) == 1)
		return true;
	near = index_section_at(x, segment, part->end_count - STRETCH);
	end = index_section_at(x, segment, part->end_count) + 1;
	return last_section(x, segment, end, l, stops, n_stops, &is_sure) >=
	       (int)near;
}

/* The first from there on; the number of sections: none. */
static unsigned next_section(struct index *x, unsigned segment, unsigned from,
			     const struct lane *l, const struct stop *stops,
			     unsigned n_stops)
{
	unsigned n = index_sections(x, segment), first = n;

	for (unsigned i = 0; i < n_stops; i++) {
		const struct stop *s = &stops[i];
		int k;

		if (!travel_may_have(x, segment, l, s, 1))
			continue;
		if (s->kind != HARK_STOP_WATCH)
			return from;
		k = index_next_section(x, segment, from, kinds_of(s),
				       s->address, s->len);
		if (k >= 0 && (unsigned)k < first)
			first = (unsigned)k;
	}
	return first;
}

/* Of the part of a segment what is in sections [first, end). */
static struct stretch cut_sections(struct index *x, const struct stretch *part,
				   unsigned first, unsigned end)
{
	unsigned segment = part->in - 1;
	struct stretch piece = *part;
	uint64_t from = index_section_count(x, segment, first);
	uint64_t to = index_section_count(x, segment, end);

	if (first > 0 && from > piece.count) {
		piece.count = from;
		piece.step = 0;
	}
	if (end < index_sections(x, segment) && to <= piece.end_count) {
		piece.end_count = to;
		piece.end_step = 0;
	}
	return piece;
}

/* From the last section on; where any may have it, twice as many each time. */
static int last_of_sections(struct last *last, struct index *x,
			    const struct stretch *part,
			    const struct stop *stops, unsigned n_stops)
{
	unsigned segment = part->in - 1, grow = 1;
	unsigned end = index_section_at(x, segment, part->end_count) + 1;
	int rc = 0;

	while (rc == 0 && end > 0) {
		struct stretch piece;
		unsigned first;
		bool is_sure;
		int k = last_section(x, segment, end, last->l, stops, n_stops,
				     &is_sure);

		if (k < 0)
			return 0;
		first = is_sure || (unsigned)k < grow ? (unsigned)k
						      : (unsigned)k + 1 - grow;
		if (!is_sure && (unsigned)k < grow)
			first = 0;
		piece = cut_sections(x, part, first, (unsigned)k + 1);
		last->n = 0;
		last->most = HITS_MOST;
		rc = last_of(last, &piece, stops, n_stops);
		if (piece.count == part->count)
			break; /* it begins here */
		end = first;
		grow *= 2;
	}
	return rc;
}

static int last_of_segment(struct last *last, struct index *x,
			   struct stretch *part, const struct stop *stops,
			   unsigned n_stops)
{
	return x != NULL && index_sections(x, part->in - 1) > 1
		   ? last_of_sections(last, x, part, stops, n_stops)
		   : last_of(last, part, stops, n_stops);
}

/* Segment by segment, backwards. */
int travel_scan_last(struct timeline *t, struct lane *l,
		     const struct stretch *range, const struct stop *stops,
		     unsigned n_stops, struct hit *out, struct hark_err *err)
{
	struct index *x = travel_index(t, 0, err);
	unsigned n_looked = 0;

	t->total = l->end - l->first;
	for (unsigned s = l->end; s-- > l->first;) {
		struct stretch part = *range;
		struct last last = {
		    .t = t, .l = l, .most = HITS_MOST, .err = err};
		int rc;

		t->done = l->end - s;
		if (n_looked == 1)
			x = travel_index(t, s - l->first + 1, err);
		if (err->code != HARK_OK)
			return -1;
		if (!is_in(t, l, range, s) ||
		    !travel_may_have(x, s, l, stops, n_stops))
			continue;
		part.in = s + 1;
		clip(t, l, &part);
		rc = 0;
		if (n_looked++ == 0) {
			if (may_be_near(t, x, &part, l, stops, n_stops))
				rc = scan_near(&last, &part, stops, n_stops);
			x = rc == 0 ? travel_index(t, 1, err) : x;
		}
		if (err->code != HARK_OK)
			return -1;
		if (rc == 0)
			rc = last_of_segment(&last, x, &part, stops, n_stops);
		if (rc > 0)
			*out = last.hit;
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Where a segment ends, the next one begins: what is met there is met twice. */
struct once {
	scan_each *each;
	void *ctx;
	struct hit last; /* if it has a stop */
};

static int tell_once(void *ctx, struct walker *at, const struct hit *hit)
{
	struct once *o = ctx;

	if (hit->stop == o->last.stop && hit->count == o->last.count &&
	    hit->pc == o->last.pc)
		return 0;
	o->last = *hit;
	return o->each(o->ctx, at, hit);
}

/* Sections that may have it, one behind the other, are one stretch. */
static int scan_sections(struct timeline *t, struct lane *l, struct index *x,
			 const struct stretch *part, const struct stop *stops,
			 unsigned n_stops, struct once *once,
			 struct hark_err *err)
{
	unsigned segment = part->in - 1, n = index_sections(x, segment);
	unsigned from = index_section_at(x, segment, part->count);
	unsigned last = index_section_at(x, segment, part->end_count);
	int rc = 0;

	while (rc == 0) {
		struct stretch piece;
		unsigned end;

		from = next_section(x, segment, from, l, stops, n_stops);
		if (from > last || from >= n)
			return 0;
		for (end = from + 1;
		     end < n &&
		     next_section(x, segment, end, l, stops, n_stops) == end;)
			end++;
		piece = cut_sections(x, part, from, end);
		rc = scan_segment(t, l, &piece, stops, n_stops, tell_once, once,
				  err);
		from = end;
	}
	return rc;
}

int travel_scan(struct timeline *t, struct lane *l, const struct stretch *range,
		int is_all, const struct stop *stops, unsigned n_stops,
		scan_each *each, void *ctx, struct hark_err *err)
{
	struct index *x = travel_index(t, is_all ? l->end - l->first : 0, err);
	struct once once = {.each = each, .ctx = ctx};
	unsigned n_looked = 0;
	int rc = 0;

	t->total = l->end - l->first;
	for (unsigned s = l->first; rc == 0 && s < l->end; s++) {
		struct stretch part = *range;

		t->done = s - l->first;
		part.in = s + 1;
		if (n_looked == 2)
			x = travel_index(t, l->end - s, err);
		if (err->code != HARK_OK)
			return -1;
		if (!is_in(t, l, range, s) ||
		    !travel_may_have(x, s, l, stops, n_stops))
			continue;
		n_looked++;
		clip(t, l, &part);
		rc = x != NULL && index_sections(x, s) > 1
			 ? scan_sections(t, l, x, &part, stops, n_stops, &once,
					 err)
			 : scan_segment(t, l, &part, stops, n_stops, tell_once,
					&once, err);
	}
	return rc;
}
