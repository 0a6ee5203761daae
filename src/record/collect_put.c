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

struct pen put_open(struct engine *e, uint32_t tid)
{
	struct wire_recording *r = e->tapes->recording;
	const struct wire_geometry *g = &e->channel->geometry;

	for (uint32_t i = 0; i < g->max_threads; i++) {
		uint32_t free = WIRE_RING_FREE;
		struct ring_view view = channel_ring(g, e->channel, i);

		raise_n_rings(r, i + 1);
		if (!__atomic_compare_exchange_n(
			&view.ring->state, &free, WIRE_RING_OPEN, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		ring_open(&view, tid);
		return (struct pen){.view = view};
	}
	__atomic_fetch_add(&r->left_out, 1, __ATOMIC_RELAXED);
	return (struct pen){0};
}

void put_close(struct engine *e, struct pen *p)
{
	if (!p->view.ring)
		return;
	ring_close(&p->view);
	ring_bell(e);
	*p = (struct pen){0};
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

uint8_t *put_reserve(struct engine *e, struct pen *p, uint32_t len)
{
	const struct ring_view *ring = &p->view;
	uint32_t head;

	if (!ring->ring || e->tapes->over)
		return 0;
	head = ring->ring->head;
	for (;;) {
		uint8_t *at = ring_reserve(ring, len);

		if (at) {
			p->chunk = ring_chunk(ring);
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

uint8_t *put_bytes(uint8_t *to, const void *from, uint32_t len)
{
	memcpy(to, from, len);
	return to + len;
}

uint64_t put_clock_ns(int clock)
{
	uint64_t ts[2] = {0, 0};

	sys_call3(SYS_NR_CLOCK_GETTIME, (uint64_t)clock, (uint64_t)ts, 0);
	return ts[0] * 1000000000 + ts[1];
}

uint64_t put_now_ns(void)
{
	enum { CLOCK_REALTIME = 0 };

	return put_clock_ns(CLOCK_REALTIME);
}
