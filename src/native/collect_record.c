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

/* -- The pen -- */

static bool is_sound(const struct collect_pen *p)
{
	for (uint32_t k = 0; k < p->n_chunks; k++)
		if (p->order[k] >= p->n_chunks)
			return false;
	return p->at <= p->size && p->left <= p->size - p->at &&
	       p->left <= p->chunk && p->at % 8 == 0 && p->left % 8 == 0 &&
	       p->head % 8 == 0 && p->n_touched <= p->n_chunks &&
	       p->tail_at % 8 == 0 && (p->tail_at < p->size || p->tail_at == 0);
}

/* D1: what is not as a thread has left it is not written to any more. */
void collect_pen_init(struct collect_work *w, const struct collect_layout *l)
{
	const struct collect_ring *r = w->ring;
	struct collect_pen *p = &w->pen;

	p->size = l->ring_size;
	p->n_chunks = l->n_chunks;
	p->chunk = l->ring_size / l->n_chunks;
	p->head = __atomic_load_n(&r->head, __ATOMIC_RELAXED);
	p->tail = __atomic_load_n(&r->tail, __ATOMIC_RELAXED);
	p->at = __atomic_load_n(&r->at, __ATOMIC_RELAXED);
	p->left = __atomic_load_n(&r->left, __ATOMIC_RELAXED);
	p->n_touched = __atomic_load_n(&r->n_touched, __ATOMIC_RELAXED);
	p->is_full = __atomic_load_n(&r->is_full, __ATOMIC_RELAXED);
	p->tail_at = __atomic_load_n(&r->tail_at, __ATOMIC_RELAXED);
	for (uint32_t k = 0; k < p->n_chunks; k++)
		p->order[k] = __atomic_load_n(&r->order[k], __ATOMIC_RELAXED);
	if (!is_sound(p))
		p->is_full = 1;
}

/* hark moves the tail of a COLLECT_SWITCH; a wrong one makes records that are
 * not whole, and nothing worse. */
static uint64_t tail_of(const struct collect_work *w)
{
	return w->plan->geometry.policy == COLLECT_SWITCH
		   ? __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE)
		   : w->pen.tail;
}

static uint64_t used(const struct collect_work *w)
{
	return w->pen.head - tail_of(w);
}

/* One record less; false: it is not what this thread has written. */
static bool drop_oldest(struct collect_work *w)
{
	struct collect_pen *p = &w->pen;
	uint32_t size =
	    __atomic_load_n(&record_at(w, p->tail_at)->size, __ATOMIC_RELAXED);

	if (size == 0 || size % 8 != 0 || size > p->size - p->tail_at ||
	    size > used(w))
		return false;
	p->tail_at += size;
	p->tail_at = p->tail_at == p->size ? 0 : p->tail_at;
	p->tail += size;
	w->ring->tail_at = p->tail_at;
	__atomic_store_n(&w->ring->tail, p->tail, __ATOMIC_RELEASE);
	return true;
}

static bool has_room(struct collect_work *w, uint32_t len)
{
	const struct collect_pen *p = &w->pen;

	if (len > p->size || used(w) > p->size)
		return false;
	if (w->plan->geometry.policy == COLLECT_RING)
		while (used(w) + len > p->size)
			if (!drop_oldest(w))
				return false;
	return used(w) + len <= p->size;
}

static void publish(struct collect_work *w, uint32_t size)
{
	struct collect_pen *p = &w->pen;

	p->at += size;
	p->left -= size;
	p->head += size;
	w->ring->at = p->at;
	w->ring->left = p->left;
	__atomic_store_n(&w->ring->head, p->head, __ATOMIC_RELEASE);
}

/* -- Records -- */

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
	uint64_t tail = tail_of(w);

	if (w->pen.rung == tail + 1)
		return;
	w->pen.rung = tail + 1;
	collect_ring(w->board);
}

/* The rest of the chunk is left empty. */
static bool pad(struct collect_work *w)
{
	const struct collect_pen *p = &w->pen;
	uint32_t rest = p->left;

	if (w->plan->geometry.policy == COLLECT_FILL || !has_room(w, rest))
		return false;
	record_at(w, p->at)->size = rest;
	record_at(w, p->at)->kind = COLLECT_PAD;
	publish(w, rest);
	return true;
}

/* Which chunk comes now? R1, R2. */
static uint32_t choose_chunk(struct collect_work *w)
{
	struct collect_pen *p = &w->pen;
	uint64_t number = p->head / p->chunk, before;

	if (p->n_touched >= p->n_chunks)
		return p->order[number % p->n_chunks];
	before = number - p->n_touched; /* had the one that is next */
	if (p->n_touched > 0 && tail_of(w) >= (before + 1) * p->chunk)
		return p->order[before % p->n_chunks];
	return p->n_touched++;
}

/* Room for need bytes in a row, in the next chunk if not in this one. */
static bool go_on(struct collect_work *w, uint32_t need)
{
	struct collect_pen *p = &w->pen;
	uint32_t chunk, at;

	if (p->left > 0 && !pad(w))
		return false;
	if (p->chunk == 0 || p->head % p->chunk != 0)
		return false; /* not as a thread has left it */
	chunk = choose_chunk(w);
	at = (uint32_t)(p->head / p->chunk % p->n_chunks);
	p->order[at] = w->ring->order[at] = (uint16_t)chunk;
	p->at = w->ring->at = chunk * p->chunk;
	p->left = w->ring->left = p->chunk;
	w->ring->n_touched = p->n_touched;
	return need <= p->left;
}

uint8_t *collect_reserve(struct collect_work *w, uint32_t len)
{
	uint32_t need = (uint32_t)sizeof(struct collect_record) + len;
	struct collect_pen *p = &w->pen;

	if (need > p->chunk || p->is_full != 0)
		return NULL;
	if ((need > p->left && !go_on(w, need)) || !has_room(w, need)) {
		p->is_full = w->plan->geometry.policy == COLLECT_FILL;
		w->ring->is_full = p->is_full;
		return NULL;
	}
	return w->bytes + p->at + sizeof(struct collect_record);
}

void collect_head(struct collect_work *w, struct collect_record *r,
		  enum collect_record_kind kind, uint32_t len)
{
	const struct collect_ids ids = collect_ids(w->area);

	r->size = (uint32_t)sizeof *r + len;
	r->kind = kind;
	r->site = w->site->number;
	r->clause = w->clause;
	r->time_ns = collect_now(w);
	r->tid = ids.tid;
	r->pid = ids.pid;
}

void collect_publish(struct collect_work *w, uint32_t size)
{
	uint32_t half = w->pen.size / 2,
		 much = half < COLLECT_BELL ? half : COLLECT_BELL;

	publish(w, size);
	if (w->plan->geometry.policy == COLLECT_SWITCH && used(w) > much)
		ring_bell(w);
}

void collect_put(struct collect_work *w, enum collect_record_kind kind,
		 uint32_t len)
{
	collect_head(w, record_at(w, w->pen.at), kind, len);
	collect_publish(w, (uint32_t)sizeof(struct collect_record) + len);
}

bool collect_put_copy(struct collect_work *w, const void *record, uint32_t size)
{
	uint32_t head = (uint32_t)sizeof(struct collect_record);
	uint8_t *to = collect_reserve(w, size - head);

	if (to == NULL)
		return false;
	__builtin_memcpy(to - head, record, size);
	record_at(w, w->pen.at)->size = size;
	publish(w, size);
	return true;
}
