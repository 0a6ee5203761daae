/* probe/insert_record.c - what leaving needs: written down, and read again.
 *
 * It is read from the process itself, by whoever takes the probes out: there
 * is one way, whether hark put them in a moment ago or another one did that was
 * killed. Nothing that is read is believed: a program may have made all of it
 * up. What it says of the program's own memory can only harm that program. */
#include "probe/insert_priv.h"

#include "outside/blob.h"
#include "outside/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- Writing -- */

static int put_span(struct insertion *i, const void *from, size_t n,
		    size_t size, struct collect_span *out, struct hark_err *err)
{
	out->n = n;
	return insert_put(i, from, n * size, &out->offset, err);
}

int insert_record(struct insertion *i, struct hark_err *err)
{
	struct collect_plan *head = (struct collect_plan *)i->plan.base;
	struct collect_removal r = {
	    .hark = (uint32_t)getpid(),
	    .trampoline_size = sizeof(struct trampoline),
	    .began = proc_began(getpid()),
	    .space = proc_space(),
	    .handler = i->image + blob_places.handler,
	    .ours = i->ours,
	};
	uint64_t at;

	if (put_span(i, i->range, i->n_ranges, sizeof *i->range, &r.ranges,
		     err) < 0 ||
	    put_span(i, i->change, i->n_changes, sizeof *i->change, &r.changes,
		     err) < 0 ||
	    put_span(i, i->semaphore, i->n_semaphores, sizeof *i->semaphore,
		     &r.semaphores, err) < 0 ||
	    insert_put(i, &r, sizeof r, &at, err) < 0)
		return -1;
	__atomic_store_n(&head->removal, at, __ATOMIC_RELEASE);
	return 0;
}

/* -- Sizes -- */

uint64_t insert_whole(const struct collect_plan *head)
{
	return head->size + head->image_len + head->home_len + head->table_len +
	       head->board_len;
}

uint64_t insert_raised_at(const struct collect_plan *head)
{
	return head->home + head->home_len - sizeof(struct collect_action) -
	       sizeof(uint64_t);
}

/* Each by itself, so that no sum is too large. */
static bool are_lengths(const struct collect_plan *h)
{
	const uint64_t most = 1ull << 40,
		       all[] = {h->size, h->image_len, h->home_len,
				h->table_len, h->board_len};

	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		if (all[k] == 0 || all[k] > most || all[k] % INSERT_PAGE != 0)
			return false;
	return h->table_len >= sizeof(struct collect_table) &&
	       h->board_len >= sizeof(struct collect_area) &&
	       h->home_len >= sizeof(struct collect_home);
}

static bool is_head(const struct collect_plan *h, uint64_t at)
{
	return are_lengths(h) && h->self == at && h->image == at + h->size &&
	       h->home == h->image + h->image_len &&
	       h->table == h->home + h->home_len &&
	       h->board == h->table + h->table_len && h->removal >= sizeof *h &&
	       h->removal <= h->size - sizeof(struct collect_removal);
}

/* -- Reading -- */

static int is_strange(int pid, struct hark_err *err)
{
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d has probes in it that this hark cannot take "
		       "out (another version of hark has made them)",
		       pid);
}

static bool get(int mem, uint64_t at, void *out, size_t len)
{
	return pread(mem, out, len, (off_t)at) == (ssize_t)len;
}

int insert_read_head(int pid, int mem, uint64_t at, struct collect_plan *head,
		     struct collect_removal *record, struct hark_err *err)
{
	if (!get(mem, at, head, sizeof *head) || head->magic != COLLECT_MAGIC ||
	    head->version != COLLECT_VERSION || !is_head(head, at) ||
	    !get(mem, at + head->removal, record, sizeof *record) ||
	    record->trampoline_size != sizeof(struct trampoline))
		return is_strange(pid, err);
	return 0;
}

/* n things of a size; NULL and an error if they cannot be. */
static void *get_span(const struct insert_left *l, int mem,
		      const struct collect_span *s, size_t size,
		      struct hark_err *err)
{
	const uint64_t most = 1ull << 30;
	void *out;

	if (s->n > most / size || s->offset > l->head.size ||
	    s->n * size > l->head.size - s->offset) {
		is_strange(l->pid, err);
		return NULL;
	}
	out = calloc(s->n + 1, size);
	if (out == NULL)
		err_set(err, HARK_ENOMEM, 0, "out of memory");
	else if (!get(mem, l->head.self + s->offset, out, s->n * size)) {
		err_set(err, HARK_EGONE, errno, "process %d ended meanwhile",
			l->pid);
		free(out);
		out = NULL;
	}
	return out;
}

/* There is an index as soon as threads may be in trampolines. */
static int get_codes(struct insert_left *l, int mem, struct hark_err *err)
{
	const struct collect_plan *h = &l->head;
	struct collect_index index;

	if (h->index == 0)
		return 0;
	if (h->index > h->size - sizeof index ||
	    !get(mem, h->self + h->index, &index, sizeof index))
		return is_strange(l->pid, err);
	l->code = get_span(l, mem, &index.codes, sizeof *l->code, err);
	l->n_codes = index.codes.n;
	return l->code == NULL ? -1 : 0;
}

static bool are_changes(const struct insert_left *l)
{
	for (uint64_t k = 0; k < l->record.changes.n; k++)
		if (l->change[k].len > COLLECT_BYTES)
			return false;
	return true;
}

static int get_all(struct insert_left *l, int mem, struct hark_err *err)
{
	const struct collect_removal *r = &l->record;

	l->range = get_span(l, mem, &r->ranges, sizeof *l->range, err);
	if (l->range == NULL)
		return -1;
	l->change = get_span(l, mem, &r->changes, sizeof *l->change, err);
	if (l->change == NULL)
		return -1;
	l->semaphore =
	    get_span(l, mem, &r->semaphores, sizeof *l->semaphore, err);
	if (l->semaphore == NULL || get_codes(l, mem, err) < 0)
		return -1;
	return are_changes(l) ? 0 : is_strange(l->pid, err);
}

int insert_left_init(struct insert_left *l, int pid, int mem, uint64_t at,
		     struct hark_err *err)
{
	*l = (struct insert_left){.pid = pid};
	if (insert_read_head(pid, mem, at, &l->head, &l->record, err) == 0 &&
	    get_all(l, mem, err) == 0)
		return 0;
	insert_left_fini(l);
	return -1;
}

void insert_left_fini(struct insert_left *l)
{
	free(l->range);
	free(l->change);
	free(l->semaphore);
	free(l->code);
	*l = (struct insert_left){0};
}
