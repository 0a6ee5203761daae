/* travel/ask.c - questions to a timeline, which stays where it is. */
#include "travel/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Nobody moves it: whatever was asked, it is back where it was. */
struct stay {
	unsigned selected;
	struct walker_place here;
};

static struct stay stay(const struct timeline *t)
{
	return (struct stay){t->selected, t->here};
}

static void come_back(struct timeline *t, const struct stay *s)
{
	t->selected = s->selected;
	t->here = s->here;
	t->in_window = -1;
}

/* -- The last write -- */

/* The last write to the range before the moment, which goes there: 1. */
static int find_write(struct timeline *t, uint64_t address, uint64_t len,
		      struct hit *out, struct hark_err *err)
{
	struct stop *stops = t->stops;
	unsigned n = t->n_stops, room = t->room_stops;
	struct hark_stopped stopped;
	struct hark_error why = {0};
	int rc;

	t->stops = NULL;
	t->n_stops = t->room_stops = 0;
	timeline_watch(t, address, len, HARK_ON_WRITE, HARK_ANY_THREAD, NULL,
		       NULL);
	rc = timeline_run(t, HARK_BACKWARD, &stopped, &why);
	if (rc == 0 && stopped.why == HARK_STOP_WATCH) {
		*out = (struct hit){.count = t->here.count,
				    .pc = t->here.pc,
				    .address = stopped.address,
				    .size = stopped.size,
				    .is_write = 1};
		rc = 1;
	} else if (rc < 0) {
		err_set(err,
			why.code == HARK_ERROR_STOPPED	 ? HARK_ETIME
			: why.code == HARK_ERROR_MACHINE ? HARK_ELACKS
							 : HARK_EBUG,
			0, "%s", why.text);
	}
	free(t->stops);
	t->stops = stops;
	t->n_stops = n;
	t->room_stops = room;
	return rc;
}

/* A range, and since when its pages are what they are. */
struct since {
	uint64_t address, end;
	uint64_t first_page;
	const struct fresh_event **pages; /* owned; NULL: ever since */
};

static uint64_t page_of(uint64_t address)
{
	return address >> 12;
}

