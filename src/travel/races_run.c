/* travel/races_run.c - all threads in the order of their turns, from one thing
 * that synchronises to the next: what they have touched in between goes into
 * clocks.
 *
 * Of each thread there are two runners, one with its loads marked and one with
 * its stores. */
#include "travel/races.h"

#include <stdlib.h>
#include <string.h>

static const unsigned kinds[2] = {OBSERVE_LOADS, OBSERVE_STORES};

static int ignore(void *ctx, uint32_t granule, uint8_t mask)
{
	(void)ctx;
	(void)granule;
	(void)mask;
	return 0;
}

static int has_word(const struct races *r, const struct races_op *op)
{
	return numbers_have(&r->words, races_word(op->address)) ||
	       numbers_have(&r->words, races_word(op->address + op->size - 1));
}

/* A thread, at the next thing that synchronises it. */
struct racer {
	struct lane *l;
	struct runner *x[2]; /* owned: by kind; NULL: it is over, or not yet */
	struct poll *poll;   /* owned */
	int is_alone, is_over;
	int64_t turn;
	enum runner_cut cut;
	struct races_op op;	/* at a STOP */
	struct races_call call; /* at a CALL, and behind it */
	struct region region;	/* since the last one */
	struct mark *marks;	/* owned */
	size_t n_marks, room_marks;
	unsigned kind; /* that is being looked at */
	uint64_t ends; /* the word that tells of its end */
	/* How often it has come to the same stop for nothing. */
	uint64_t idle_pc;
	unsigned idle;
	int no_memory;
};

struct third {
	struct races *r;
	struct racer *racers; /* owned: one a lane */
	unsigned n;
	struct racer **order; /* owned: as they begin */
	unsigned n_begun;     /* of them */
	struct racer **live;  /* owned: that have begun, and not ended */
	unsigned n_live;
	struct clocks *clocks; /* owned */
	struct conflicts *out;
	struct racer *now;
	uint32_t region; /* of which marks are told */
	struct hark_err *err;
};

static int add_mark(void *ctx, uint32_t granule, uint8_t bytes)
{
	struct racer *x = ctx;

	if (x->n_marks == x->room_marks) {
		size_t room = x->room_marks == 0 ? 64 : 2 * x->room_marks;
		struct mark *more = reallocarray(x->marks, room, sizeof *more);

		if (more == NULL) {
			x->no_memory = 1;
			return -1;
		}
		x->marks = more;
		x->room_marks = room;
	}
	x->marks[x->n_marks] = (struct mark){.granule = granule};
	x->marks[x->n_marks++].bytes[x->kind] = bytes;
	return 0;
}

static int look(struct third *s, struct racer *x)
{
	for (x->kind = 0; x->kind < 2; x->kind++)
		poll_marks(x->poll, x->x[x->kind],
			   x->is_alone ? ignore : add_mark, x);
	return x->no_memory ? races_no_memory(s->err) : 0;
}

/* Does what it is at synchronise? */
static int is_sync(struct third *s, struct racer *x)
{
	switch (x->cut) {
	case RUNNER_STOP:
		return races_op_at(x->x[0], &x->op) &&
		       (x->op.is_locked || has_word(s->r, &x->op));
	case RUNNER_CALL:
		races_call(x->x[0], &x->call);
		return x->call.gives[0] != 0 || x->call.takes[0] != 0 ||
		       x->call.ends != 0;
	case RUNNER_CALLED:
		return x->call.takes[0] != 0;
	default:
		return x->cut != RUNNER_KEY;
	}
}

static int64_t turn_of(const struct third *s, const struct racer *x)
{
	uint64_t k =
	    order_turns_before(s->r->t->order, runner_segment(x->x[0])) +
	    runner_turns(x->x[0]);

	if (k == 0 || x->l->n_turns == 0)
		return -1;
	return x->l->turns[(k < x->l->n_turns ? k : x->l->n_turns) - 1];
}

/* Does the stop only load? */
static int only_loads(const struct racer *x)
{
	return x->cut == RUNNER_STOP && !x->op.is_locked && !x->op.stores;
}

