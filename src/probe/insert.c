/* probe/insert.c - the order of things: memory, plan, trampolines, signals, and
 * the text last. Before each of them it is written down (insert_record.c). */
#include "probe/insert_priv.h"

#include "probe/stack_tables.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- There -- */

int insert_list_semaphores(struct insertion *i, struct hark_err *err)
{
	size_t n = listing_count(i->want->listing),
	       room = i->n_semaphores + n + 1;
	struct collect_semaphore *at =
	    reallocarray(i->semaphore, room, sizeof *at);
	uint64_t *of = reallocarray(i->semaphore_of, room, sizeof *of);

	i->semaphore = at != NULL ? at : i->semaphore;
	i->semaphore_of = of != NULL ? of : i->semaphore_of;
	if (at == NULL || of == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->first.semaphore = i->n_semaphores;
	for (size_t k = 0; k < n; k++) {
		struct probe p;

		listing_get(i->want->listing, k, &p);
		if (p.semaphore == 0 ||
		    i->site_of[i->first.probe + k] == UINT32_MAX)
			continue;
		of[i->n_semaphores] = p.module->ranges[0].start;
		at[i->n_semaphores++].at = p.semaphore;
	}
	return 0;
}

/* One that is raised and not counted stays raised, if hark is killed between
 * the two; that does no harm, but one that is lowered too often would. */
int insert_raise_semaphores(const struct insertion *i, struct door *d,
			    struct hark_err *err)
{
	const struct collect_plan *head = insert_shared_plan(i);

	for (uint64_t k = i->first.semaphore; k < i->n_semaphores; k++) {
		uint64_t raised = k + 1;
		uint16_t n;

		if (remote_read(d, i->semaphore[k].at, &n, sizeof n, err) < 0)
			return -1;
		n++;
		if (remote_write(d, i->semaphore[k].at, &n, sizeof n, err) <
			0 ||
		    remote_write(d, insert_raised_at(head), &raised,
				 sizeof raised, err) < 0)
			return -1;
	}
	return 0;
}

static int put_in(struct insertion *i, struct door *d, struct hark_err *err)
{
	if (insert_find_patches(i, err) < 0 || insert_list_pages(i, err) < 0 ||
	    insert_map(i, d, err) < 0 || insert_sites(i, err) < 0)
		return -1;
	insert_note_filters(i, d);
	if (insert_write_code(i, d, err) < 0 ||
	    insert_list_semaphores(i, err) < 0 ||
	    insert_find_places(i, d, err) < 0 || insert_record(i, err) < 0 ||
	    insert_publish(i, NULL, err) < 0 || insert_show(i, d, err) < 0 ||
	    insert_share_bases(i, d, err) < 0 ||
	    insert_take_signals(i, d, err) < 0 ||
	    insert_raise_semaphores(i, d, err) < 0)
		return -1;
	return insert_change_text(i, d, err);
}

int insert_open(struct door *d, const struct insert_plan *p,
		struct insertion **out, struct hark_err *err)
{
	struct insertion *i = calloc(1, sizeof *i);
	struct hark_err second;
	int rc;

	if (i == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->want = p;
	i->pid = d->pid;
	i->ours = 1ull << (SIGTRAP - 1) | 1ull << (SIGILL - 1) |
		  1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);
	d->name = INSERT_NAME;
	rc = door_begin(d, err);
	if (rc == 0) {
		rc = insert_sweep(d, err) < 0 ? -1 : put_in(i, d, err);
		if (rc < 0)
			insert_undo(i, d, &second);
	}
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	i->want = NULL;
	if (rc < 0)
		insert_close(i);
	else
		*out = i;
	return rc;
}

void insert_close(struct insertion *i)
{
	if (i == NULL)
		return;
	insert_unmap_ours(i);
	if (i->board_file > 0)
		close(i->board_file);
	free(i->range);
	free(i->own);
	free(i->change);
	free(i->semaphore);
	free(i->semaphore_of);
	free(i->inherited);
	stack_tables_free(i->tables);
	insert_free_lost(i);
	free(i->site_of);
	free(i->patch);
	free(i->code);
	free(i->trap);
	free(i);
}

/* -- Asking -- */

const struct collect_plan *insert_shared_plan(const struct insertion *i)
{
	return (const struct collect_plan *)i->plan.base;
}

void insert_shown(struct insertion *i)
{
	insert_sync(i);
}

int insert_board_file(const struct insertion *i)
{
	return i->board_file;
}

struct collect_plan *insert_own_plan(struct insertion *i)
{
	return (struct collect_plan *)i->plan.base;
}

void *insert_board(const struct insertion *i)
{
	return i->board.base;
}

uint32_t insert_next(const struct insertion *i)
{
	return (uint32_t)i->n_sites + i->skipped;
}

uint32_t insert_site(const struct insertion *i, size_t probe)
{
	const struct collect_site *all =
	    (const struct collect_site *)(i->plan.base + i->sites);

	return i->site_of[probe] == UINT32_MAX ? UINT32_MAX
					       : all[i->site_of[probe]].number;
}
