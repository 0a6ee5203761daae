/* probe/insert_branch.c - a process that has its probes by fork, or from hark
 * itself some time ago, gets a plan of its own.
 *
 * A child of fork shares the plan with its parent, and goes by the index that
 * was the newest when it was made. Libraries that it loads are its own: so are
 * their sites, trampolines and changed bytes. So when it loads the first one,
 * the plan that is mapped there becomes a copy, at the same place; what the
 * process shows of itself says which of all that is listed is really there:
 *
 *	home	how many ranges are mapped, how many semaphores are raised,
 *		and the index
 *	text	which changes are in place
 *
 * From then on it is an insertion like any other. The board stays: all have
 * the same one.
 *
 * B1  Until the copy is mapped, nothing has changed; with it, nothing has for
 *     the threads of the process: what they look at is there, as it was. */
#include "probe/insert_priv.h"

#include "outside/attach.h"
#include "outside/proc.h"
#include "probe/stack_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* -- What is there -- */

/* Bytes of ours at that place, in that module? */
static bool is_there(const struct door *d, const struct collect_change *c)
{
	uint8_t now[COLLECT_BYTES];

	return remote_read(d, c->at, now, c->len, NULL) == 0 &&
	       memcmp(now, c->bytes, c->len) == 0;
}

static int take_changes(struct insertion *i, struct insert_left *l,
			const struct door *d, struct hark_err *err)
{
	bool *in_place = insert_changes_in_place(l, d, err);
	size_t n = 0;

	if (in_place == NULL)
		return -1;
	for (uint64_t k = 0; k < l->record.changes.n; k++)
		if (in_place[k] && is_there(d, &l->change[k]))
			l->change[n++] = l->change[k];
	free(in_place);
	i->change = l->change;
	i->n_changes = n;
	l->change = NULL;
	return 0;
}