static int find_since(struct timeline *t, struct since *s, struct hark_err *err)
{
	uint64_t n = page_of(s->end - 1) - page_of(s->address) + 1;

	s->first_page = page_of(s->address);
	s->pages = calloc(n, sizeof(struct fresh_event *));
	if (s->pages == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	travel_fresh_at(t, travel_turn(t, err));
	for (uint64_t i = 0; i < n; i++)
		s->pages[i] = travel_fresh_of(
		    t, i == 0 ? s->address : (s->first_page + i) << 12);
	return 0;
}

/* At the moment, is what is there now there? */
static int is_there(const struct timeline *t, const struct since *s,
		    uint64_t address)
{
	const struct fresh_event *e =
	    s->pages[page_of(address) - s->first_page];

	return e == NULL || travel_fresh_is_past(t, e);
}

/* What is not, is left out at both ends. */
static void cut(const struct timeline *t, struct since *s)
{
	while (s->address < s->end && !is_there(t, s, s->address))
		s->address = (page_of(s->address) + 1) << 12;
	while (s->address < s->end && !is_there(t, s, s->end - 1))
		s->end = page_of(s->end - 1) << 12;
}

/* Does it write anything of what is there? */
static int counts(const struct timeline *t, const struct since *s,
		  const struct hit *hit)
{
	uint64_t at = hit->address > s->address ? hit->address : s->address;
	uint64_t end = hit->address + hit->size;

	for (; at < end && at < s->end; at = (page_of(at) + 1) << 12)
		if (is_there(t, s, at))
			return 1;
	return 0;
}

/* What was written to memory that is no more does not count. */
static int last_write(struct timeline *t, uint64_t address, uint64_t len,
		      struct hark_access *out, struct hark_err *err)
{
	struct since s = {.address = address, .end = address + len};
	struct hit hit = {0};
	int rc = s.end > s.address ? find_since(t, &s, err) : 0;

	while (rc == 0 && s.address < s.end) {
		rc = find_write(t, s.address, s.end - s.address, &hit, err);
		if (rc <= 0)
			break;
		travel_fresh_at(t, travel_turn(t, err));
		rc = counts(t, &s, &hit);
		cut(t, &s);
	}
	free(s.pages);
	if (rc == 1 && err->code == HARK_OK)
		rc = travel_access(t, &t->lanes[t->selected], &hit, 0, out,
				   err) < 0
			 ? -1
			 : 1;
	return err->code == HARK_OK ? rc : -1;
}

/* Of this process; and then, of those that it has the bytes from. */
int timeline_last_write(struct timeline *t, uint64_t address, uint64_t len,
			struct hark_access *out, struct hark_error *err)
{
	struct hark_err why = {0};
	int rc = 0;

	while (rc == 0 && t != NULL) {
		struct stay here = stay(t);

		rc = last_write(t, address, len, out, &why);
		come_back(t, &here);
		if (rc == 0)
			t = travel_inherited_from(t, address, len, &why);
	}
	return why.code != HARK_OK ? travel_failed(&why, err) : rc;
}

/* -- All of them -- */

struct list {
	struct timeline *t;
	struct lane *l;
	struct hit *hits; /* owned */
	uint32_t *lanes;  /* owned */
	size_t n, room;
	int out_of_memory;
};

static int add(void *ctx, struct walker *at, const struct hit *hit)
{
	struct list *list = ctx;

	if (list->n == list->room) {
		size_t room = list->room == 0 ? 64 : 2 * list->room;
		struct hit *hits = reallocarray(list->hits, room, sizeof *hits);
		uint32_t *lanes = NULL;

		if (hits != NULL) {
			list->hits = hits;
			lanes = reallocarray(list->lanes, room, sizeof *lanes);
		}
		if (lanes == NULL) {
			list->out_of_memory = 1;
			return 1;
		}
		list->lanes = lanes;
		list->room = room;
	}
	list->hits[list->n] = *hit;
	list->hits[list->n].turn = travel_turn_of(list->t, list->l, at);
	list->lanes[list->n] = (uint32_t)(list->l - list->t->lanes);
	list->n++;
	return 0;
}

/* The part of a lane's life between two moments; all of it, if they are of
 * another thread: is_within() sees to the rest. */
static struct stretch part_of(const struct lane *l,
			      const struct hark_position *from,
			      const struct hark_position *to)
{
	struct stretch part = {0, 0, UINT64_MAX, UINT64_MAX, 0};

	if (from != NULL && from->thread == l->about.number) {
		part.count = from->count;
		part.step = from->step;
	}
	if (to != NULL && to->thread == l->about.number) {
		part.end_count = to->count;
		part.end_step = to->step;
	}
	return part;
}

static int collect(struct timeline *t, const struct stop *what,
		   const struct hark_position *from,
		   const struct hark_position *to, struct list *out,
		   struct hark_err *err)
{
	for (unsigned i = 0; i < t->n_lanes; i++) {
		struct stretch range = part_of(&t->lanes[i], from, to);

		out->l = &t->lanes[i];
		if (travel_scan(t, out->l, &range, 1, what, 1, add, out, err) <
		    0)
			return -1;
		if (out->out_of_memory)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
	}
	return 0;
}

struct place {
	int64_t turn;
	size_t i;
};

static int by_turn(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static struct place *in_order(const struct list *list)
{
	struct place *p = calloc(list->n + 1, sizeof *p);

	for (size_t i = 0; p != NULL && i < list->n; i++)
		p[i] = (struct place){list->hits[i].turn, i};
	if (p != NULL)
		qsort(p, list->n, sizeof *p, by_turn);
	return p;
}

static int is_within(struct timeline *t, const struct hark_position *at,
		     const struct hark_position *from,
		     const struct hark_position *to)
{
	return (from == NULL || timeline_position_compare(t, from, at) <= 0) &&
	       (to == NULL || timeline_position_compare(t, at, to) < 0);
}

/* The last write of all to these bytes, of those that are listed, and its
 * lane. */
struct written {
	uint64_t address, end;
	const struct lane *by;
};

static int is_own(const struct written *last, const struct lane *l,
		  const struct hit *hit)
{
	return last->by == l && last->address <= hit->address &&
	       hit->address + hit->size <= last->end;
}

/* Writes to bytes that were not asked for are not listed. */
static struct written written_by(const struct hit *hit, const struct lane *l)
{
	const struct stop *of = hit->stop;
	uint64_t end = hit->address + hit->size, of_end = of->address + of->len;

	return (struct written){hit->address > of->address ? hit->address
							   : of->address,
				end < of_end ? end : of_end, l};
}

static int tell_each(struct list *list, const struct hark_position *from,
		     const struct hark_position *to, hark_each_access *each,
		     void *ctx, struct hark_err *err)
{
	struct place *order = in_order(list);
	struct written last = {0};
	int rc = 0;

	if (order == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < list->n; i++) {
		struct lane *l = &list->t->lanes[list->lanes[order[i].i]];
		const struct hit *hit = &list->hits[order[i].i];
		struct hark_access a;

		rc = travel_access(list->t, l, hit, is_own(&last, l, hit), &a,
				   err);
		if (hit->is_write)
			last = written_by(hit, l);
		if (rc == 0 && is_within(list->t, &a.at, from, to) &&
		    each(ctx, &a) != 0)
			break;
	}
	free(order);
	return rc;
}

int timeline_accesses(struct timeline *t, uint64_t address, uint64_t len,
		      unsigned on, const struct hark_position *from,
		      const struct hark_position *to, hark_each_access *each,
		      void *ctx, struct hark_error *err)
{
	const struct stop what = {
	    .kind = HARK_STOP_WATCH, .address = address, .len = len, .on = on};
	struct list list = {.t = t};
	struct stay here = stay(t);
	struct hark_err why = {0};
	int rc = collect(t, &what, from, to, &list, &why);

	if (rc == 0)
		rc = tell_each(&list, from, to, each, ctx, &why);
	free(list.hits);
	free(list.lanes);
	come_back(t, &here);
	return rc < 0 ? travel_failed(&why, err) : 0;
}

int timeline_visits(struct timeline *t, uint64_t address,
		    const struct hark_position *from,
		    const struct hark_position *to, timeline_each_visit *each,
		    void *ctx, struct hark_error *err)
{
	const struct stop what = {.kind = HARK_STOP_BREAKPOINT,
				  .address = address};
	struct list list = {.t = t};
	struct stay here = stay(t);
	struct hark_err why = {0};
	int rc = collect(t, &what, from, to, &list, &why);
	struct place *order = rc == 0 ? in_order(&list) : NULL;

	for (size_t i = 0; rc == 0 && order != NULL && i < list.n; i++) {
		struct lane *l = &t->lanes[list.lanes[order[i].i]];
		const struct hit *hit = &list.hits[order[i].i];
		struct walker *w = travel_walker(t, l, &why);
		struct hark_position at;

		if (w == NULL ||
		    walker_goto_pc(w, hit->count, hit->pc, &why) < 0 ||
		    walker_place(w, &t->here, &why) < 0) {
			rc = -1;
			break;
		}
		t->selected = (unsigned)(l - t->lanes);
		t->in_window = -1;
		at = timeline_where(t);
		if (is_within(t, &at, from, to) && each(ctx, t, &at) != 0)
			break;
	}
	free(order);
	free(list.hits);
	free(list.lanes);
	come_back(t, &here);
	return rc < 0 ? travel_failed(&why, err) : 0;
}