/* A stop was for nothing. */
static int be_patient(struct third *s, struct racer *x)
{
	uint64_t pc = runner_pc(x->x[0]);

	x->idle = pc == x->idle_pc ? x->idle + 1 : 0;
	x->idle_pc = pc;
	if (x->idle < RACES_PATIENCE)
		return 0;
	x->idle = 0;
	return runner_hush(x->x[0], s->err) < 0 ||
		       runner_hush(x->x[1], s->err) < 0
		   ? -1
		   : 0;
}

/* On to the next. */
static int advance(struct third *s, struct racer *x)
{
	int is_over;

	do {
		enum runner_cut other;

		if (runner_next(x->x[0], &x->cut, s->err) < 0 ||
		    runner_next(x->x[1], &other, s->err) < 0)
			return -1;
		if (x->cut != other ||
		    runner_count(x->x[0]) != runner_count(x->x[1]) ||
		    runner_pc(x->x[0]) != runner_pc(x->x[1]))
			return err_set(s->err, HARK_EBUG, 0,
				       "thread %u is not twice the same at "
				       "0x%llx",
				       x->l->about.number,
				       (unsigned long long)runner_pc(x->x[0]));
		if (x->cut == RUNNER_KEY && look(s, x) < 0)
			return -1;
		is_over = is_sync(s, x);
		if (!is_over && only_loads(x) && be_patient(s, x) < 0)
			return -1;
	} while (!is_over);
	x->region.end_count = runner_count(x->x[0]);
	x->region.end_pc = runner_pc(x->x[0]);
	x->turn = turn_of(s, x);
	return look(s, x);
}

/* There is room for so many replays. */
static int too_many(const struct third *s)
{
	enum { MANY = 32 };

	if (s->err->code == HARK_ENOMEM && s->n_live > MANY)
		err_set(s->err, HARK_EREFUSE, 0,
			"%u threads live at the same time: too many to look "
			"for races of",
			s->n_live);
	return -1;
}

static int begin(struct third *s, struct racer *x)
{
	for (unsigned k = 0; k < 2; k++)
		if (races_runner(s->r, x->l, kinds[k], &x->x[k], s->err) < 0)
			return too_many(s);
	if (poll_new(s->r->granules, s->r->n_granules, &x->poll, s->err) < 0)
		return -1;
	x->is_alone = races_begins_alone(s->r->t, x->l);
	x->region = (struct region){.count = runner_count(x->x[0]),
				    .pc = runner_pc(x->x[0]),
				    .lane = (uint32_t)(x - s->racers)};
	clocks_take(s->clocks, x->region.lane, RACES_BIRTH | x->l->about.tid);
	return advance(s, x);
}

static void finish(struct races *r, struct racer *x)
{
	races_spare(r, kinds[0], x->x[0]);
	races_spare(r, kinds[1], x->x[1]);
	poll_free(x->poll);
	free(x->marks);
	x->x[0] = x->x[1] = NULL;
	x->poll = NULL;
	x->marks = NULL;
	x->is_over = 1;
}

/* -- Conflicts -- */

static struct conflict *conflict_slot(struct conflicts *c, uint32_t granule,
				      uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)granule << 32 | (a << 16 ^ b);
	size_t at =
	    (size_t)(key * 0x9e3779b97f4a7c15ull >> 24) & (c->n_slots - 1);

	for (; c->slots[at] != 0; at = (at + 1) & (c->n_slots - 1)) {
		struct conflict *f = &c->at[c->slots[at] - 1];

		if (f->granule == granule && f->lanes[0] == a &&
		    f->lanes[1] == b)
			return f;
	}
	if (c->n == c->room)
		return NULL;
	c->at[c->n++] = (struct conflict){.granule = granule, .lanes = {a, b}};
	c->slots[at] = (uint32_t)c->n;
	return &c->at[c->n - 1];
}

/* Room for one more. */
static int grow_conflicts(struct conflicts *c)
{
	size_t room = c->room == 0 ? 64 : 2 * c->room, n = c->n;
	struct conflict *more;
	uint32_t *slots;

	if (c->n < c->room)
		return 0;
	more = reallocarray(c->at, room, sizeof *more);
	if (more == NULL)
		return -1;
	c->at = more;
	slots = calloc(4 * room, sizeof *slots);
	if (slots == NULL)
		return -1;
	free(c->slots);
	c->slots = slots;
	c->n_slots = 4 * room;
	c->room = room;
	c->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct conflict was = c->at[i];

		*conflict_slot(c, was.granule, was.lanes[0], was.lanes[1]) =
		    was;
	}
	return 0;
}

