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

static uint64_t put_span(uint8_t *base, uint64_t at, const void *from,
			 uint64_t n, size_t size, struct collect_span *out)
{
	*out = (struct collect_span){at, n};
	if (n > 0)
		memcpy(base + at, from, n * size);
	return at + ((n * size + 15) & ~15ull);
}

static uint64_t count_changes(const struct insertion *i)
{
	uint64_t n = i->n_changes;

	for (size_t k = 0; k < i->n_lost; k++)
		n += i->lost[k].had.n_changes;
	return n;
}

/* Those of modules that are gone first. */
static uint64_t put_changes(struct insertion *i, uint64_t at,
			    struct collect_span *out)
{
	const size_t size = sizeof(struct collect_change);
	struct collect_span one;
	uint64_t end = at;

	_Static_assert(sizeof(struct collect_change) % 16 == 0, "no gaps");
	for (size_t k = 0; k < i->n_lost; k++)
		end = put_span(i->plan.base, end, i->lost[k].had.change,
			       i->lost[k].had.n_changes, size, &one);
	end = put_span(i->plan.base, end, i->change, i->n_changes, size, &one);
	*out = (struct collect_span){at, (end - at) / size};
	return end;
}

/* Two places take turns, so that the record that counts is whole at any time.
 * Nobody reads it while hark lives. */
static int find_place(struct insertion *i, uint64_t need, uint64_t *at,
		      struct hark_err *err)
{
	unsigned turn = i->record_turn ^= 1;
	uint64_t room = need + need / 2;

	if (i->record[turn].room < need) {
		if (insert_reserve(i, room, &i->record[turn].at, err) < 0)
			return -1;
		i->record[turn].room = room;
	}
	*at = i->record[turn].at;
	return 0;
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
	uint64_t at, end,
	    n_changes = count_changes(i),
	    need = i->n_ranges * sizeof *i->range +
		   n_changes * sizeof *i->change +
		   i->n_semaphores * sizeof *i->semaphore + sizeof r + 64;

	if (find_place(i, need, &at, err) < 0)
		return -1;
	end = at + ((sizeof r + 15) & ~15ull);
	end = put_span(i->plan.base, end, i->range, i->n_ranges,
		       sizeof *i->range, &r.ranges);
	end = put_changes(i, end, &r.changes);
	end = put_span(i->plan.base, end, i->semaphore, i->n_semaphores,
		       sizeof *i->semaphore, &r.semaphores);
	memcpy(i->plan.base + at, &r, sizeof r);
	insert_show_range(i, at, end - at);
	head->removal = at;
	insert_sync(i);
	return 0;
}

/* -- Sizes -- */

uint64_t insert_whole(const struct collect_plan *head)
{
	return head->size + head->image_len + head->home_len + head->table_len +
	       head->work_len + head->own_len + head->board_len;
}

uint64_t insert_raised_at(const struct collect_plan *head)
{
	return head->home + offsetof(struct collect_home, raised);
}

/* Each by itself, so that no sum is too large. */
static bool are_lengths(const struct collect_plan *h)
{
	const uint64_t most = 1ull << 40,
		       all[] = {h->size,      h->image_len, h->home_len,
				h->table_len, h->own_len,   h->board_len};

	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		if (all[k] == 0 || all[k] > most || all[k] % INSERT_PAGE != 0)
			return false;
	return h->work_len <= most && h->work_len % INSERT_PAGE == 0 &&
	       h->table_len >= sizeof(struct collect_table) &&
	       h->own_len >= sizeof(struct collect_area) &&
	       h->home_len >= sizeof(struct collect_home);
}

static bool is_head(const struct collect_plan *h, uint64_t at)
{
	return are_lengths(h) && h->self == at && h->image == at + h->size &&
	       h->home == h->image + h->image_len &&
	       h->table == h->home + h->home_len &&
	       h->work == h->table + h->table_len &&
	       h->own == h->work + h->work_len &&
	       h->board == h->own + h->own_len && h->removal >= sizeof *h &&
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

/* As far as this process has come; nothing, before it has a home. */
static uint64_t get_home(const struct insert_left *l, int mem, size_t offset)
{
	uint64_t v;

	return get(mem, l->head.home + offset, &v, sizeof v) ? v : 0;
}

/* There is an index as soon as threads may be in trampolines. */
static int get_codes(struct insert_left *l, int mem, struct hark_err *err)
{
	const struct collect_plan *h = &l->head;
	uint64_t at = get_home(l, mem, offsetof(struct collect_home, index));
	struct collect_index index;

	if (at == 0)
		return 0;
	if (at > h->size - sizeof index ||
	    !get(mem, h->self + at, &index, sizeof index))
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
	struct collect_removal *r = &l->record;
	uint64_t mapped =
	    get_home(l, mem, offsetof(struct collect_home, ranges));

	if (r->ranges.n > mapped)
		r->ranges.n = mapped;
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
