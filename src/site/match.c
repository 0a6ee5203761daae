/* site/match.c - pairs of probes and clauses, sorted. */
#include "site/match.h"

#include <stdlib.h>

struct pair {
	size_t probe;
	uint32_t clause, description;
};

struct match {
	struct pair *pairs; /* owned */
	size_t n, room;
	uint32_t clause, description; /* being added */
	struct hark_err *err;	      /* borrowed, likewise */
	bool (*forgives)(void *ctx, const struct description *d,
			 const struct hark_err *why);
	void *ctx; /* borrowed, likewise */
};

static int add_pair(void *ctx, size_t probe)
{
	struct match *m = ctx;
	struct pair *more;
	size_t room;

	if (m->n == m->room) {
		room = m->room * 2 + 64;
		more = reallocarray(m->pairs, room, sizeof *more);
		if (more == NULL)
			return err_set(m->err, HARK_ENOMEM, 0, "out of memory");
		m->pairs = more;
		m->room = room;
	}
	m->pairs[m->n++] = (struct pair){probe, m->clause, m->description};
	return 0;
}

static int by_probe(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->probe != y->probe)
		return x->probe < y->probe ? -1 : 1;
	if (x->clause != y->clause)
		return x->clause < y->clause ? -1 : 1;
	return x->description < y->description
		   ? -1
		   : x->description > y->description;
}

static int add_description(struct match *m, const struct probe_program *p,
			   int pid, struct listing *l)
{
	const struct probe_description *d =
	    &probe_descriptions(p)[m->description];
	const char *texts = probe_texts(p);
	const char *const part[4] = {texts + d->provider, texts + d->module,
				     texts + d->function, texts + d->name};
	struct description what;
	int rc;

	if (d->when != PROBE_AT_CODE)
		return 0;
	if (description_of(part, pid, &what, m->err) < 0)
		return -1;
	rc = listing_add(l, &what, add_pair, m, m->err);
	if (rc < 0 && m->err->code == HARK_ENOENT && m->forgives != NULL &&
	    m->forgives(m->ctx, &what, m->err))
		return 0;
	return rc;
}

int match_new(const struct probe_program *p, int pid, struct listing *l,
	      struct match **out, struct hark_err *err)
{
	return match_some(p, pid, l, NULL, NULL, out, err);
}

int match_some(const struct probe_program *p, int pid, struct listing *l,
	       bool (*forgives)(void *ctx, const struct description *d,
				const struct hark_err *why),
	       void *ctx, struct match **out, struct hark_err *err)
{
	struct match *m = calloc(1, sizeof *m);
	int rc = 0;

	if (m == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	m->err = err;
	m->forgives = forgives;
	m->ctx = ctx;
	for (uint32_t i = 0; i < p->clauses.n && rc == 0; i++) {
		const struct probe_clause *c = &probe_clauses(p)[i];

		m->clause = i;
		for (uint32_t k = 0; k < c->n_descriptions && rc == 0; k++) {
			m->description = c->first_description + k;
			rc = add_description(m, p, pid, l);
		}
	}
	if (rc != 0) {
		match_free(m);
		return -1;
	}
	if (m->n > 1)
		qsort(m->pairs, m->n, sizeof *m->pairs, by_probe);
	*out = m;
	return 0;
}

void match_free(struct match *m)
{
	if (m == NULL)
		return;
	free(m->pairs);
	free(m);
}

/* The first pair of a probe, or of the next that has one. */
static size_t first_of(const struct match *m, size_t probe)
{
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->pairs[mid].probe < probe)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t match_clauses(void *ctx, size_t probe, uint32_t *out, size_t max)
{
	const struct match *m = ctx;
	size_t n = 0, first = first_of(m, probe);

	for (size_t i = first; i < m->n && m->pairs[i].probe == probe; i++) {
		if (i > first && m->pairs[i].clause == m->pairs[i - 1].clause)
			continue;
		if (n < max)
			out[n] = m->pairs[i].clause;
		n++;
	}
	return n;
}

/* -- What cannot be -- */

/* By description: has it any probe that is possible? */
static bool is_possible(const struct match *m, const struct listing *l,
			uint32_t description)
{
	struct probe p;

	for (size_t i = 0; i < m->n; i++) {
		if (m->pairs[i].description != description)
			continue;
		listing_get(l, m->pairs[i].probe, &p);
		if (p.patch != NULL)
			return true;
	}
	return false;
}

int match_check(const struct match *m, const struct listing *l, size_t *refused,
		struct hark_err *err)
{
	struct probe p;

	*refused = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (i > 0 && m->pairs[i].probe == m->pairs[i - 1].probe)
			continue;
		listing_get(l, m->pairs[i].probe, &p);
		if (p.patch != NULL)
			continue;
		if (!is_possible(m, l, m->pairs[i].description))
			return err_set(err, HARK_EREFUSE, 0,
				       "%s:%s:%s cannot be probed: %s",
				       p.module->name, p.pretty, p.name,
				       p.refusal);
		++*refused;
	}
	return 0;
}