static int add_conflict(void *ctx, uint32_t granule, uint32_t other,
			uint8_t bytes)
{
	struct third *s = ctx;
	struct conflicts *c = s->out;
	uint32_t a = c->regions[other].lane, b = s->now->region.lane;
	struct conflict *f;

	(void)bytes;
	if (grow_conflicts(c) < 0)
		return races_no_memory(s->err);
	f = conflict_slot(c, granule, a, b);
	f->times++;
	if (f->n_examples < RACES_EXAMPLES) {
		f->examples[f->n_examples][0] = other;
		f->examples[f->n_examples++][1] = s->region;
	}
	return 0;
}

static int add_region(struct third *s, const struct region *r)
{
	struct conflicts *c = s->out;

	if (c->n_regions == c->room_regions) {
		size_t room = c->room_regions == 0 ? 256 : 2 * c->room_regions;
		struct region *more =
		    reallocarray(c->regions, room, sizeof *more);

		if (more == NULL || room > UINT32_MAX)
			return races_no_memory(s->err);
		c->regions = more;
		c->room_regions = room;
	}
	c->regions[c->n_regions] = *r;
	s->region = (uint32_t)c->n_regions++;
	return 0;
}

static int by_granule(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->granule > y->granule) - (x->granule < y->granule);
}

/* What it has touched since the last time goes into the clocks. */
static int tell_marks(struct third *s, struct racer *x)
{
	size_t i = 0;

	if (x->n_marks == 0)
		return 0;
	if (add_region(s, &x->region) < 0)
		return -1;
	s->now = x;
	qsort(x->marks, x->n_marks, sizeof *x->marks, by_granule);
	while (i < x->n_marks) {
		struct clocks_touch touch = {.region = s->region};
		uint32_t granule = x->marks[i].granule;

		for (; i < x->n_marks && x->marks[i].granule == granule; i++) {
			touch.loads |= x->marks[i].bytes[0];
			touch.stores |= x->marks[i].bytes[1];
		}
		if (clocks_touch(s->clocks, x->region.lane, granule, &touch,
				 add_conflict, s, s->err) < 0)
			return -1;
	}
	x->n_marks = 0;
	return 0;
}

/* -- What synchronises -- */

static int sync_op(struct third *s, struct racer *x)
{
	const struct races_op *op = &x->op;
	unsigned me = x->region.lane;
	int is_new = 0;

	for (uint64_t at = races_word(op->address); at < op->address + op->size;
	     at += GRANULE) {
		if (op->is_locked || op->loads)
			is_new |= clocks_take(s->clocks, me, at);
		if ((op->is_locked || op->stores) &&
		    clocks_give(s->clocks, me, at, s->err) < 0)
			return -1;
	}
	return !is_new && only_loads(x) ? be_patient(s, x) : 0;
}

/* Whose end is told where. */
static void note_ends(struct third *s, struct racer *x)
{
	int64_t child = runner_call(x->x[0])->call.answer;

	if (x->call.ends == 0)
		return;
	if (!races_makes_thread(&x->call)) {
		x->ends = x->call.ends;
		return;
	}
	for (unsigned i = 0; i < s->n; i++)
		if (s->racers[i].l->about.tid == (uint64_t)child &&
		    !s->racers[i].is_over)
			s->racers[i].ends = x->call.ends;
}

static int sync_call(struct third *s, struct racer *x)
{
	for (unsigned i = 0; i < 2; i++)
		if (x->call.gives[i] != 0 &&
		    clocks_give(s->clocks, x->region.lane, x->call.gives[i],
				s->err) < 0)
			return -1;
	note_ends(s, x);
	if (x->is_alone && races_makes_thread(&x->call)) {
		x->is_alone = 0;
		s->r->alone = x->region;
	}
	return 0;
}

static int sync(struct third *s, struct racer *x)
{
	unsigned me = x->region.lane;

	switch (x->cut) {
	case RUNNER_STOP:
		return sync_op(s, x);
	case RUNNER_CALL:
		return sync_call(s, x);
	case RUNNER_CALLED:
		for (unsigned i = 0; i < 2; i++)
			if (x->call.takes[i] != 0)
				clocks_take(s->clocks, me, x->call.takes[i]);
		return 0;
	case RUNNER_SIGNAL:
		clocks_take(s->clocks, me, RACES_KERNEL);
		return 0;
	case RUNNER_END:
		return x->ends == 0 ? 0
				    : clocks_give(s->clocks, me,
						  races_word(x->ends), s->err);
	default:
		return 0;
	}
}

