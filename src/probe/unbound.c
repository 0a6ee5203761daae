/* probe/unbound.c - sites of hark's own, and when they are due. */
#include "probe/unbound.h"

#include <stdlib.h>
#include <string.h>

struct spot {
	enum probe_when when;
	uint64_t period_ns;
	int64_t due_ns;
};

struct unbound {
	const struct probe_program *program; /* borrowed */
	struct spot *spots;		     /* owned */
	const char *(*texts)[4];	     /* owned; they are the program's */
	size_t n;
};

/* The site of a description; n if it has none yet. */
static size_t find(const struct unbound *u, const struct probe_description *d)
{
	const char *name = probe_texts(u->program) + d->name;

	for (size_t i = 0; i < u->n; i++)
		if (u->spots[i].when == d->when &&
		    strcmp(u->texts[i][3], name) == 0)
			return i;
	return u->n;
}

static bool has_period(enum probe_when when)
{
	return when == PROBE_AT_TICK || when == PROBE_AT_PROFILE;
}

static void add(struct unbound *u, const struct probe_description *d)
{
	const char *texts = probe_texts(u->program);

	if (d->when == PROBE_AT_CODE || find(u, d) < u->n)
		return;
	u->spots[u->n] =
	    (struct spot){.when = d->when, .period_ns = d->period_ns};
	u->texts[u->n][0] = has_period(d->when) ? "profile" : "dtrace";
	u->texts[u->n][1] = u->texts[u->n][2] = "";
	u->texts[u->n][3] = texts + d->name;
	u->n++;
}

int unbound_new(const struct probe_program *p, struct unbound **out,
		struct hark_err *err)
{
	struct unbound *u = calloc(1, sizeof *u);
	size_t most = p->descriptions.n + 1;

	if (u != NULL) {
		u->program = p;
		u->spots = calloc(most, sizeof *u->spots);
		u->texts = calloc(most, sizeof *u->texts);
	}
	if (u == NULL || u->spots == NULL || u->texts == NULL) {
		unbound_free(u);
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	}
	for (uint32_t i = 0; i < p->descriptions.n; i++)
		add(u, &probe_descriptions(p)[i]);
	*out = u;
	return 0;
}

void unbound_free(struct unbound *u)
{
	if (u == NULL)
		return;
	free(u->spots);
	free(u->texts);
	free(u);
}

const char *const (*unbound_texts(const struct unbound *u))[4]
{
	return (const char *const(*)[4])u->texts;
}

size_t unbound_count(const struct unbound *u)
{
	return u->n;
}

uint64_t unbound_every(const struct unbound *u, size_t site)
{
	return u->spots[site].period_ns;
}

uint64_t unbound_period(const struct unbound *u, size_t site)
{
	const struct spot *s = &u->spots[site];

	return s->when == PROBE_AT_PROFILE ? s->period_ns : 0;
}

uint64_t unbound_shortest(const struct unbound *u)
{
	uint64_t least = 0;

	for (size_t i = 0; i < u->n; i++) {
		uint64_t ns = unbound_period(u, i);

		if (ns != 0 && (least == 0 || ns < least))
			least = ns;
	}
	return least;
}

/* -- Running -- */

static bool wants(const struct unbound *u, const struct probe_clause *c,
		  size_t site)
{
	for (uint32_t i = 0; i < c->n_descriptions; i++) {
		const struct probe_description *d =
		    &probe_descriptions(u->program)[c->first_description + i];

		if (d->when != PROBE_AT_CODE && find(u, d) == site)
			return true;
	}
	return false;
}

size_t unbound_clauses(const struct unbound *u, size_t site, uint32_t *out,
		       size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < u->program->clauses.n; i++) {
		if (!wants(u, &probe_clauses(u->program)[i], site))
			continue;
		if (n < max)
			out[n] = i;
		n++;
	}
	return n;
}

static int run_site(const struct unbound *u, size_t site, unbound_run *run,
		    void *ctx)
{
	bool goes_on = false;
	int rc = 0;

	for (uint32_t i = 0; i < u->program->clauses.n && rc == 0; i++) {
		if (!wants(u, &probe_clauses(u->program)[i], site))
			continue;
		rc = run(ctx, (uint32_t)site, i, goes_on);
		goes_on = true;
	}
	return rc;
}

int unbound_each(const struct unbound *u, enum probe_when when,
		 unbound_run *run, void *ctx)
{
	int rc = 0;

	for (size_t i = 0; i < u->n && rc == 0; i++)
		if (u->spots[i].when == when)
			rc = run_site(u, i, run, ctx);
	return rc;
}

bool unbound_has(const struct unbound *u, enum probe_when when)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->spots[i].when == when)
			return true;
	return false;
}

/* -- Ticks -- */

void unbound_start(struct unbound *u, int64_t now_ns)
{
	for (size_t i = 0; i < u->n; i++)
		u->spots[i].due_ns = now_ns + (int64_t)u->spots[i].period_ns;
}

int64_t unbound_next(const struct unbound *u)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < u->n; i++)
		if (u->spots[i].when == PROBE_AT_TICK &&
		    u->spots[i].due_ns < next)
			next = u->spots[i].due_ns;
	return next;
}

int unbound_due(struct unbound *u, int64_t now_ns, unbound_run *run, void *ctx)
{
	int rc = 0;

	for (size_t i = 0; i < u->n && rc == 0; i++) {
		struct spot *s = &u->spots[i];
		int64_t period = (int64_t)s->period_ns;

		if (s->when != PROBE_AT_TICK || s->due_ns > now_ns)
			continue;
		s->due_ns += period * ((now_ns - s->due_ns) / period + 1);
		rc = run_site(u, i, run, ctx);
	}
	return rc;
}
