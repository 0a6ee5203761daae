/* ask/visits.c - every time that a source line was executed.
 *
 * Conditions of breakpoints see every visit, and let the run go on. Runs look
 * through one thread after the other, so what they find is sorted. */
#include "ask/visits.h"

#include "image/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- Which line -- */

bool visits_parse(const char *text, char *file, size_t size, uint32_t *line)
{
	const char *colon = strrchr(text, ':');
	unsigned long n;
	char *end;

	if (colon == NULL || colon == text || (size_t)(colon - text) >= size ||
	    colon[1] < '0' || colon[1] > '9')
		return false;
	errno = 0;
	n = strtoul(colon + 1, &end, 10);
	if (*end != '\0' || errno != 0 || n == 0 || n > UINT32_MAX)
		return false;
	memcpy(file, text, (size_t)(colon - text));
	file[colon - text] = '\0';
	*line = (uint32_t)n;
	return true;
}

struct sites {
	uint64_t *at; /* owned */
	size_t n;
	uint64_t bias; /* of the module at hand */
	bool out_of_memory;
};

static int add_site(void *ctx, uint64_t addr)
{
	struct sites *s = ctx;
	uint64_t *more = reallocarray(s->at, s->n + 1, sizeof *more);

	if (more == NULL) {
		s->out_of_memory = true;
		return 1;
	}
	s->at = more;
	s->at[s->n++] = addr + s->bias;
	return 0;
}

/* The nearest line below that has code; 0: none. */
static uint32_t next_line(const struct space *s, const char *file,
			  uint32_t line)
{
	uint32_t best = 0;

	for (size_t i = 0; i < space_count(s); i++) {
		uint32_t next;

		if (lines_next(space_get(s, i)->file, file, line, &next,
			       NULL) == 0 &&
		    (best == 0 || next < best))
			best = next;
	}
	return best;
}

static int no_site(const struct space *s, const char *file, uint32_t line,
		   struct hark_err *err)
{
	uint32_t next = next_line(s, file, line);

	if (next == 0)
		return err_set(err, HARK_EINPUT, 0, "there is no code at %s:%u",
			       file, line);
	return err_set(err, HARK_EINPUT, 0,
		       "there is no code at %s:%u; the next is at line %u",
		       file, line, next);
}

int visits_sites(struct space *s, const char *file, uint32_t line,
		 uint64_t **out, size_t *n, struct hark_err *err)
{
	struct sites found = {0};

	for (size_t i = 0; i < space_count(s) && !found.out_of_memory; i++) {
		const struct space_module *m = space_get(s, i);

		found.bias = m->bias;
		lines_sites(m->file, file, line, add_site, &found, NULL);
	}
	if (found.out_of_memory)
		err_set(err, HARK_ENOMEM, 0, "no memory");
	else if (found.n == 0)
		no_site(s, file, line, err);
	if (found.out_of_memory || found.n == 0) {
		free(found.at);
		return -1;
	}
	*out = found.at;
	*n = found.n;
	return 0;
}

/* -- When it was executed -- */

struct gatherer {
	const struct hark_position *to;
	visits_each *each;
	void *ctx;
	bool is_done;
};

struct site {
	struct gatherer *g;
	uint64_t pc;
};

/* 1: that is all. */
static int on_visit(void *ctx, struct hark_timeline *t)
{
	const struct site *s = ctx;
	struct hark_position at = hark_where(t);

	if (!s->g->is_done && hark_position_compare(t, &at, s->g->to) <= 0 &&
	    s->g->each(s->g->ctx, &at, s->pc) != 0)
		s->g->is_done = true;
	return s->g->is_done;
}

/* A run does not stop where it begins. */
static void visit_first(struct hark_timeline *t, struct site *all, size_t n)
{
	uint64_t pc = ask_pc(t);

	for (size_t i = 0; i < n; i++)
		if (all[i].pc == pc)
			on_visit(&all[i], t);
}

