/* travel/timeline.c - threads of a process, and where each is at the moment. */
#include "travel/timeline.h"

#include "record/bounds.h"
#include "record/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAST_MEMORY = 512 << 20 }; /* of each thread */

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

/* -- Progress -- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int travel_ask(void *ctx)
{
	enum { EVERY_NS = 5000000 };
	struct timeline *t = ctx;
	int64_t now;

	if (t->progress == NULL)
		return 0;
	now = now_ns();
	if (now - t->asked_ns < EVERY_NS)
		return 0;
	t->asked_ns = now;
	return t->progress(t->progress_ctx, t->done, t->total);
}

void timeline_on_progress(struct timeline *t, hark_progress *f, void *ctx)
{
	t->progress = f;
	t->progress_ctx = ctx;
}

/* -- Lanes -- */

struct lane *travel_lane(struct timeline *t, uint32_t thread)
{
	for (unsigned i = 0; i < t->n_lanes; i++)
		if (t->lanes[i].about.number == thread)
			return &t->lanes[i];
	return NULL;
}

/* What is known already; more may be found out later. */
static struct index *load_index(struct hark_recording *rec)
{
	if (rec->index == NULL) {
		rec->index = index_new(recording_n_segments(rec->r));
		if (rec->index != NULL)
			index_read(rec->index, rec->index_fd, rec->id);
	}
	return rec->index;
}

static struct walker *make_walker(struct timeline *t, struct lane *l,
				  struct walker **at, struct hark_err *err)
{
	if (*at == NULL) {
		if (l->frames == NULL)
			l->frames = frames_new(t->memory_max, t->near);
		if (walker_new(t->rec->r, l->first, l->end, at, err) < 0)
			return NULL;
		walker_on_ask(*at, travel_ask, t);
		walker_use_frames(*at, l->frames);
		walker_use_sections(*at, load_index(t->rec));
		travel_forget_along(t, l, *at);
	}
	return *at;
}

struct walker *travel_walker(struct timeline *t, struct lane *l,
			     struct hark_err *err)
{
	return make_walker(t, l, &l->walker, err);
}

struct walker *travel_scout(struct timeline *t, struct lane *l,
			    struct hark_err *err)
{
	return make_walker(t, l, &l->scout, err);
}

struct walker *travel_ferry(struct timeline *t, struct lane *l,
			    struct hark_err *err)
{
	return make_walker(t, l, &l->ferry, err);
}

/* Its START says who it is; or, where that was dropped, a key frame. */
static int see_start(void *ctx, const struct record_event *e,
		     struct hark_err *err)
{
	struct lane *l = ctx;

	(void)err;
	if (e->type == WIRE_REC_START) {
		l->about.tid = e->start.tid;
		l->about.parent = e->start.parent;
	} else if (e->type == WIRE_REC_KEY) {
		l->about.tid = e->key.tid;
		l->about.parent = e->key.parent;
	}
	return 1;
}

static int read_start(struct timeline *t, struct lane *l, struct hark_err *err)
{
	struct recording_stream *in;

	if (recording_read_segment(t->rec->r, l->first, &in, err) < 0)
		return -1;
	return recording_each(in, RECORD_OF_THREAD, see_start, l, err) < 0 ? -1
									   : 0;
}

static int find_lanes(struct timeline *t, struct hark_err *err)
{
	struct recording *r = t->rec->r;
	unsigned n = recording_n_segments(r), lanes = 0;

	for (unsigned i = 0; i < n; i++)
		lanes += recording_segment(r, i)->process == t->process &&
			 (i == 0 || recording_segment(r, i)->is_first);
	t->lanes = calloc(lanes + 1, sizeof *t->lanes);
	if (t->lanes == NULL)
		return out_of_memory(err);
	for (unsigned i = 0; i < n; i++) {
		const struct recording_segment *s = recording_segment(r, i);
		struct lane *l;

		if (s->process != t->process)
			continue;
		if (t->n_lanes == 0 ||
		    t->lanes[t->n_lanes - 1].about.number != s->thread) {
			if (t->n_lanes > lanes)
				break;
			l = &t->lanes[t->n_lanes++];
			l->about.number = s->thread;
			l->first = i;
		}
		t->lanes[t->n_lanes - 1].end = i + 1;
	}
	for (unsigned i = 0; i < t->n_lanes; i++)
		if (read_start(t, &t->lanes[i], err) < 0)
			return -1;
	return t->n_lanes > 0 ? 0
			      : err_set(err, HARK_EINPUT, 0,
					"process %u has no threads in the "
					"recording",
					t->process);
}

