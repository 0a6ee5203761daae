/* travel/races.c - accesses that nothing puts in order.
 *
 * Three times over all threads, each with its loads marked and again with its
 * stores marked, at the speed of replay:
 *
 *   1	one thread after the other, to find out which words locked instructions
 *	act on, and which bytes several threads touch;
 *   2	the same, for plain instructions that touch such words;
 *   3	all threads in the order of their turns, from one thing that
 *	synchronises to the next: what they have touched in between of these
 *	bytes goes into clocks.
 *
 * Then the few regions that are in conflict are run over once more, for the
 * instructions. */
#include "travel/races.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int races_no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

static uint32_t granule_of(uint64_t address)
{
	return (uint32_t)address >> GRANULE_BITS;
}

static int add_word(struct races *r, uint64_t address, struct hark_err *err)
{
	if (address == 0)
		return 0;
	return numbers_add(&r->words, races_word(address), err) < 0 ||
		       numbers_add(&r->spoilt, granule_of(address) + 1ull,
				   err) < 0
		   ? -1
		   : 0;
}

static int add_words(struct races *r, const struct races_op *op,
		     struct hark_err *err)
{
	for (uint64_t at = races_word(op->address); at < op->address + op->size;
	     at += GRANULE)
		if (add_word(r, at, err) < 0)
			return -1;
	return 0;
}

int races_list_stops(struct races *r, struct hark_err *err)
{
	free(r->stop_list);
	r->stop_list = NULL;
	return numbers_list(&r->stops, &r->stop_list, &r->n_stops, err);
}

int races_runner(struct races *r, const struct lane *l, unsigned kind,
		 struct runner **out, struct hark_err *err)
{
	struct spare *s = &r->spare[kind == OBSERVE_STORES];

	if (s->n > 0) {
		*out = s->runners[--s->n];
		return runner_stops(*out, r->stop_list, (uint32_t)r->n_stops,
				    err) < 0
			   ? -1
			   : runner_restart(*out, l->first, l->end, err);
	}
	if (runner_new(r->t->rec->r, l->first, l->end, kind, r->stop_list,
		       (uint32_t)r->n_stops, out, err) < 0)
		return -1;
	runner_on_ask(*out, travel_ask, r->t);
	return 0;
}

void races_spare(struct races *r, unsigned kind, struct runner *x)
{
	struct spare *s = &r->spare[kind == OBSERVE_STORES];

	if (x != NULL && s->n < RACES_SPARE)
		s->runners[s->n++] = x;
	else
		runner_free(x);
}

void races_leave(struct timeline *t, uint32_t lane)
{
	enum { FEW = 8 };

	if (t->n_lanes <= FEW)
		return;
	walker_free(t->lanes[lane].scout);
	t->lanes[lane].scout = NULL;
}

/* -- While it is alone ----------------------------------------------------- */

int races_begins_alone(const struct timeline *t, const struct lane *l)
{
	for (unsigned i = 0; i < t->n_lanes; i++)
		if (&t->lanes[i] != l && t->lanes[i].about.parent == 0)
			return 0;
	return l->about.parent == 0;
}

/* -- 1: what is shared ----------------------------------------------------- */

struct first {
	struct races *r;
	struct shared *shared;
	struct runner *x;
	unsigned kind;
	int is_alone;
};

static int first_cut(struct first *f, enum runner_cut cut, struct hark_err *err)
{
	struct races_call call = {0};
	struct races_op op;

	if (cut == RUNNER_STOP && races_op_at(f->x, &op) && op.is_locked)
		return add_words(f->r, &op, err);
	if (cut == RUNNER_CALL) {
		races_call(f->x, &call);
		if (add_word(f->r, call.ends, err) < 0)
			return -1;
	}
	if (f->is_alone && races_makes_thread(&call)) {
		f->is_alone = 0;
		shared_forget(f->x);
	}
	if (cut != RUNNER_KEY && cut != RUNNER_END)
		return 0;
	return f->is_alone ? 0 : shared_take(f->shared, f->x, f->kind, err);
}

static int first_run(struct first *f, const struct lane *l,
		     struct hark_err *err)
{
	enum runner_cut cut = RUNNER_BORN;
	int rc;

	f->x = NULL;
	f->is_alone = races_begins_alone(f->r->t, l);
	rc = races_runner(f->r, l, f->kind, &f->x, err);
	while (rc == 0 && cut != RUNNER_END) {
		rc = runner_next(f->x, &cut, err);
		if (rc == 0)
			rc = first_cut(f, cut, err);
	}
	races_spare(f->r, f->kind, f->x);
	return rc;
}

static int find_shared(struct races *r, struct hark_err *err)
{
	struct first f = {.r = r, .shared = shared_new()};
	int rc = f.shared == NULL ? races_no_memory(err) : 0;

	for (unsigned i = 0; rc == 0 && i < r->t->n_lanes; i++) {
		for (unsigned k = 0; rc == 0 && k < 2; k++) {
			f.kind = k == 0 ? OBSERVE_LOADS : OBSERVE_STORES;
			rc = first_run(&f, &r->t->lanes[i], err);
		}
		shared_next(f.shared);
		r->t->done++;
	}
	if (rc == 0)
		rc = shared_granules(f.shared, &r->spoilt, &r->granules,
				     &r->n_granules, err);
	shared_free(f.shared);
	return rc;
}

/* -- The question ---------------------------------------------------------- */

int races_prepare(struct races *r, struct hark_err *err)
{
	r->t->done = 0;
	r->t->total = 3ull * r->t->n_lanes;
	return races_locked(r->t->rec->r, r->t->process, &r->stops, err) < 0 ||
		       races_list_stops(r, err) < 0 || find_shared(r, err) < 0
		   ? -1
		   : 0;
}

void races_finish(struct races *r)
{
	for (unsigned k = 0; k < 2; k++)
		while (r->spare[k].n > 0)
			runner_free(r->spare[k].runners[--r->spare[k].n]);
	numbers_free(&r->stops);
	numbers_free(&r->words);
	numbers_free(&r->spoilt);
	free(r->stop_list);
	free(r->granules);
}

static int find(struct races *r, struct conflicts *c, struct hark_err *err)
{
	if (races_prepare(r, err) < 0)
		return -1;
	if (r->n_granules == 0)
		return 0;
	return races_plain(r, err) < 0 ? -1 : races_conflicts(r, c, err);
}

int timeline_races(struct timeline *t, hark_each_race *each, void *ctx,
		   struct hark_error *err)
{
	struct races r = {.t = t};
	struct conflicts c = {0};
	struct hark_err why = {0};
	int rc = 0;

	if (t->n_lanes > 1)
		rc = find(&r, &c, &why);
	races_finish(&r);
	if (rc == 0 && c.n > 0)
		rc = races_tell(t, &c, each, ctx, &why);
	free(c.at);
	free(c.slots);
	free(c.regions);
	return rc < 0 ? travel_failed(&why, err) : rc;
}