static int run(struct hark_timeline *t, struct site *all, size_t n,
	       const struct hark_position *from, struct hark_err *err)
{
	struct hark_stopped stop;
	struct hark_error e = {0};

	if (hark_seek(t, from, &e) < 0)
		return ask_error(&e, err);
	visit_first(t, all, n);
	if (n > 0 && !all[0].g->is_done &&
	    hark_run(t, HARK_FORWARD, &stop, &e) < 0)
		return ask_error(&e, err);
	return 0;
}

int visits_gather(struct ask_pair *p, const uint64_t *sites, size_t n,
		  const struct hark_position *from,
		  const struct hark_position *to, visits_each *each, void *ctx,
		  struct hark_err *err)
{
	struct hark_timeline *t = p->timeline;
	struct gatherer g = {.to = to, .each = each, .ctx = ctx};
	struct site *all = calloc(n + 1, sizeof *all);
	uint32_t *ids = calloc(n + 1, sizeof *ids);
	int rc = -1;

	if (all == NULL || ids == NULL) {
		err_set(err, HARK_ENOMEM, 0, "no memory");
	} else {
		for (size_t i = 0; i < n; i++) {
			all[i] = (struct site){&g, sites[i]};
			ids[i] = hark_break(t, sites[i], HARK_ANY_THREAD,
					    on_visit, &all[i]);
		}
		rc = run(t, all, n, from, err);
		for (size_t i = 0; i < n; i++)
			hark_forget_stop(t, ids[i]);
	}
	free(all);
	free(ids);
	return rc;
}

/* -- In order -- */

struct visit {
	struct hark_position at;
	uint64_t pc;
};

struct list {
	struct visit *all; /* owned */
	size_t n, room;
	uint64_t most; /* of a single thread */
	bool out_of_memory;
};

static int add_visit(void *ctx, const struct hark_position *at, uint64_t pc)
{
	struct list *l = ctx;

	if (l->n == l->room) {
		size_t room = l->room == 0 ? 64 : 2 * l->room;
		struct visit *more = reallocarray(l->all, room, sizeof *more);

		if (more == NULL) {
			l->out_of_memory = true;
			return 1;
		}
		l->all = more;
		l->room = room;
	}
	l->all[l->n++] = (struct visit){*at, pc};
	return l->most != 0 && l->n == l->most;
}

static int by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int visits_compare(struct hark_timeline *t, const struct hark_position *a,
		   const struct hark_position *b)
{
	int rc = 0;

	if (a->thread != b->thread)
		rc = hark_position_compare(t, a, b);
	if (rc == 0)
		rc = by_number(a->thread, b->thread);
	if (rc == 0)
		rc = by_number(a->count, b->count);
	return rc != 0 ? rc : by_number(a->step, b->step);
}

static int by_moment(const void *a, const void *b, void *ctx)
{
	const struct visit *x = a, *y = b;

	return visits_compare(ctx, &x->at, &y->at);
}

int visits_list(struct ask_pair *p, const uint64_t *sites, size_t n,
		const struct hark_position *from,
		const struct hark_position *to, uint64_t most,
		visits_each *each, void *ctx, struct hark_err *err)
{
	bool one = hark_n_threads(p->timeline) == 1;
	struct list l = {.most = one ? most : 0};
	int rc = visits_gather(p, sites, n, from, to, add_visit, &l, err);

	if (rc == 0 && l.out_of_memory)
		rc = err_set(err, HARK_ENOMEM, 0, "no memory for a list");
	if (rc == 0 && !one && l.n > 0)
		qsort_r(l.all, l.n, sizeof *l.all, by_moment, p->timeline);
	for (size_t i = 0; rc == 0 && i < l.n && (most == 0 || i < most); i++)
		if (each(ctx, &l.all[i].at, l.all[i].pc) != 0)
			break;
	free(l.all);
	return rc;
}
