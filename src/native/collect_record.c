/* native/collect_record.c - records, one behind the other in a ring.
 *
 *	tail v			     v head
 *	   [....|......|...|........]         bytes ever written
 *
 * A clause writes its entries where they will stay, behind the head of a
 * record for the most that it may put out; the record is made as long as
 * needed and published by one store of .head. So all that was put is whole,
 * whenever the thread is killed.
 *
 *	COLLECT_SWITCH	hark takes records and moves .tail
 *	COLLECT_FILL	.tail stays 0; the first record that finds no room
 *			closes the ring
 *	COLLECT_RING	the thread moves .tail over the oldest records before
 *			it writes in their place
 *
 * A page that is touched for the first time costs as much as fifty records. So
 * the memory of a COLLECT_SWITCH is cut into chunks, and as long as hark keeps
 * up a thread goes around in the few that it has touched:
 *
 *	written		0 1 2 0 1 3 2 0 ...	by number, .order
 *	touched		0 . .     .		3: hark had not yet read all of
 *						the chunk that was next
 *
 * What does not fit before the end of a chunk begins anew in the next one: a
 * record of kind COLLECT_PAD fills the rest.
 *
 * R1  The last n_touched chunks by number are different ones.
 * R2  A chunk is used again when hark has read all of it; or, when all are
 *     touched, the part that it has read: [tail, head) is never longer than
 *     the memory. */
#include "inside/sys.h"
#include "native/collect_board.h"

static struct collect_record *record_at(const struct collect_work *w,
					uint32_t at)
{
	return (struct collect_record *)(void *)(w->bytes + at);
}

static uint64_t used(const struct collect_ring *r)
{
	return r->head - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
}

/* One record less; false: it is not what this thread has written. */
static bool drop_oldest(const struct collect_work *w)
{
	struct collect_ring *r = w->ring;
	uint32_t size = r->tail_at < r->size && r->tail_at % 8 == 0
			    ? record_at(w, r->tail_at)->size
			    : 0;

	if (size == 0 || size % 8 != 0 || size > r->size - r->tail_at ||
	    size > used(r))
		return false;
	r->tail_at += size;
	r->tail_at = r->tail_at == r->size ? 0 : r->tail_at;
	__atomic_store_n(&r->tail, r->tail + size, __ATOMIC_RELEASE);
	return true;
}

static bool has_room(const struct collect_work *w, uint32_t len)
{
	struct collect_ring *r = w->ring;

	if (len > r->size || used(r) > r->size)
		return false;
	if (w->plan->geometry.policy == COLLECT_RING)
		while (used(r) + len > r->size)
			if (!drop_oldest(w))
				return false;
	return used(r) + len <= r->size;
}

static void publish(struct collect_work *w, uint32_t size)
{
	struct collect_ring *r = w->ring;

	r->at += size;
	r->left -= size;
	__atomic_store_n(&r->head, r->head + size, __ATOMIC_RELEASE);
}

void collect_ring(struct collect_board *b)
{
	__atomic_fetch_add(&b->bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&b->sleeping, __ATOMIC_SEQ_CST) != 0)
		sys_call3(SYS_NR_FUTEX, (uint64_t)(uintptr_t)&b->bell,
			  SYS_FUTEX_WAKE, 1);
}

/* hark is told, once for each time it has emptied the ring. */
static void ring_bell(struct collect_work *w)
{
	struct collect_ring *r = w->ring;
	uint64_t tail = __atomic_load_n(&r->tail, __ATOMIC_RELAXED);

	if (r->rung == tail + 1)
		return;
	r->rung = tail + 1;
	collect_ring(w->board);
}

/* The rest of the chunk is left empty. */
static bool pad(struct collect_work *w)
{
	struct collect_ring *r = w->ring;
	uint32_t rest = r->left;

	if (w->plan->geometry.policy == COLLECT_FILL || !has_room(w, rest))
		return false;
	record_at(w, r->at)->size = rest;
	record_at(w, r->at)->kind = COLLECT_PAD;
	publish(w, rest);
	return true;
}

/* Which chunk comes now? R1, R2. */
static uint32_t choose_chunk(struct collect_ring *r)
{
	uint64_t number = r->head / r->chunk, before;

	if (r->n_touched >= r->n_chunks)
		return r->order[number % r->n_chunks];
	before = number - r->n_touched; /* had the one that is next */
	if (r->n_touched > 0 && __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) >=
				    (before + 1) * r->chunk)
		return r->order[before % r->n_chunks];
	return r->n_touched++;
}

/* Room for need bytes in a row, in the next chunk if not in this one. */
static bool go_on(struct collect_work *w, uint32_t need)
{
	struct collect_ring *r = w->ring;
	uint32_t chunk;

	/* Not as this thread has left it? */
	if (r->n_chunks - 1 >= COLLECT_CHUNKS ||
	    (uint64_t)r->n_chunks * r->chunk != r->size)
		return false;
	if (r->left > 0 && !pad(w))
		return false;
	if (r->head % r->chunk != 0)
		return false;
	chunk = choose_chunk(r);
	if (chunk >= r->n_chunks)
		return false;
	r->order[r->head / r->chunk % r->n_chunks] = (uint16_t)chunk;
	r->at = chunk * r->chunk;
	r->left = r->chunk;
	return need <= r->left;
}

uint8_t *collect_reserve(struct collect_work *w, uint32_t len)
{
	uint32_t need = (uint32_t)sizeof(struct collect_record) + len;
	struct collect_ring *r = w->ring;

	if (r->at > r->size || r->left > r->size - r->at || r->at % 8 != 0 ||
	    need > r->chunk || r->is_full != 0)
		return NULL;
	if ((need > r->left && !go_on(w, need)) || !has_room(w, need)) {
		r->is_full = w->plan->geometry.policy == COLLECT_FILL;
		return NULL;
	}
	return w->bytes + r->at + sizeof(struct collect_record);
}

void collect_head(struct collect_work *w, struct collect_record *r,
		  enum collect_record_kind kind, uint32_t len)
{
	r->size = (uint32_t)sizeof *r + len;
	r->kind = kind;
	r->site = w->site->number;
	r->clause = w->clause;
	r->time_ns = collect_now(w);
	r->tid = w->area->tid;
	r->pid = w->area->pid;
}

void collect_publish(struct collect_work *w, uint32_t size)
{
	struct collect_ring *r = w->ring;
	uint32_t much = r->size / 2 < COLLECT_BELL ? r->size / 2 : COLLECT_BELL;

	publish(w, size);
	if (w->plan->geometry.policy == COLLECT_SWITCH && used(r) > much)
		ring_bell(w);
}

void collect_put(struct collect_work *w, enum collect_record_kind kind,
		 uint32_t len)
{
	collect_head(w, record_at(w, w->ring->at), kind, len);
	collect_publish(w, (uint32_t)sizeof(struct collect_record) + len);
}

bool collect_put_copy(struct collect_work *w, const void *record, uint32_t size)
{
	uint32_t head = (uint32_t)sizeof(struct collect_record);
	uint8_t *to = collect_reserve(w, size - head);

	if (to == NULL)
		return false;
	__builtin_memcpy(to - head, record, size);
	record_at(w, w->ring->at)->size = size;
	publish(w, size);
	return true;
}