/* Each lane's own turns. */
static int find_turns(struct timeline *t, struct hark_err *err)
{
	size_t n;

	if (t->n_lanes == 1) /* there is nothing to be ordered */
		return 0;
	if (order_load(t->rec->r, t->process, &t->order, err) < 0)
		return -1;
	n = order_n_turns(t->order);
	for (size_t i = 0; i < n; i++) {
		struct lane *l =
		    travel_lane(t, order_turn(t->order, i)->thread);

		if (l != NULL)
			l->n_turns++;
	}
	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct lane *l = &t->lanes[i];

		l->turns = calloc(l->n_turns + 1, sizeof *l->turns);
		if (l->turns == NULL)
			return out_of_memory(err);
		l->n_turns = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct lane *l =
		    travel_lane(t, order_turn(t->order, i)->thread);

		if (l != NULL)
			l->turns[l->n_turns++] = (uint32_t)i;
	}
	return 0;
}

const struct recording_process *travel_process(const struct timeline *t)
{
	struct recording *r = t->rec->r;

	for (unsigned i = 0; i < recording_n_processes(r); i++)
		if (recording_process(r, i)->number == t->process)
			return recording_process(r, i);
	return NULL;
}

/* -- The beginning -- */

uint64_t travel_first_count(const struct timeline *t, const struct lane *l)
{
	return recording_segment(t->rec->r, l->first)->count;
}

/* The first thread; if its beginning was dropped, whoever has the first turn
 * that is left. */
struct lane *travel_first_lane(struct timeline *t)
{
	struct lane *l = NULL;

	if (travel_first_count(t, &t->lanes[0]) > 0 && t->order != NULL &&
	    order_n_turns(t->order) > 0)
		l = travel_lane(t, order_turn(t->order, 0)->thread);
	return l != NULL ? l : &t->lanes[0];
}

static int set_start(struct timeline *t, struct hark_err *err)
{
	struct lane *l = travel_first_lane(t);

	return travel_set(t, l, travel_first_count(t, l), 0, err);
}

/* -- Life -- */

static int prepare(struct timeline *t, struct hark_err *err)
{
	return find_lanes(t, err) < 0 || find_turns(t, err) < 0 ||
		       maps_load(t->rec->r, t->process, &t->maps, err) < 0 ||
		       travel_find_fresh(t, err) < 0
		   ? -1
		   : 0;
}

int travel_open_bare(struct hark_recording *r, uint32_t process,
		     struct timeline **out, struct hark_err *err)
{
	struct timeline *t = calloc(1, sizeof *t);

	if (t == NULL)
		return out_of_memory(err);
	t->rec = r;
	t->process = process;
	t->in_window = -1;
	if (prepare(t, err) < 0) {
		timeline_close(t);
		return -1;
	}
	*out = t;
	return 0;
}

/* Frames and the past are kept to be quick, so all lanes together must not take
 * more of them than a quarter each of what hark may have. */
static void share_memory(struct timeline *t)
{
	enum { LEAST = 8 << 20 };
	uint64_t share = bounds_memory() / 4 / (t->n_lanes + 1);

	share = share > LEAST ? share : LEAST;
	if (share < t->memory_max)
		t->memory_max = (size_t)share;
}

int timeline_open(struct hark_recording *r, uint32_t process,
		  struct timeline **out, struct hark_error *err)
{
	struct timeline *t = calloc(1, sizeof *t);
	struct hark_err why = {0};

	if (t == NULL)
		return travel_error(err, HARK_ERROR_MEMORY, "out of memory");
	t->rec = r;
	t->process = process;
	t->in_window = -1;
	t->near = 1 << 22; /* 20 ms */
	t->memory_max = 512u << 20;
	if (process == 0 && recording_n_processes(r->r) > 0)
		t->process = recording_process(r->r, 0)->number;
	if (prepare(t, &why) < 0 || set_start(t, &why) < 0) {
		timeline_close(t);
		return travel_failed(&why, err);
	}
	travel_find_components(t);
	share_memory(t);
	*out = t;
	return 0;
}

