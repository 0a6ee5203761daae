/* probe/insert_threads.c - threads in the table, as hark sees them.
 *
 * Those that have one fs base together when probes go in are told apart by
 * their ids from the beginning; native/collect_thread.c sees to later ones. */
#include "probe/insert_priv.h"

#include "outside/proc.h"

#include <string.h>

static struct collect_table table; /* large */

static bool is_shared(const struct door *d, int k)
{
	for (int other = 0; other < k; other++)
		if (d->threads[other].seen.fs_base ==
		    d->threads[k].seen.fs_base)
			return true;
	return false;
}

/* Into a table in which there is nothing else. */
static void mark(uint64_t fs)
{
	uint64_t key = collect_shared_key(fs);
	unsigned at = collect_first(key);

	for (unsigned i = 0; i < COLLECT_ENTRIES; i++) {
		struct collect_who *w = &table.who[(at + i) % COLLECT_ENTRIES];

		if (w->area != 0 && w->fs != key)
			continue;
		*w = (struct collect_who){key, 1};
		table.has_shared = 1;
		return;
	}
}

int insert_share_bases(const struct insertion *i, struct door *d,
		       struct hark_err *err)
{
	memset(&table, 0, sizeof table);
	for (int k = 1; k < d->n_threads; k++)
		if (is_shared(d, k))
			mark(d->threads[k].seen.fs_base);
	return table.has_shared == 0
		   ? 0
		   : remote_write(d, i->table, &table, sizeof table, err);
}

int insert_read_table(const struct insert_left *l, const struct door *d,
		      struct hark_err *err)
{
	return remote_read(d, l->head.table, &table, sizeof table, err);
}

static const struct collect_who *find(uint64_t key)
{
	for (size_t k = 0; k < COLLECT_ENTRIES; k++)
		if (table.who[k].fs == key && table.who[k].area != 0)
			return &table.who[k];
	return NULL;
}

uint64_t insert_find_area(const struct insert_left *l, const struct door *d,
			  int k, struct collect_area *out)
{
	const struct door_thread *t = &d->threads[k];
	uint64_t key = t->seen.fs_base;
	const struct collect_who *w;

	if (table.has_shared != 0 && find(collect_shared_key(key)) != NULL)
		key = collect_tid_key((uint32_t)proc_inner_id(d->pid, t->tid));
	w = find(key);
	if (w == NULL ||
	    w->area - l->head.own > l->head.own_len - sizeof *out ||
	    remote_read(d, w->area, out, sizeof *out, NULL) < 0)
		return 0;
	return w->area;
}
