/* probe/insert_more.c - libraries that come and go while probes are in.
 *
 * What comes is put in as the first probes were, but the block is there, and so
 * are the handlers. Lists grow; what they held before is not touched.
 *
 * What goes leaves lists by its addresses: another library may be there soon,
 * whose bytes only look like ours. Trampolines stay until all is taken out, for
 * somebody may still be on his way through one. A child of fork may have what
 * its parent has unloaded: the record of changes has that, too, and the child
 * goes by the index of the moment at which it was made. */
#include "probe/insert_priv.h"

#include <stdlib.h>
#include <string.h>

/* -- Coming -- */

static int put_in(struct insertion *i, struct door *d, struct hark_err *err)
{
	if (insert_find_patches(i, err) < 0 || insert_list_pages(i, err) < 0 ||
	    insert_record(i, err) < 0 || insert_map_code(i, d, err) < 0 ||
	    insert_more_sites(i, err) < 0 || insert_write_code(i, d, err) < 0 ||
	    insert_list_semaphores(i, err) < 0 ||
	    insert_find_places(i, d, err) < 0 || insert_record(i, err) < 0 ||
	    insert_publish(i, NULL, err) < 0 || insert_show(i, d, err) < 0 ||
	    insert_raise_semaphores(i, d, err) < 0)
		return -1;
	return insert_change_text(i, d, err);
}

int insert_more(struct insertion *i, struct door *d,
		const struct insert_plan *p, size_t *first,
		struct hark_err *err)
{
	struct hark_err second;
	int rc;

	i->want = p;
	d->name = INSERT_NAME;
	*first = i->n_probes;
	rc = door_begin(d, err);
	if (rc == 0)
		rc = put_in(i, d, err);
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	i->want = NULL;
	return rc;
}

