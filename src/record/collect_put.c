/* record/collect_put.c - rings, records, positions. */
#include "record/collect_priv.h"

#include "inside/mem.h"
#include "inside/sys.h"

enum { OWNER_DIED = 0x40000000, TID_MASK = 0x3fffffff };

/* -- Rings ----------------------------------------------------------------- */

static int hark_lives(const struct engine *e)
{
	uint32_t lock = __atomic_load_n(&e->run->hark_lock, __ATOMIC_ACQUIRE);

	return !(lock & OWNER_DIED) && (lock & TID_MASK) != 0;
}

static int is_wanted(const struct engine *e)
{
	return __atomic_load_n(&e->tapes->recording->wanted,
			       __ATOMIC_ACQUIRE) != 0;
}

/* hark sleeps on the bell; whoever has something for it wakes it. */
static void ring_bell(const struct engine *e)
{
	struct wire_recording *r = e->tapes->recording;

	__atomic_fetch_add(&r->bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&r->asleep, 0, __ATOMIC_SEQ_CST))
		sys_call3(SYS_NR_FUTEX, (uint64_t)&r->bell, SYS_FUTEX_WAKE, 1);
}

static void raise_n_rings(struct wire_recording *r, uint32_t n)
{
	uint32_t had = __atomic_load_n(&r->n_rings, __ATOMIC_RELAXED);

	while (had < n &&
	       !__atomic_compare_exchange_n(&r->n_rings, &had, n, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

struct ring_view put_open(struct engine *e, uint32_t tid)
{
	struct wire_recording *r = e->tapes->recording;
	const struct wire_geometry *g = &e->channel->geometry;
	struct ring_view view = {0};

	for (uint32_t i = 0; i < g->max_threads; i++) {
		uint32_t free = WIRE_RING_FREE;

		raise_n_rings(r, i + 1);
		view = channel_ring(g, e->channel, i);
		if (!__atomic_compare_exchange_n(
			&view.ring->state, &free, WIRE_RING_OPEN, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		ring_open(&view, tid);
		return view;
	}
	__atomic_fetch_add(&r->left_out, 1, __ATOMIC_RELAXED);
	view.ring = 0;
	return view;
}

void put_close(struct engine *e, const struct ring_view *ring)
{
	if (!ring->ring)
		return;
	ring_close(ring);
	ring_bell(e);
}

/* The ring is full: until hark has taken something out of it. */
static void wait_for_room(struct engine *e, const struct ring_view *ring)
{
	const uint64_t limit[2] = {0, 50000000};
	uint32_t tail = __atomic_load_n(&ring->ring->tail, __ATOMIC_ACQUIRE);

	__atomic_store_n(&ring->ring->waiting, 1, __ATOMIC_SEQ_CST);
	ring_bell(e);
	sys_call(SYS_NR_FUTEX, (uint64_t)&ring->ring->tail, SYS_FUTEX_WAIT,
		 tail, (uint64_t)limit, 0, 0);
	__atomic_store_n(&ring->ring->waiting, 0, __ATOMIC_SEQ_CST);
}

static uint8_t *reserve(struct engine *e, const struct ring_view *ring,
			uint32_t len)
{
	uint32_t head = ring->ring->head;

	for (;;) {
		uint8_t *at = ring_reserve(ring, len);

		if (at) {
			if (ring->ring->head != head)
				ring_bell(e);
			return at;
		}
		if (!hark_lives(e) || !is_wanted(e)) {
			e->tapes->over = 1;
			return 0;
		}
		wait_for_room(e, ring);
	}
}

/* -- Records --------------------------------------------------------------- */

uint8_t *put_begin(struct engine *e, const struct ring_view *ring,
		   enum wire_record_type type, unsigned info, uint32_t len)
{
	struct wire_rec head = {.type = (uint8_t)type, .info = (uint8_t)info};
	uint8_t *at;

	if (!ring->ring || e->tapes->over)
		return 0;
	at = reserve(e, ring, (uint32_t)sizeof head + len);
	if (!at)
		return 0;
	memcpy(at, &head, sizeof head);
	return at + sizeof head;
}

void put_end(const struct ring_view *ring, const uint8_t *end)
{
	struct wire_chunk *c =
	    (void *)(ring->chunks +
		     (size_t)(ring->ring->head % ring->n) * ring->chunk_size);
	uint8_t *start = (uint8_t *)(c + 1) + c->committed;
	uint32_t len = (uint32_t)(end - start);
	uint16_t body = (uint16_t)(len - sizeof(struct wire_rec));

	memcpy(start + offsetof(struct wire_rec, len), &body, sizeof body);
	ring_commit(ring, len);
}

uint8_t *put_varint(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

uint8_t *put_zigzag(uint8_t *to, int64_t value)
{
	return put_varint(to, (uint64_t)value << 1 ^ -(uint64_t)(value < 0));
}

uint8_t *put_bytes(uint8_t *to, const void *from, uint32_t len)
{
	memcpy(to, from, len);
	return to + len;
}

uint8_t *put_position(struct tape *t, uint8_t *to, uint64_t count, uint64_t pc)
{
	to = put_varint(to, count - t->last_count);
	to = put_zigzag(to, (int64_t)(pc - t->last_pc));
	t->last_count = count;
	t->last_pc = pc;
	return to;
}

uint64_t put_now_ns(void)
{
	enum { CLOCK_REALTIME = 0 };
	uint64_t ts[2] = {0, 0};

	sys_call3(SYS_NR_CLOCK_GETTIME, CLOCK_REALTIME, (uint64_t)ts, 0);
	return ts[0] * 1000000000 + ts[1];
}