static int take_semaphores(struct insertion *i, struct insert_left *l,
			   const struct door *d, struct hark_err *err)
{
	uint64_t raised = 0;

	if (remote_read(d, insert_raised_at(&l->head), &raised, sizeof raised,
			err) < 0)
		return -1;
	if (raised > l->record.semaphores.n)
		raised = l->record.semaphores.n;
	i->semaphore_of = calloc(raised + 1, sizeof *i->semaphore_of);
	if (i->semaphore_of == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (uint64_t k = 0; k < raised; k++) {
		const struct module *m =
		    modules_find(i->want->modules, l->semaphore[k].at);

		i->semaphore_of[k] = m != NULL ? m->ranges[0].start : 0;
	}
	i->semaphore = l->semaphore;
	i->n_semaphores = raised;
	l->semaphore = NULL;
	return 0;
}

/* By the copy of the plan. */
static int take_traps(struct insertion *i, struct hark_err *err)
{
	const struct collect_plan *head = insert_shared_plan(i);
	const struct collect_index *index = collect_index(head);
	const uint64_t n = index->traps.n;

	if (index->traps.offset > i->plan.size ||
	    n > (i->plan.size - index->traps.offset) / sizeof *i->trap)
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d has changed its probes", i->pid);
	i->trap = calloc(n + 1, sizeof *i->trap);
	if (i->trap == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (n > 0)
		memcpy(i->trap, collect_at(head, index->traps.offset),
		       n * sizeof *i->trap);
	i->n_traps = n;
	return 0;
}

bool insert_has(const struct insertion *i, const struct module *m)
{
	for (size_t k = 0; k < i->n_changes; k++)
		for (size_t r = 0; r < m->n_ranges; r++)
			if (i->change[k].at >= m->ranges[r].start &&
			    i->change[k].at < m->ranges[r].end)
				return true;
	return false;
}

static int take_modules(struct insertion *i, struct hark_err *err)
{
	struct modules *all = i->want->modules;

	i->inherited = calloc(modules_count(all) + 1, sizeof *i->inherited);
	if (i->inherited == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (size_t k = 0; k < modules_count(all); k++)
		if (insert_has(i, modules_get(all, k)))
			i->inherited[i->n_inherited++] =
			    modules_get(all, k)->ranges[0].start;
	return 0;
}

bool insert_inherited(struct insertion *i, const struct module *m)
{
	for (size_t k = 0; k < i->n_inherited; k++)
		if (i->inherited[k] == m->ranges[0].start) {
			i->inherited[k] = i->inherited[--i->n_inherited];
			return true;
		}
	return false;
}

static int take_lists(struct insertion *i, struct insert_left *l,
		      const struct door *d, struct hark_err *err)
{
	i->range = l->range;
	i->n_ranges = l->record.ranges.n;
	l->range = NULL;
	i->code = l->code;
	i->n_codes = l->n_codes;
	l->code = NULL;
	return take_changes(i, l, d, err) < 0 ||
		       take_semaphores(i, l, d, err) < 0 ||
		       take_traps(i, err) < 0 || take_modules(i, err) < 0
		   ? -1
		   : 0;
}

/* -- The copy -- */

static bool is_zero(const uint8_t *page)
{
	return page[0] == 0 && memcmp(page, page + 1, INSERT_PAGE - 1) == 0;
}

static int is_changed(const struct insertion *i, struct hark_err *err)
{
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d has changed its probes", i->pid);
}

/* Most of it is room that was never used. */
static int copy_plan(struct insertion *i, const struct door *d,
		     struct hark_err *err)
{
	uint8_t page[INSERT_PAGE];

	for (uint64_t at = 0; at < i->plan.used; at += sizeof page) {
		if (remote_read(d, i->plan.at + at, page, sizeof page, err) < 0)
			return -1;
		if (!is_zero(page))
			memcpy(i->plan.base + at, page, sizeof page);
	}
	return 0;
}

static bool is_span(const struct insertion *i, const struct collect_span *s,
		    size_t size)
{
	return s->offset <= i->plan.used &&
	       s->n <= (i->plan.used - s->offset) / size && s->offset % 8 == 0;
}

/* The process may have mapped anything in the place of its plan. */
static bool is_index(const struct insertion *i, uint64_t at)
{
	const struct collect_index *index =
	    (const struct collect_index *)(i->plan.base + at);

	return at % 8 == 0 && at >= sizeof(struct collect_plan) &&
	       at <= i->plan.used - sizeof *index &&
	       i->plan.used >= sizeof *index + sizeof(struct collect_plan) &&
	       is_span(i, &index->sites, sizeof(struct collect_site)) &&
	       is_span(i, &index->codes, sizeof(struct collect_code)) &&
	       is_span(i, &index->traps, sizeof(struct collect_trap)) &&
	       is_span(i, &index->frames, sizeof(struct collect_frames));
}

/* Is it the script that hark has? Its layout is that of the board. */
static bool is_same_script(const struct insertion *i,
			   const struct insertion *from)
{
	const struct collect_plan *head = insert_shared_plan(i),
				  *known = insert_shared_plan(from);
	const struct probe_program *p = i->want->program;

	return is_span(i, &head->program, 1) && head->program.n == p->size &&
	       memcmp(collect_at(head, head->program.offset), p, p->size) ==
		   0 &&
	       memcmp(&head->geometry, &known->geometry,
		      sizeof head->geometry) == 0;
}

static int set_head(struct insertion *i, const struct insert_left *l,
		    const struct insertion *from, const struct door *d,
		    struct hark_err *err)
{
	struct collect_plan *head = (struct collect_plan *)i->plan.base;
	uint64_t index = 0;

	if (remote_read(d, l->head.home + offsetof(struct collect_home, index),
			&index, sizeof index, err) < 0)
		return -1;
	if (!is_index(i, head->index) || (index != 0 && !is_index(i, index)) ||
	    !is_same_script(i, from))
		return is_changed(i, err);
	/* Sites of all that share the plan: none is overwritten. */
	i->sites = collect_index(head)->sites.offset;
	i->n_sites = i->first.site = collect_index(head)->sites.n;
	head->pid = (uint32_t)proc_inner_id(d->pid, d->pid);
	if (index != 0)
		head->index = index;
	return 0;
}

static void place(struct insertion *i, const struct insert_left *l)
{
	const struct collect_plan *h = &l->head;

	i->plan.at = h->self;
	i->plan.size = h->size;
	i->plan.used = insert_page_up(h->used);
	i->image = h->image;
	i->image_len = h->image_len;
	i->home = h->home;
	i->home_len = h->home_len;
	i->table = h->table;
	i->table_len = h->table_len;
	i->board.at = h->board;
	i->board.size = h->board_len;
	i->ours = l->record.ours;
}

/* -- All of it -- */

static int fill(struct insertion *i, struct insert_left *l, struct door *d,
		const struct insertion *from, struct hark_err *err)
{
	int64_t fd = -1;
	int ours = -1, rc = -1;

	place(i, l);
	if (i->plan.used > i->plan.size || i->board.size != from->board.size)
		return is_changed(i, err);
	if (remote_memfd(d, &fd, &ours, err) == 0 &&
	    insert_make_ours(&i->plan, ours, true, err) == 0 &&
	    insert_share_board(i, from, err) == 0 &&
	    copy_plan(i, d, err) == 0 && set_head(i, l, from, d, err) == 0 &&
	    take_lists(i, l, d, err) == 0 && insert_make_tables(i, err) == 0 &&
	    insert_record(i, err) == 0)
		rc = insert_put_there(d, i->plan.at, i->plan.size, PROT_READ,
				      fd, err);
	if (ours >= 0)
		close(ours);
	if (fd >= 0 && remote_close(d, fd, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

static int branch(struct insertion *i, struct door *d,
		  const struct insertion *from, struct hark_err *err)
{
	uint64_t at = insert_find_plan(d->pid, d->threads[0].tid, d->mem);
	struct insert_left l;
	int rc;

	if (at == 0)
		return err_set(err, HARK_EGONE, 0, "process %d has no probes",
			       d->pid);
	if (insert_left_init(&l, d->pid, d->mem, at, err) < 0)
		return -1;
	rc = insert_is_mine(&l.record)
		 ? fill(i, &l, d, from, err)
		 : err_set(err, HARK_EREFUSE, 0,
			   "process %d is probed by another hark", d->pid);
	insert_left_fini(&l);
	return rc;
}

int insert_branch(pid_t pid, const struct insertion *from,
		  const struct probe_program *program, struct modules *modules,
		  const struct insert_proof *proof, struct insertion **out,
		  struct hark_err *err)
{
	struct insertion *i = calloc(1, sizeof *i);
	const struct insert_plan want = {.program = program,
					 .modules = modules};
	struct hark_err second;
	struct door d;
	int rc;

	if (i == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->pid = pid;
	i->want = &want;
	if (attach_open(&d, pid, err) < 0) {
		free(i);
		return -1;
	}
	d.name = INSERT_NAME;
	rc = proof->is_ours(proof->ctx, pid)
		 ? 0
		 : err_set(err, HARK_EGONE, 0, "process %d ended meanwhile",
			   pid);
	if (rc == 0)
		rc = door_begin(&d, err);
	if (rc == 0)
		rc = branch(i, &d, from, err);
	if (door_leave(&d, rc < 0 ? &second : err) < 0)
		rc = -1;
	attach_close(&d);
	i->want = NULL;
	if (rc < 0)
		insert_close(i);
	else
		*out = i;
	return rc;
}