static int by_address(const void *a, const void *b)
{
	const struct collect_range *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Sorted apart: how many of them a process has is counted from the first. */
int insert_own(struct insertion *i, struct space_own *out, struct hark_err *err)
{
	struct collect_range *own =
	    reallocarray(i->own, i->n_ranges + 1, sizeof *own);

	if (own == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->own = own;
	if (i->n_ranges > 0) {
		memcpy(own, i->range, i->n_ranges * sizeof *own);
		qsort(own, i->n_ranges, sizeof *own, by_address);
	}
	*out = (struct space_own){own, i->n_ranges};
	return 0;
}

/* -- Going -- */

static bool is_in(const struct module *m, uint64_t addr)
{
	for (size_t k = 0; k < m->n_ranges; k++)
		if (addr >= m->ranges[k].start && addr < m->ranges[k].end)
			return true;
	return false;
}

static void lose_changes(struct insertion *i, const struct module *gone,
			 struct insert_lists *to)
{
	size_t n = 0;

	for (size_t k = 0; k < i->n_changes; k++)
		if (is_in(gone, i->change[k].at))
			to->change[to->n_changes++] = i->change[k];
		else
			i->change[n++] = i->change[k];
	i->n_changes = n;
}

static void lose_codes(struct insertion *i, const struct module *gone,
		       struct insert_lists *to)
{
	size_t n = 0;

	for (size_t k = 0; k < i->n_codes; k++)
		if (is_in(gone, i->code[k].start))
			to->code[to->n_codes++] = i->code[k];
		else
			i->code[n++] = i->code[k];
	i->n_codes = n;
}

static void lose_traps(struct insertion *i, const struct module *gone,
		       struct insert_lists *to)
{
	size_t n = 0;

	for (size_t k = 0; k < i->n_traps; k++)
		if (is_in(gone, i->trap[k].pc))
			to->trap[to->n_traps++] = i->trap[k];
		else
			i->trap[n++] = i->trap[k];
	i->n_traps = n;
}

/* How many are raised is counted: they keep their places. */
static void lose_semaphores(struct insertion *i, const struct module *gone,
			    struct insert_lists *to)
{
	for (size_t k = 0; k < i->n_semaphores; k++)
		if (i->semaphore[k].at != 0 &&
		    i->semaphore_of[k] == gone->ranges[0].start) {
			to->semaphore[to->n_semaphores++] = i->semaphore[k];
			i->semaphore[k].at = 0;
		}
}

static void free_lists(struct insert_lists *l)
{
	free(l->change);
	free(l->code);
	free(l->trap);
	free(l->semaphore);
	*l = (struct insert_lists){0};
}

void insert_free_lost(struct insertion *i)
{
	for (size_t k = 0; k < i->n_lost; k++)
		free_lists(&i->lost[k].had);
	free(i->lost);
}

/* Room for as much as there is. */
static int make_lists(const struct insertion *i, struct insert_lists *l)
{
	*l = (struct insert_lists){
	    .change = calloc(i->n_changes + 1, sizeof *l->change),
	    .code = calloc(i->n_codes + 1, sizeof *l->code),
	    .trap = calloc(i->n_traps + 1, sizeof *l->trap),
	    .semaphore = calloc(i->n_semaphores + 1, sizeof *l->semaphore),
	};
	if (l->change != NULL && l->code != NULL && l->trap != NULL &&
	    l->semaphore != NULL)
		return 0;
	free_lists(l);
	return -1;
}

static void *resized(void *p, size_t n, size_t size)
{
	void *more = reallocarray(p, n + 1, size);

	if (more == NULL)
		return p;
	return more;
}

/* To what they hold. */
static void shrink(struct insert_lists *l)
{
	l->change = resized(l->change, l->n_changes, sizeof *l->change);
	l->code = resized(l->code, l->n_codes, sizeof *l->code);
	l->trap = resized(l->trap, l->n_traps, sizeof *l->trap);
	l->semaphore =
	    resized(l->semaphore, l->n_semaphores, sizeof *l->semaphore);
}

int insert_forget(struct insertion *i, const struct module *gone,
		  struct hark_err *err)
{
	struct insert_lost *more =
	    reallocarray(i->lost, i->n_lost + 1, sizeof *more);
	struct insert_lists *had;

	i->lost = more != NULL ? more : i->lost;
	if (more == NULL || make_lists(i, &more[i->n_lost].had) < 0)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	more[i->n_lost].start = gone->ranges[0].start;
	/* Of one that it has by fork not all is known: it will be a new one. */
	more[i->n_lost].file = insert_inherited(i, gone) ? NULL : gone->file;
	had = &more[i->n_lost++].had;
	lose_changes(i, gone, had);
	lose_codes(i, gone, had);
	lose_traps(i, gone, had);
	lose_semaphores(i, gone, had);
	shrink(had);
	return 0;
}

int insert_seen(struct insertion *i, struct modules *modules, bool forgot,
		struct hark_err *err)
{
	struct collect_span frames = {0};

	if (!forgot && i->tables == NULL)
		return 0;
	if (insert_frames(i, modules, &frames, err) < 0 ||
	    insert_record(i, err) < 0)
		return -1;
	return insert_publish(i, &frames, err);
}

/* -- Coming again -- */

static struct insert_lost *lost_of(const struct insertion *i,
				   const struct module *m)
{
	for (size_t k = 0; k < i->n_lost; k++)
		if (i->lost[k].start == m->ranges[0].start &&
		    i->lost[k].file != NULL && i->lost[k].file == m->file)
			return &i->lost[k];
	return NULL;
}

bool insert_was_there(const struct insertion *i, const struct module *m)
{
	return m->n_ranges > 0 && lost_of(i, m) != NULL;
}

static int make_room(struct insertion *i, const struct insert_lists *l)
{
	void *p;

	p = reallocarray(i->change, i->n_changes + l->n_changes + 1,
			 sizeof *i->change);
	if (p == NULL)
		return -1;
	i->change = p;
	p = reallocarray(i->code, i->n_codes + l->n_codes + 1, sizeof *i->code);
	if (p == NULL)
		return -1;
	i->code = p;
	p = reallocarray(i->trap, i->n_traps + l->n_traps + 1, sizeof *i->trap);
	if (p == NULL)
		return -1;
	i->trap = p;
	p = reallocarray(i->semaphore, i->n_semaphores + l->n_semaphores + 1,
			 sizeof *i->semaphore);
	if (p == NULL)
		return -1;
	i->semaphore = p;
	p = reallocarray(i->semaphore_of, i->n_semaphores + l->n_semaphores + 1,
			 sizeof *i->semaphore_of);
	if (p == NULL)
		return -1;
	i->semaphore_of = p;
	return 0;
}

static void take_back(struct insertion *i, const struct insert_lost *lost)
{
	const struct insert_lists *l = &lost->had;

	i->first.change = i->n_changes;
	i->first.semaphore = i->n_semaphores;
	for (size_t k = 0; k < l->n_changes; k++)
		i->change[i->n_changes++] = l->change[k];
	for (size_t k = 0; k < l->n_codes; k++)
		i->code[i->n_codes++] = l->code[k];
	for (size_t k = 0; k < l->n_traps; k++)
		i->trap[i->n_traps++] = l->trap[k];
	for (size_t k = 0; k < l->n_semaphores; k++) {
		i->semaphore_of[i->n_semaphores] = lost->start;
		i->semaphore[i->n_semaphores++] = l->semaphore[k];
	}
	insert_sort(i);
}

static int check_text(const struct insert_lists *l, const struct door *d,
		      struct hark_err *err)
{
	for (size_t k = 0; k < l->n_changes; k++) {
		const struct collect_change *c = &l->change[k];
		uint8_t now[COLLECT_BYTES];

		if (remote_read(d, c->at, now, c->len, err) < 0)
			return -1;
		if (memcmp(now, c->old, c->len) != 0)
			return err_set(err, HARK_EREFUSE, 0,
				       "the code at 0x%lx is not that of its "
				       "file: something else has changed it",
				       (unsigned long)c->at);
	}
	return 0;
}

static int put_back(struct insertion *i, struct door *d,
		    struct insert_lost *lost, struct hark_err *err)
{
	if (check_text(&lost->had, d, err) < 0)
		return -1;
	if (make_room(i, &lost->had) < 0)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	take_back(i, lost);
	free_lists(&lost->had);
	*lost = i->lost[--i->n_lost];
	if (insert_record(i, err) < 0 || insert_publish(i, NULL, err) < 0 ||
	    insert_show(i, d, err) < 0 ||
	    insert_raise_semaphores(i, d, err) < 0)
		return -1;
	return insert_change_text(i, d, err);
}

int insert_again(struct insertion *i, struct door *d, const struct module *back,
		 struct hark_err *err)
{
	struct hark_err second;
	int rc;

	d->name = INSERT_NAME;
	rc = door_begin(d, err);
	if (rc == 0)
		rc = put_back(i, d, lost_of(i, back), err);
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	return rc;
}