static void free_timeline(struct timeline *t)
{
	for (unsigned i = 0; i < t->n_lanes; i++) {
		walker_free(t->lanes[i].walker);
		walker_free(t->lanes[i].scout);
		walker_free(t->lanes[i].ferry);
		past_free(t->lanes[i].past);
		index_known_free(t->lanes[i].known);
		frames_free(t->lanes[i].frames);
		free(t->lanes[i].turns);
	}
	free(t->lanes);
	order_free(t->order);
	maps_free(t->maps);
	travel_fresh_free(t->fresh);
	free(t->mappings);
	free(t->shown);
	free(t->stops);
	free(t->breaks);
	window_free(t->window);
	free(t->touched);
	free(t);
}

void timeline_close(struct timeline *t)
{
	while (t != NULL) {
		struct timeline *parent = t->parent;

		free_timeline(t);
		t = parent;
	}
}

/* -- The index -- */

enum {
	INDEX_WORTH = 4,	      /* segments */
	INDEX_WORTH_COUNTS = 1 << 24, /* a tenth of a second or more */
};

struct building {
	hark_progress *progress;
	void *ctx;
};

static int show_building(void *ctx, unsigned done, unsigned n)
{
	const struct building *b = ctx;

	return b->progress != NULL ? b->progress(b->ctx, done, n) : 0;
}

int travel_build_index(struct hark_recording *rec, unsigned first, unsigned end,
		       hark_progress *f, void *ctx, struct hark_err *err)
{
	struct building b = {f, ctx};

	if (load_index(rec) == NULL)
		return out_of_memory(err);
	if (index_build(rec->index, rec, first, end, show_building, &b, err) <
	    0)
		return -1;
	index_store(rec->index, rec->path); /* as good if it cannot be kept */
	return index_write(rec->index, rec->built_fd, rec->id) < 0
		   ? out_of_memory(err)
		   : 0;
}

/* Is anything known of the process? (Sections that walkers began at must stay
 * what they are, so what is known is not found out once more.) */
static int has_index(const struct timeline *t)
{
	unsigned end = t->lanes[t->n_lanes - 1].end;

	for (unsigned i = t->lanes[0].first; i < end; i++)
		if (index_has(t->rec->index, i))
			return 1;
	return 0;
}

static uint64_t all_counts(struct timeline *t, uint64_t *n_segments)
{
	struct recording *r = t->rec->r;
	uint64_t sum = 0, n = 0;

	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct lane *l = &t->lanes[i];
		struct hark_err ignored = {0};
		uint64_t last = 0;

		travel_last_count(t, l, &last, &ignored);
		if (last > recording_segment(r, l->first)->count)
			sum += last - recording_segment(r, l->first)->count;
		n += l->end - l->first;
	}
	*n_segments = n;
	return sum;
}

/* How many counts a segment has, in the mean. */
static uint64_t mean_counts(struct timeline *t)
{
	uint64_t n, sum = all_counts(t, &n);

	return n > 0 ? sum / n : 0;
}

/* Would it take so long without that it is worth its price? What was looked
 * through before counts, too: a hundred threads are asked one by one. */
static int is_worth_it(struct timeline *t, unsigned without)
{
	if (without == 0)
		return 0;
	if (t->mean_counts == 0)
		t->mean_counts = 1 + mean_counts(t);
	t->looked_through += without * t->mean_counts;
	return without >= INDEX_WORTH ||
	       t->looked_through >= INDEX_WORTH_COUNTS;
}

struct index *travel_index(struct timeline *t, unsigned without,
			   struct hark_err *err)
{
	struct hark_recording *rec = t->rec;
	struct hark_err why = {0};

	if (load_index(rec) == NULL || t->has_indexed || has_index(t) ||
	    !is_worth_it(t, without))
		return rec->index;
	t->has_indexed = 1;
	if (rec->build(rec->build_ctx, t->lanes[0].first,
		       t->lanes[t->n_lanes - 1].end, &why) < 0) {
		t->has_indexed = why.code != HARK_ETIME;
		if (why.code == HARK_ETIME)
			*err = why;
		return rec->index;
	}
	index_read(rec->index, rec->built_fd, rec->id);
	return rec->index;
}

