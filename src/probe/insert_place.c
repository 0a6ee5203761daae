/* probe/insert_place.c - what is mapped where bytes are changed?
 *
 * A library may go, and something else may come to its place, whose bytes only
 * look like ours: a page of int3 has a probe of the trap form everywhere. So
 * each change, and each semaphore, has a number for its place: which file is
 * mapped there, and from which address on. It is the same as long as the
 * library stays, however the mapping is divided, and in children of fork.
 *
 * Code that no file is behind has the number 0. A program may put its own code
 * there (into huge pages), with all that it was changed to: what is executable
 * and of no file is taken for any place. */
#include "probe/insert_priv.h"

#include "outside/proc.h"

#include <stdlib.h>

enum { OTHER = 1 }; /* nothing that a change could be in */

/* Addresses, in any order, and what is there. */
struct places {
	const uint64_t *at;
	size_t n;
	uint64_t *out;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * COLLECT_HASH;
	return h ^ h >> 29;
}

static uint64_t place_of(const struct proc_map *m)
{
	uint64_t h;

	if (m->ino == 0)
		return m->executable ? 0 : OTHER;
	h = mix(mix(mix(OTHER, m->dev), m->ino), m->start - m->offset);
	return h > OTHER ? h : OTHER + 1;
}

static void see(void *ctx, const struct proc_map *m)
{
	const struct places *p = ctx;

	for (size_t k = 0; k < p->n; k++)
		if (p->at[k] - m->start < m->end - m->start)
			p->out[k] = place_of(m);
}

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "out of memory");
}

/* What is at n addresses, now. */
static int look(const struct door *d, const uint64_t *at, size_t n,
		uint64_t *out, struct hark_err *err)
{
	struct places p = {at, n, out};

	for (size_t k = 0; k < n; k++)
		out[k] = OTHER;
	if (n > 0 && proc_mappings(d->pid, d->threads[0].tid, see, &p) < 0)
		return err_set(err, HARK_EGONE, 0, "process %d ended meanwhile",
			       d->pid);
	return 0;
}

int insert_find_places(struct insertion *i, const struct door *d,
		       struct hark_err *err)
{
	struct collect_change *c = i->change + i->first.change;
	struct collect_semaphore *s = i->semaphore + i->first.semaphore;
	size_t n = i->n_changes - i->first.change,
	       m = i->n_semaphores - i->first.semaphore;
	uint64_t *at = calloc(2 * (n + m) + 1, sizeof *at), *now;
	int rc;

	if (at == NULL)
		return no_memory(err);
	for (size_t k = 0; k < n; k++)
		at[k] = c[k].at;
	for (size_t k = 0; k < m; k++)
		at[n + k] = s[k].at;
	now = at + n + m;
	rc = look(d, at, n + m, now, err);
	for (size_t k = 0; rc == 0 && k < n; k++)
		c[k].place = now[k];
	for (size_t k = 0; rc == 0 && k < m; k++)
		s[k].place = now[n + k];
	free(at);
	return rc;
}

/* -- As the record has it -- */

static void change_of(const struct insert_left *l, size_t k, uint64_t *at,
		      uint64_t *place)
{
	*at = l->change[k].at;
	*place = l->change[k].place;
}

static void semaphore_of(const struct insert_left *l, size_t k, uint64_t *at,
			 uint64_t *place)
{
	*at = l->semaphore[k].at;
	*place = l->semaphore[k].place;
}

static bool *in_place(const struct insert_left *l, const struct door *d,
		      size_t n,
		      void (*get)(const struct insert_left *l, size_t k,
				  uint64_t *at, uint64_t *place),
		      struct hark_err *err)
{
	uint64_t *at = calloc(2 * n + 1, sizeof *at), place;
	bool *out = calloc(n + 1, sizeof *out);

	if (at == NULL || out == NULL) {
		no_memory(err);
		goto fail;
	}
	for (size_t k = 0; k < n; k++)
		get(l, k, &at[k], &place);
	if (look(d, at, n, at + n, err) < 0)
		goto fail;
	for (size_t k = 0; k < n; k++) {
		get(l, k, &at[k], &place);
		out[k] = at[n + k] == 0 || at[n + k] == place;
	}
	free(at);
	return out;
fail:
	free(at);
	free(out);
	return NULL;
}

bool *insert_changes_in_place(const struct insert_left *l, const struct door *d,
			      struct hark_err *err)
{
	return in_place(l, d, l->record.changes.n, change_of, err);
}

bool *insert_semaphores_in_place(const struct insert_left *l,
				 const struct door *d, struct hark_err *err)
{
	return in_place(l, d, l->record.semaphores.n, semaphore_of, err);
}
