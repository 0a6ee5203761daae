/* tests/unit/record_play.c - a program that is recorded, played. */
#include "record_play.h"

#include "wire/run.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PC = 0x401000, XSTATE = 8 + 512 };

static struct wire_recording *recording_of(const struct play *p)
{
	return wire_recording_of(p->channel);
}

void play_bell(const struct play *p)
{
	struct wire_recording *w = recording_of(p);

	__atomic_add_fetch(&w->bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&w->asleep, 0, __ATOMIC_SEQ_CST) != 0)
		syscall(SYS_futex, &w->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void raise(uint32_t *at, uint32_t to)
{
	uint32_t now = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	while (now < to &&
	       !__atomic_compare_exchange_n(at, &now, to, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		continue;
}

int play_take(const struct play *p, struct play_ring *out)
{
	for (uint32_t i = 0; i < p->geometry->max_threads; i++) {
		struct ring_view v = channel_ring(p->geometry, p->channel, i);
		uint32_t is_free = WIRE_RING_FREE;

		raise(&recording_of(p)->n_rings, i + 1);
		if (!__atomic_compare_exchange_n(
			&v.ring->state, &is_free, WIRE_RING_OPEN, 0,
			__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		ring_open(&v, 1);
		*out = (struct play_ring){.play = p, .view = v};
		return 0;
	}
	__atomic_add_fetch(&recording_of(p)->left_out, 1, __ATOMIC_SEQ_CST);
	return -1;
}

static int is_over(const struct play *p)
{
	const struct wire_recording *w = recording_of(p);

	return __atomic_load_n(&w->wanted, __ATOMIC_ACQUIRE) == 0;
}

static void *reserve(struct play_ring *r, uint32_t len)
{
	const struct timespec limit = {.tv_nsec = 50000000};
	struct wire_ring *ring = r->view.ring;
	uint32_t head = ring->head;
	void *at;

	while ((at = ring_reserve(&r->view, len)) == NULL) {
		uint32_t tail;

		__atomic_store_n(&ring->waiting, 1, __ATOMIC_SEQ_CST);
		tail = __atomic_load_n(&ring->tail, __ATOMIC_SEQ_CST);
		if (is_over(r->play))
			return NULL;
		if (ring->head + 1 - tail < r->view.n)
			continue;
		play_bell(r->play);
		syscall(SYS_futex, &ring->tail, FUTEX_WAIT, tail, &limit, NULL,
			0);
	}
	if (ring->head != head)
		play_bell(r->play);
	return at;
}

int play_put(struct play_ring *r, unsigned type, const void *bytes,
	     uint32_t len)
{
	struct wire_rec rec = {.type = (uint8_t)type, .len = (uint16_t)len};
	uint8_t *at = reserve(r, (uint32_t)sizeof rec + len);

	if (at == NULL)
		return -1;
	memcpy(at, &rec, sizeof rec);
	memcpy(at + sizeof rec, bytes, len);
	ring_commit(&r->view, (uint32_t)sizeof rec + len);
	return 0;
}

int play_process(struct play_ring *r, uint32_t process, uint32_t parent,
		 uint32_t pid)
{
	struct wire_rec_process p = {
	    .process = process, .parent = parent, .pid = pid};

	return play_put(r, WIRE_REC_PROCESS, &p, sizeof p);
}

int play_start(struct play_ring *r, uint32_t process, uint32_t thread,
	       uint32_t pid)
{
	struct wire_rec_start s = {
	    .process = process, .thread = thread, .pid = pid, .tid = pid};

	return play_put(r, WIRE_REC_START, &s, sizeof s);
}

int play_key(struct play_ring *r)
{
	uint8_t bytes[sizeof(struct wire_rec_key) + XSTATE] = {0};
	struct wire_rec_key k = {.count = r->count, .state = {.pc = PC}};

	memcpy(bytes, &k, sizeof k);
	return play_put(r, WIRE_REC_KEY, bytes, sizeof bytes);
}

/* A position (the count grows by one, pc stays), the index 0, the number. */
int play_data(struct play_ring *r, uint32_t len)
{
	uint8_t bytes[65000] = {0};

	if (r->key_every != 0 && r->n % r->key_every == 0 && r->n > 0 &&
	    play_key(r) < 0)
		return -1;
	bytes[0] = 1; /* count - last: 1 */
	bytes[1] = 0; /* pc - last: 0 */
	memcpy(bytes + 6, &r->n, sizeof r->n);
	if (play_put(r, WIRE_REC_BYTES, bytes, len < 10 ? 10 : len) < 0)
		return -1;
	r->count++;
	r->n++;
	return 0;
}

void play_close(struct play_ring *r)
{
	ring_close(&r->view);
	play_bell(r->play);
}

void play_read(struct play_reading *r, const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		struct wire_rec rec;
		uint32_t n;

		memcpy(&rec, bytes + at, sizeof rec);
		r->keys += rec.type == WIRE_REC_KEY;
		r->starts += rec.type == WIRE_REC_START;
		if (rec.type == WIRE_REC_BYTES) {
			memcpy(&n, bytes + at + sizeof rec + 6, sizeof n);
			r->bad |= n != r->next;
			r->next++;
		}
		at += sizeof rec + rec.len;
	}
}