int timeline_prepare_search(struct timeline *t, int is_long_only,
			    struct hark_error *err)
{
	struct hark_err why = {0};
	uint64_t n;

	if (is_long_only && all_counts(t, &n) < INDEX_WORTH_COUNTS)
		return 0;
	if (travel_index(t, INDEX_WORTH, &why) == NULL && why.code == HARK_OK)
		out_of_memory(&why);
	return why.code == HARK_OK ? 0 : travel_failed(&why, err);
}

/* -- Turns -- */

static int64_t turn_number(const struct timeline *t, const struct lane *l,
			   unsigned segment, uint64_t turns)
{
	uint64_t k;

	if (t->order == NULL)
		return 0;
	k = order_turns_before(t->order, segment) + turns;
	if (k == 0 || l->n_turns == 0)
		return -1;
	if (k > l->n_turns)
		k = l->n_turns;
	return l->turns[k - 1];
}

int64_t travel_turn_of(const struct timeline *t, const struct lane *l,
		       struct walker *w)
{
	return turn_number(t, l, walker_segment(w), walker_turns(w));
}

int64_t travel_turn(struct timeline *t, struct hark_err *err)
{
	struct lane *l = &t->lanes[t->selected];
	struct walker *w = travel_walker(t, l, err);

	if (t->in_window >= 0) {
		const struct window_place *p =
		    window_place(t->window, (unsigned)t->in_window);

		return turn_number(t, l, p->segment, p->turns);
	}
	if (w == NULL || walker_goto(w, t->here.count, t->here.step, err) < 0)
		return -1;
	return travel_turn_of(t, l, w);
}

int travel_place_at(const struct timeline *t, const struct lane *l,
		    int64_t turn, uint64_t *count, uint64_t *pc)
{
	uint32_t low = 0, high = l->n_turns;
	const struct order_turn *next;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((int64_t)l->turns[middle] <= turn)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	if (low == l->n_turns)
		return 2;
	next = order_turn(t->order, l->turns[low]);
	*count = next->count;
	*pc = next->pc;
	return 1;
}

/* At a record of the lane's last segment: as late a one as is known of. */
static int open_late(struct timeline *t, struct lane *l, struct events *out,
		     struct hark_err *err)
{
	struct index *x = load_index(t->rec);
	const unsigned last = l->end - 1;
	struct index_state s;

	if (x != NULL && index_sections(x, last) > 1 &&
	    index_begin_at(x, last, index_sections(x, last) - 1, &s) == 0)
		return events_open_at(out, t->rec->r, &s.mark, l->end, err);
	return events_open(out, t->rec->r, last, l->end, err);
}

/* What the last record of a lane is; looked at once. */
static int find_end(struct timeline *t, struct lane *l, struct hark_err *err)
{
	const struct record_event *e;
	struct events events;
	int rc;

	if (l->knows_end)
		return 0;
	if (open_late(t, l, &events, err) < 0)
		return -1;
	while ((rc = events_peek(&events, &e, err)) > 0) {
		l->last_count = e->count;
		l->has_end = e->type == WIRE_REC_END;
		l->has_died = l->has_end && e->siginfo != NULL;
		events_pass(&events);
	}
	events_close(&events);
	l->knows_end = rc == 0;
	return rc;
}

int travel_last_count(struct timeline *t, struct lane *l, uint64_t *out,
		      struct hark_err *err)
{
	int rc = find_end(t, l, err);

	*out = l->last_count;
	return rc;
}

/* Brings a walker of the lane to its end. */
static int run_to_end(struct timeline *t, struct lane *l, struct walker *w,
		      struct hark_err *err)
{
	struct walker_place place;
	uint8_t info[128];
	uint64_t count;
	int rc;

	if (w == NULL || walker_observe(w, NULL, err) < 0 ||
	    travel_last_count(t, l, &count, err) < 0 ||
	    walker_goto(w, count, 0, err) < 0)
		return -1;
	do {
		rc = walker_step(w, err);
	} while (rc == 0);
	if (rc < 0)
		return -1;
	l->about.end_signal = walker_signal(w, info);
	if (walker_place(w, &place, err) < 0)
		return -1;
	l->about.last = (struct hark_position){t->process, l->about.number,
					       place.count, place.step};
	l->has_last = 1;
	return 0;
}

