/* native/collect_speculation.c - records that wait until somebody wants them.
 *
 * Speculations belong to all threads. A clause that speculates writes aside,
 * into its own area; when it is done the record is added to the speculation
 * under its lock. commit() copies the records to the ring of the thread that
 * commits, discard() forgets them; both make the speculation free. A hit whose
 * record is lost on commit counts as dropped instead of recorded, though it
 * may have been another thread's: only sums matter. */
#include "native/collect_board.h"

static uint32_t room_of(const struct collect_work *w)
{
	return w->plan->geometry.speculation_size & ~7U;
}

/* NULL: there is no such one. */
static struct collect_speculation *find(const struct collect_work *w,
					uint64_t id)
{
	if (id == 0 || id > w->plan->geometry.n_speculations)
		return NULL;
	return (
	    struct collect_speculation *)(void *)(w->speculations +
						  (id - 1) *
						      w->speculation_stride);
}

static struct collect_record *record_at(struct collect_speculation *s,
					uint32_t offset)
{
	return (struct collect_record *)(void *)((uint8_t *)(s + 1) + offset);
}

static bool change(struct collect_speculation *s, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&s->state, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint64_t collect_speculation(struct machine_host *h)
{
	struct collect_work *w = (struct collect_work *)h;
	uint32_t n = w->plan->geometry.n_speculations;

	for (uint32_t id = 1; id <= n; id++)
		if (change(find(w, id), SPECULATION_IDLE, SPECULATION_ACTIVE))
			return id;
	collect_add(&w->part->reasons[COLLECT_BUSY], 1);
	return 0;
}

/* Whether it still has room, and is still the same one, is found out when the
 * clause is done. */
bool collect_speculate(struct machine_host *h, uint64_t id, uint32_t need)
{
	struct collect_work *w = (struct collect_work *)h;
	struct collect_speculation *s = find(w, id);

	if (s == NULL ||
	    __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != SPECULATION_ACTIVE)
		return false;
	if (need + sizeof(struct collect_record) > room_of(w)) {
		collect_lack(w, COLLECT_NO_SPECULATION);
		return false;
	}
	w->speculating = (uint32_t)id;
	w->turn = __atomic_load_n(&s->turn, __ATOMIC_RELAXED);
	h->output = w->side + sizeof(struct collect_record);
	h->output_room = PROBE_OUTPUT_MAX;
	h->output_len = 0;
	return true;
}

void collect_commit(struct machine_host *h, uint64_t id)
{
	struct collect_work *w = (struct collect_work *)h;
	struct collect_speculation *s = find(w, id);

	if (s == NULL || w->n_commits == COLLECT_COMMITS ||
	    !change(s, SPECULATION_ACTIVE, SPECULATION_COMMITTING))
		return;
	w->commit[w->n_commits++] = (uint32_t)id;
}

static void make_free(struct collect_speculation *s)
{
	s->used = 0;
	__atomic_store_n(&s->turn, s->turn + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->state, SPECULATION_IDLE, __ATOMIC_RELEASE);
}

void collect_discard(struct machine_host *h, uint64_t id)
{
	struct collect_work *w = (struct collect_work *)h;
	struct collect_speculation *s = find(w, id);

	if (s == NULL)
		return;
	if (!collect_lock(&s->lock, w->area->number)) {
		collect_lack(w, COLLECT_LOCKED);
		return;
	}
	if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == SPECULATION_ACTIVE)
		make_free(s);
	collect_unlock(&s->lock);
}

/* -- When the clause is done -- */

/* Somebody may have committed or discarded it meanwhile. */
static void add(struct collect_work *w, struct collect_speculation *s)
{
	struct collect_record *r = (struct collect_record *)(void *)w->side;
	uint32_t used = __atomic_load_n(&s->used, __ATOMIC_RELAXED);

	collect_head(w, r, COLLECT_RECORD, w->h.output_len);
	if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) !=
		SPECULATION_ACTIVE ||
	    s->turn != w->turn || r->size > room_of(w) ||
	    used > room_of(w) - r->size || used % 8 != 0) {
		collect_lack(w, COLLECT_NO_SPECULATION);
		return;
	}
	__builtin_memcpy(record_at(s, used), r, r->size);
	s->used = used + r->size;
}

void collect_keep(struct collect_work *w)
{
	struct collect_speculation *s = find(w, w->speculating);

	if (w->h.output_len == 0)
		return;
	if (!collect_lock(&s->lock, w->area->number)) {
		collect_lack(w, COLLECT_LOCKED);
		return;
	}
	add(w, s);
	collect_unlock(&s->lock);
}

static void lose(struct collect_work *w, uint32_t site)
{
	collect_add(&w->part->reasons[COLLECT_NO_COMMIT], 1);
	if (site >= w->plan->geometry.max_sites)
		return;
	collect_add(&w->slots[site].account.recorded, (uint64_t)-1);
	collect_add(&w->slots[site].account.dropped, 1);
}

/* hark may do this, too, and believes nothing: what is read once is not read
 * again. */
static void copy_records(struct collect_work *w, struct collect_speculation *s)
{
	uint32_t end = __atomic_load_n(&s->used, __ATOMIC_RELAXED);

	if (end > room_of(w))
		return;
	for (uint32_t at = 0; at < end;) {
		const struct collect_record *r = record_at(s, at);
		uint32_t size = __atomic_load_n(&r->size, __ATOMIC_RELAXED);

		if (size < sizeof *r || size % 8 != 0 || size > end - at)
			break; /* somebody wrote over it */
		if (!collect_put_copy(w, r, size))
			lose(w, __atomic_load_n(&r->site, __ATOMIC_RELAXED));
		at += size;
	}
}

/* Whoever adds holds the lock and has seen that it was active. */
void collect_copy_commits(struct collect_work *w)
{
	for (uint32_t i = 0; i < w->n_commits; i++) {
		struct collect_speculation *s = find(w, w->commit[i]);

		if (!collect_lock(&s->lock, w->area->number)) {
			collect_lack(w, COLLECT_LOCKED);
			continue;
		}
		copy_records(w, s);
		make_free(s);
		collect_unlock(&s->lock);
	}
	w->n_commits = 0;
}
