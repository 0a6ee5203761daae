/* probe/late.c - what is new, what is gone, and probes for the former.
 *
 * A module is known by its file and where it is. Each time that something new
 * is found there is a list of modules of its own, which stays: probes refer to
 * it. */
#include "probe/late.h"

#include "base/fmt.h"
#include "native/native.h"
#include "outside/attach.h"
#include "probe/arguments.h"
#include "site/match.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* What came at one time; all owned. */
struct batch {
	struct modules *modules;
	struct listing *listing;
	struct match *match;
	size_t first; /* of its probes, for insert_site() */
	bool is_in, repeats;
};

struct late {
	struct late_plan p;
	struct modules *now;	     /* owned */
	const struct module **known; /* owned; they are borrowed */
	size_t n_known;
	struct batch *batch; /* owned */
	size_t n_batches;
	bool is_first;	/* it was asked for before anybody had looked */
	char said[128]; /* the last complaint: once is enough */
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "out of memory");
}

/* -- Which are known? -- */

static bool is_same(const struct module *a, const struct module *b)
{
	return a->bias == b->bias && a->file == b->file && a->n_ranges > 0 &&
	       b->n_ranges > 0 && a->ranges[0].start == b->ranges[0].start;
}

static bool is_among(const struct modules *all, const struct module *m)
{
	for (size_t i = 0; i < modules_count(all); i++)
		if (is_same(modules_get(all, i), m))
			return true;
	return false;
}

static bool is_new(void *ctx, const struct module *m)
{
	const struct late *l = ctx;

	for (size_t i = 0; i < l->n_known; i++)
		if (is_same(l->known[i], m))
			return false;
	return m->file != NULL && m->n_ranges > 0;
}

static bool has_new(struct late *l)
{
	for (size_t i = 0; i < modules_count(l->now); i++)
		if (is_new(l, modules_get(l->now, i)))
			return true;
	return false;
}

/* All that are new are known from now on; or those that have probes. */
static int know(struct late *l, const struct modules *all,
		bool (*has)(const struct insertion *i, const struct module *m),
		struct hark_err *err)
{
	const struct module **more = reallocarray(
	    l->known, l->n_known + modules_count(all) + 1,
	    sizeof(const struct module *)); // NOLINT: pointers are meant

	if (more == NULL)
		return no_memory(err);
	l->known = more;
	for (size_t i = 0; i < modules_count(all); i++)
		if (is_new(l, modules_get(all, i)) &&
		    (has == NULL || has(l->p.insertion, modules_get(all, i))))
			l->known[l->n_known++] = modules_get(all, i);
	return 0;
}

/* -- Gone -- */

static int forget(struct late *l, bool *forgot, struct hark_err *err)
{
	size_t n = 0, before = l->n_known;
	int rc = 0;

	for (size_t i = 0; i < before; i++)
		if (is_among(l->now, l->known[i]))
			l->known[n++] = l->known[i];
		else if (insert_forget(l->p.insertion, l->known[i], err) < 0)
			rc = -1;
	l->n_known = n;
	*forgot = n < before;
	return rc;
}

/* -- Come -- */

static bool forgives(void *ctx, const struct description *d,
		     const struct hark_err *why)
{
	(void)ctx;
	(void)d;
	(void)why;
	return true;
}

static void tell(const struct late *l, bool is_error, const char *text)
{
	l->p.note(l->p.ctx, is_error, text);
}

static int list(struct late *l, struct batch *b, struct hark_err *err)
{
	struct space_own own;
	struct hark_err why;
	size_t refused;

	if (modules_of_pid(l->p.image, l->p.pid, &b->modules, err) < 0 ||
	    listing_new(b->modules, l->p.pid, &b->listing, err) < 0 ||
	    insert_own(l->p.insertion, &own, err) < 0)
		return -1;
	listing_limit(b->listing, is_new, l);
	listing_own(b->listing, &own);
	if (match_some(l->p.program, l->p.target, b->listing, forgives, NULL,
		       &b->match, err) < 0 ||
	    listing_add_hooks(b->listing, native_hooks, err) < 0 ||
	    listing_make(b->listing, err) < 0 ||
	    arguments_check(l->p.program, b->match, b->listing, err) < 0)
		return -1;
	if (match_check(b->match, b->listing, &refused, &why) < 0)
		tell(l, true, why.text);
	return 0;
}

static int put_in(struct late *l, struct batch *b, struct hark_err *err)
{
	struct insert_plan plan = {
	    .modules = b->modules,
	    .listing = b->listing,
	    .program = l->p.program,
	    .clauses = match_clauses,
	    .ctx = b->match,
	    .first = *l->p.next_site,
	};
	struct door door;
	int rc;

	if (listing_area_count(b->listing) == 0)
		return 0;
	b->repeats = l->p.number != NULL &&
		     l->p.number(l->p.ctx, b->listing, &plan.first);
	if (attach_open(&door, l->p.pid, err) < 0)
		return -1;
	rc = insert_more(l->p.insertion, &door, &plan, &b->first, err);
	attach_close(&door);
	if (rc == 0) {
		b->is_in = true;
		if (!b->repeats)
			*l->p.next_site = insert_next(l->p.insertion);
		l->p.came(l->p.ctx, b->listing, b->first);
	}
	return rc;
}