int travel_last(struct timeline *t, struct lane *l, struct hark_err *err)
{
	if (l->has_last)
		return 0;
	return run_to_end(t, l,
			  l == &t->lanes[t->selected]
			      ? travel_scout(t, l, err)
			      : travel_walker(t, l, err),
			  err);
}

/* To its end, where it should be anyway. */
static int bring_to_window(struct timeline *t, struct walker *w,
			   struct hark_err *err)
{
	const struct walker_place *p =
	    &window_place(t->window, window_n(t->window) - 1)->place;

	return walker_goto(w, p->count, p->step, err) < 0 ? -1 : 1;
}

/* To where its next turn begins. Who is there already may have begun it, and
 * knows what it cannot know yet. */
static int bring_before_turn(struct timeline *t, const struct lane *l,
			     struct walker *w, int64_t turn, uint64_t count,
			     uint64_t pc, struct hark_err *err)
{
	if (walker_goto_pc(w, count, pc, err) < 0)
		return -1;
	if (turn_number(t, l, walker_segment(w), walker_turns_begun(w)) <= turn)
		return 1;
	walker_leave(w);
	return walker_goto_pc(w, count, pc, err) < 0 ? -1 : 1;
}

int travel_bring(struct timeline *t, struct lane *l, struct walker **out,
		 struct hark_err *err)
{
	struct walker *w = travel_walker(t, l, err);
	uint64_t count = 0, pc = 0;
	int64_t turn;
	int how;

	if (w == NULL)
		return -1;
	*out = w;
	if (l == &t->lanes[t->selected] && t->in_window >= 0)
		return bring_to_window(t, w, err);
	if (l == &t->lanes[t->selected])
		return walker_goto(w, t->here.count, t->here.step, err) < 0 ? -1
									    : 1;
	turn = travel_turn(t, err);
	if (turn < 0)
		return 0;
	how = travel_place_at(t, l, turn, &count, &pc);
	if (how == 0)
		return 0;
	if (how == 1)
		return bring_before_turn(t, l, w, turn, count, pc, err);
	if (travel_last(t, l, err) < 0 ||
	    walker_goto(w, l->about.last.count, l->about.last.step, err) < 0)
		return -1;
	return 1;
}

/* -- The moment -- */

int travel_set(struct timeline *t, struct lane *l, uint64_t count,
	       uint64_t step, struct hark_err *err)
{
	struct walker *w = travel_walker(t, l, err);
	struct walker_place place;
	int rc;

	if (w == NULL)
		return -1;
	rc = walker_goto(w, count, step, err);
	if (rc < 0 || walker_place(w, &place, err) < 0)
		return -1;
	if (rc > 0 && (place.count != count || place.step != step))
		return err_set(err, HARK_ENOENT, 0,
			       "thread %u ends at %llu+%llu", l->about.number,
			       (unsigned long long)place.count,
			       (unsigned long long)place.step);
	t->selected = (unsigned)(l - t->lanes);
	t->here = place;
	t->in_window = -1;
	return 0;
}

unsigned timeline_n_threads(const struct timeline *t)
{
	return t->n_lanes;
}

const struct hark_thread *timeline_thread(const struct timeline *t, unsigned i)
{
	struct hark_err ignored = {0};

	if (i >= t->n_lanes)
		return NULL;
	/* Where a life ends is found out when somebody asks. */
	travel_last((struct timeline *)t, &t->lanes[i], &ignored);
	return &t->lanes[i].about;
}

/* One whose log ends without an end was there until all ended: in a system
 * call, most often. */
int timeline_thread_lives(struct timeline *t, uint32_t thread)
{
	struct lane *l = travel_lane(t, thread);
	struct hark_err ignored = {0};
	uint64_t count, pc;
	int64_t turn;
	int how;

	if (l == NULL)
		return 0;
	if (l == &t->lanes[t->selected])
		return 1;
	turn = travel_turn(t, &ignored);
	how = turn >= 0 ? travel_place_at(t, l, turn, &count, &pc) : 0;
	return how == 1 ||
	       (how == 2 && find_end(t, l, &ignored) == 0 && !l->has_end);
}

