/* probe/flow.c - one indentation a thread. */
#include "probe/flow.h"

#include <stdlib.h>

enum { STEP = 2, INDENT_MAX = 200 };

struct walker {
	uint32_t pid, tid;
	uint32_t site, clause; /* of the last hit */
	unsigned indent;
};

struct flow {
	struct walker *walkers; /* owned; the last that was looked for: last */
	size_t n, room, last;
};

int flow_new(struct flow **out, struct hark_err *err)
{
	struct flow *f = calloc(1, sizeof *f);

	if (f == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	*out = f;
	return 0;
}

void flow_free(struct flow *f)
{
	if (f == NULL)
		return;
	free(f->walkers);
	free(f);
}

static bool is_walker(const struct flow *f, size_t i, const struct flow_hit *h)
{
	return i < f->n && f->walkers[i].pid == h->pid &&
	       f->walkers[i].tid == h->tid;
}

static struct walker *walker_of(struct flow *f, const struct flow_hit *h)
{
	struct walker *more;
	size_t i = f->last, room;

	if (is_walker(f, i, h))
		return &f->walkers[i];
	for (i = 0; i < f->n && !is_walker(f, i, h); i++)
		;
	f->last = i;
	if (i < f->n)
		return &f->walkers[i];
	if (f->n == f->room) {
		room = f->room * 2 + 16;
		more = reallocarray(f->walkers, room, sizeof *more);
		if (more == NULL)
			return NULL;
		f->walkers = more;
		f->room = room;
	}
	f->walkers[i] =
	    (struct walker){.pid = h->pid, .tid = h->tid, .site = UINT32_MAX};
	f->n++;
	return &f->walkers[i];
}

bool flow_step(struct flow *f, const struct flow_hit *h, struct flow_line *out)
{
	struct walker *w = walker_of(f, h);
	bool is_same;

	*out = (struct flow_line){.arrow = " | ", .names_all = true};
	if (w == NULL)
		return false;
	is_same = w->site == h->site && h->clause > w->clause;
	w->site = h->site;
	w->clause = h->clause;
	if (h->kind == FLOW_RETURN && !is_same && w->indent >= STEP)
		w->indent -= STEP;
	out->indent = w->indent < INDENT_MAX ? w->indent : INDENT_MAX;
	if (h->kind == FLOW_OTHER || is_same)
		return true;
	out->arrow = h->kind == FLOW_ENTRY ? "-> " : "<- ";
	out->names_all = false;
	if (h->kind == FLOW_ENTRY)
		w->indent += STEP;
	return true;
}