/* The list of modules in which it was first seen, or a later one: it stays. */
static const struct module *seen_before(const struct late *l,
					const struct module *m)
{
	for (size_t i = l->n_batches + 1; i-- > 0;) {
		const struct modules *all =
		    i > 0 ? l->batch[i - 1].modules : l->p.modules;

		for (size_t k = 0; all != NULL && k < modules_count(all); k++)
			if (is_same(modules_get(all, k), m))
				return modules_get(all, k);
	}
	return NULL;
}

static int put_back(struct late *l, const struct module *m,
		    struct hark_err *err)
{
	struct door door;
	int rc;

	if (attach_open(&door, l->p.pid, err) < 0)
		return -1;
	rc = insert_again(l->p.insertion, &door, m, err);
	attach_close(&door);
	return rc;
}

/* What was there before, and is again where it was. */
static int come_again(struct late *l, struct hark_err *err)
{
	for (size_t i = 0; i < modules_count(l->now); i++) {
		const struct module *m = modules_get(l->now, i), *old, **more;

		if (!is_new(l, m) || !insert_was_there(l->p.insertion, m))
			continue;
		old = seen_before(l, m);
		more = reallocarray(l->known, l->n_known + 1,
				    sizeof(void *)); // NOLINT: likewise
		if (more == NULL || old == NULL)
			return no_memory(err);
		l->known = more;
		l->known[l->n_known++] = old;
		if (put_back(l, m, err) < 0)
			return -1;
	}
	return 0;
}

static int come(struct late *l, struct hark_err *err)
{
	struct batch *more =
			 reallocarray(l->batch, l->n_batches + 1, sizeof *more),
		     *b;
	int rc;

	if (more == NULL)
		return no_memory(err);
	l->batch = more;
	b = &more[l->n_batches++];
	*b = (struct batch){0};
	rc = list(l, b, err);
	if (b->modules != NULL &&
	    know(l, b->modules, NULL, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc < 0 ? -1 : put_in(l, b, err);
}

/* -- All of it -- */

static int look(struct late *l, struct hark_err *err)
{
	bool changed, forgot;

	if (modules_refresh(l->now, &changed, err) < 0)
		return -1;
	if (!changed && !l->is_first)
		return 0;
	l->is_first = false;
	if (forget(l, &forgot, err) < 0 || come_again(l, err) < 0 ||
	    (has_new(l) && come(l, err) < 0))
		return -1;
	l->p.changed(l->p.ctx);
	return insert_seen(l->p.insertion, l->now, forgot, err);
}

static void complain(struct late *l, const char *line)
{
	if (strncmp(l->said, line, sizeof l->said - 1) == 0)
		return;
	fmt_text(l->said, sizeof l->said, "%s", line);
	tell(l, true, line);
}

static bool has_ended(const struct late *l)
{
	struct pollfd p = {.fd = l->p.pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

void late_step(struct late *l)
{
	struct hark_err err;
	char line[sizeof err.text + 64];

	if (l == NULL)
		return;
	if (look(l, &err) < 0 && !has_ended(l)) {
		fmt_text(line, sizeof line,
			 "a library that was loaded has no probes: %s",
			 err.text);
		complain(l, line);
	}
}

int late_new(const struct late_plan *p, struct late **out, struct hark_err *err)
{
	struct late *l = calloc(1, sizeof *l);

	if (l == NULL)
		return no_memory(err);
	l->p = *p;
	l->is_first = p->has != NULL;
	if (modules_of_pid(p->image, p->pid, &l->now, err) < 0 ||
	    know(l, p->modules, p->has, err) < 0) {
		late_free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void late_free(struct late *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n_batches; i++) {
		match_free(l->batch[i].match);
		listing_free(l->batch[i].listing);
		modules_free(l->batch[i].modules);
	}
	modules_free(l->now);
	free(l->batch);
	free(l->known);
	free(l);
}

const struct module *late_past(void *ctx, uint64_t addr)
{
	const struct late *l = ctx;
	const struct module *m = NULL;

	for (size_t i = l->n_batches; i-- > 0 && m == NULL;)
		if (l->batch[i].modules != NULL)
			m = modules_find(l->batch[i].modules, addr);
	return m != NULL ? m : modules_find(l->p.modules, addr);
}

void late_each(const struct late *l,
	       void (*visit)(void *ctx, const struct listing *l, size_t first),
	       void *ctx)
{
	for (size_t i = 0; l != NULL && i < l->n_batches; i++)
		if (l->batch[i].is_in && !l->batch[i].repeats)
			visit(ctx, l->batch[i].listing, l->batch[i].first);
}