uint32_t timeline_selected(const struct timeline *t)
{
	return t->lanes[t->selected].about.number;
}

int timeline_select(struct timeline *t, uint32_t thread, struct hark_error *err)
{
	struct lane *l = travel_lane(t, thread);
	struct hark_err why = {0};
	struct walker_place place;
	struct walker *w;
	int rc;

	if (l == NULL)
		return travel_error(err, HARK_ERROR_ARGUMENT,
				    "there is no thread %u", thread);
	rc = travel_bring(t, l, &w, &why);
	if (rc > 0 && walker_place(w, &place, &why) < 0)
		rc = -1;
	if (rc < 0)
		return travel_failed(&why, err);
	if (rc == 0)
		return travel_error(err, HARK_ERROR_POSITION,
				    "thread %u does not live yet", thread);
	t->selected = (unsigned)(l - t->lanes);
	t->here = place;
	t->in_window = -1;
	return 0;
}

struct hark_position timeline_where(struct timeline *t)
{
	return (struct hark_position){t->process, timeline_selected(t),
				      t->here.count, t->here.step};
}

int timeline_seek(struct timeline *t, const struct hark_position *to,
		  struct hark_error *err)
{
	struct lane *l = travel_lane(t, to->thread);
	struct hark_err why = {0};

	if (to->process != t->process)
		return travel_error(err, HARK_ERROR_POSITION,
				    "that is a moment of process %u, and this "
				    "is process %u",
				    to->process, t->process);
	if (l == NULL)
		return travel_error(err, HARK_ERROR_POSITION,
				    "there is no thread %u.%u", to->process,
				    to->thread);
	return travel_set(t, l, to->count, to->step, &why) < 0
		   ? travel_failed(&why, err)
		   : 0;
}

int timeline_seek_start(struct timeline *t, struct hark_error *err)
{
	struct hark_err why = {0};

	return set_start(t, &why) < 0 ? travel_failed(&why, err) : 0;
}

/* Whoever died, and took all others along; or else who has the last turn. */
static struct lane *last_lane(struct timeline *t)
{
	size_t n = t->order != NULL ? order_n_turns(t->order) : 0;
	struct hark_err ignored = {0};
	struct lane *l = NULL;

	for (unsigned i = 0; i < t->n_lanes; i++)
		if (find_end(t, &t->lanes[i], &ignored) == 0 &&
		    t->lanes[i].has_died)
			return &t->lanes[i];
	if (n > 0)
		l = travel_lane(t, order_turn(t->order, n - 1)->thread);
	return l != NULL ? l : &t->lanes[0];
}

int timeline_seek_end(struct timeline *t, struct hark_error *err)
{
	struct lane *l = last_lane(t);
	struct hark_err why = {0};
	int rc;

	if (!l->has_last &&
	    run_to_end(t, l, travel_walker(t, l, &why), &why) < 0)
		return travel_failed(&why, err);
	rc = travel_set(t, l, l->about.last.count, l->about.last.step, &why);
	return rc < 0 ? travel_failed(&why, err) : 0;
}

static int prepare_range(struct timeline *t, struct lane *l, uint64_t from,
			 uint64_t to, unsigned n, struct hark_err *err)
{
	struct walker *w = travel_ferry(t, l, err);
	uint64_t step = (to - from) / ((uint64_t)n + 1);

	if (w == NULL)
		return -1;
	for (uint64_t at = from; n > 0 && step > 0 && to - at > step; n--) {
		at += step;
		if (walker_goto(w, at, 0, err) != 0)
			return err->code == HARK_OK ? 0 : -1;
		if (walker_leave_frame(w, err) < 0)
			return -1;
	}
	return 0;
}

int timeline_prepare(struct timeline *t, const struct hark_position *from,
		     const struct hark_position *to, unsigned n,
		     struct hark_error *err)
{
	struct lane *l = travel_lane(t, from->thread);
	struct hark_err why = {0};

	if (from->process != t->process || to->process != t->process ||
	    l == NULL || from->thread != to->thread || from->count > to->count)
		return travel_error(err, HARK_ERROR_ARGUMENT,
				    "no stretch of one thread");
	return prepare_range(t, l, from->count, to->count, n, &why) < 0
		   ? travel_failed(&why, err)
		   : 0;
}
