/* ask/visits.c - every time that a source line was executed. */
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

struct visitor {
	visits_each *each;
	void *ctx;
	struct hark_registers regs;
};

static int on_visit(void *ctx, struct hark_timeline *t,
		    const struct hark_position *at)
{
	struct visitor *v = ctx;

	if (hark_registers(t, at->thread, &v->regs, NULL) < 0)
		return 0;
	return v->each(v->ctx, at, &v->regs);
}

int visits_list(struct ask_pair *p, const uint64_t *sites, size_t n,
		size_t n_functions, const struct hark_position *from,
		const struct hark_position *to, visits_each *each, void *ctx,
		struct hark_err *err)
{
	struct visitor *v = malloc(sizeof *v);
	struct hark_position end = *to;
	struct hark_error e = {0};
	int rc;

	if (v == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	v->each = each;
	v->ctx = ctx;
	end.step += end.step < UINT64_MAX; /* the library leaves out the end */
	rc = hark_visits_of(p->timeline, sites, (unsigned)n,
			    (unsigned)n_functions, from, &end, on_visit, v, &e);
	free(v);
	return rc < 0 ? ask_error(&e, err) : 0;
}