/* It has seen that another one has ended, which has not been told yet. */
static int waits(const struct third *s, const struct racer *x)
{
	uint64_t at = x->op.address;
	uint32_t value;

	if (x->cut != RUNNER_STOP || x->op.is_locked || !x->op.loads)
		return 0;
	memcpy(&value,
	       runner_shadow(x->x[0]) + (uint32_t)(at + WIRE_SHADOW_SKEW),
	       sizeof value);
	for (unsigned i = 0; value == 0 && i < s->n_live; i++)
		if (s->live[i] != x && s->live[i]->ends == at)
			return 1;
	return 0;
}

/* -- All together -- */

static struct racer *choose_of(struct third *s, int may_wait)
{
	struct racer *best = s->n_begun < s->n ? s->order[s->n_begun] : NULL;

	for (unsigned i = 0; i < s->n_live; i++) {
		struct racer *x = s->live[i];

		if ((best == NULL || x->turn < best->turn) &&
		    (may_wait || !waits(s, x)))
			best = x;
	}
	return best;
}

static struct racer *choose(struct third *s)
{
	struct racer *best = choose_of(s, 0);

	return best != NULL ? best : choose_of(s, 1);
}

static void leave(struct third *s, struct racer *x)
{
	for (unsigned i = 0; i < s->n_live; i++)
		if (s->live[i] == x)
			s->live[i--] = s->live[--s->n_live];
	finish(s->r, x);
	s->r->t->done++;
}

/* To whoever wants to know, or to the clocks. */
static int hand_over(struct third *s, struct racer *x)
{
	struct races *r = s->r;
	int rc;

	if (r->each == NULL)
		return tell_marks(s, x);
	rc = r->each(r->ctx, &x->region, clocks_of(s->clocks, x->region.lane),
		     x->marks, x->n_marks, s->err);
	x->n_marks = 0;
	return rc;
}

static int step(struct third *s, struct racer *x)
{
	if (x->x[0] == NULL) {
		s->n_begun++;
		s->live[s->n_live++] = x;
		return begin(s, x);
	}
	if (hand_over(s, x) < 0 || sync(s, x) < 0)
		return -1;
	if (x->cut == RUNNER_END) {
		leave(s, x);
		return 0;
	}
	x->region.count = x->region.end_count;
	x->region.pc = x->region.end_pc;
	return advance(s, x);
}

static int by_turn(const void *a, const void *b)
{
	const struct racer *x = *(struct racer *const *)a;
	const struct racer *y = *(struct racer *const *)b;

	return (x->turn > y->turn) - (x->turn < y->turn);
}

static int prepare(struct third *s)
{
	const struct timeline *t = s->r->t;

	s->racers = calloc(t->n_lanes, sizeof *s->racers);
	s->order = calloc(t->n_lanes, sizeof(struct racer *));
	s->live = calloc(t->n_lanes, sizeof(struct racer *));
	s->clocks = clocks_new(t->n_lanes);
	if (s->racers == NULL || s->order == NULL || s->live == NULL ||
	    s->clocks == NULL)
		return races_no_memory(s->err);
	s->n = t->n_lanes;
	for (unsigned i = 0; i < s->n; i++) {
		s->racers[i].l = &t->lanes[i];
		s->racers[i].turn =
		    t->lanes[i].n_turns > 0 ? t->lanes[i].turns[0] : INT64_MAX;
		s->order[i] = &s->racers[i];
	}
	qsort(s->order, s->n, sizeof(struct racer *), by_turn);
	return 0;
}

int races_conflicts(struct races *r, struct conflicts *out,
		    struct hark_err *err)
{
	struct third s = {.r = r, .out = out, .err = err};
	int rc = prepare(&s);
	struct racer *x;

	while (rc == 0 && (x = choose(&s)) != NULL)
		rc = step(&s, x);
	for (unsigned i = 0; i < s.n; i++)
		finish(r, &s.racers[i]);
	free(s.racers);
	free(s.order);
	free(s.live);
	clocks_free(s.clocks);
	return rc;
}
