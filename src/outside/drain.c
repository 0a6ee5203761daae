/* outside/drain.c - hark's end of a channel. */
#include "outside/drain.h"

#include "outside/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct drain {
	int fd;	    /* owned */
	void *base; /* owned mapping of size bytes */
	size_t size;
	struct wire_geometry geometry; /* hark's own, believed copy */
	struct ring_reader *readers;   /* owned: one a ring, as far as ... */
	uint8_t *seen;		       /* owned: reader is in use / damaged */
	uint32_t room;		       /* ... rings were looked at */
	uint8_t *copy;		       /* owned: one chunk */
	uint32_t bell;		       /* doorbell as last seen */
	struct drain_bounds bounds;
	uint32_t next; /* ring that the next pass begins with */
	struct drain_stats stats;
};

enum { RING_UNSEEN, RING_READING, RING_GIVEN_UP };

/* -- Life -- */

static int geometry_ok(const struct wire_geometry *g)
{
	enum { MAX = 1 << 20 };

	return g->max_threads > 0 && g->max_threads <= MAX &&
	       g->n_slots <= MAX && g->ring_chunks >= 2 &&
	       g->ring_chunks <= MAX && g->chunk_size >= 64 &&
	       g->chunk_size % 8 == 0 && g->chunk_size <= 64u * MAX;
}

static int map_channel(struct drain *d, uint32_t pid, struct hark_err *err)
{
	struct wire_control control;
	channel_layout(&d->geometry, &control);
	control.pid = pid;
	d->size = control.size;
	if (remote_fix_size(d->fd, d->size) < 0)
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot make a channel of %zu bytes: %s%s",
			       d->size, strerror(errno),
			       errno == EFBIG ? " (are hark's files limited? "
						"ulimit -f)"
					      : "");
	d->base =
	    mmap(NULL, d->size, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
	if (d->base == MAP_FAILED) {
		d->base = NULL;
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot map a channel of %zu bytes: %s", d->size,
			       strerror(errno));
	}
	memcpy(d->base, &control, sizeof control);
	return 0;
}

int drain_open(int fd, const struct wire_geometry *g, uint32_t pid,
	       struct drain **out, struct hark_err *err)
{
	struct drain *d = calloc(1, sizeof *d);
	int rc = -1;

	if (d == NULL) {
		close(fd);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	d->fd = fd;
	d->geometry = *g;
	if (!geometry_ok(g)) {
		err_set(err, HARK_EBUG, 0, "a channel cannot have this shape");
		goto out;
	}
	d->copy = malloc(g->chunk_size);
	if (d->copy == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		goto out;
	}
	if (map_channel(d, pid, err) < 0)
		goto out;
	*out = d;
	d = NULL; /* handed over */
	rc = 0;
out:
	drain_close(d);
	return rc;
}

void drain_close(struct drain *d)
{
	if (d == NULL)
		return;
	if (d->base != NULL)
		munmap(d->base, d->size);
	free(d->readers);
	free(d->seen);
	free(d->copy);
	close(d->fd);
	free(d);
}

int drain_descriptor(const struct drain *d)
{
	return fcntl(d->fd, F_DUPFD_CLOEXEC, 0);
}

void *drain_base(const struct drain *d)
{
	return d->base;
}

const struct wire_geometry *drain_geometry(const struct drain *d)
{
	return &d->geometry;
}

void drain_bound(struct drain *d, const struct drain_bounds *b)
{
	d->bounds = *b;
}

void drain_hide(struct drain *d)
{
	if (d->base != NULL)
		munmap(d->base, d->size);
	d->base = NULL;
}

/* Readers point into the mapping. */
static void move_readers(struct drain *d)
{
	for (uint32_t i = 0; i < d->room; i++)
		if (d->seen[i] == RING_READING)
			d->readers[i].view =
			    channel_ring(&d->geometry, d->base, i);
}

int drain_show(struct drain *d, int own)
{
	void *base =
	    mmap(NULL, d->size, PROT_READ | PROT_WRITE,
		 own ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED, d->fd, 0);

	if (base == MAP_FAILED)
		return -1;
	d->base = base;
	move_readers(d);
	return 0;
}

struct drain_stats drain_stats(const struct drain *d)
{
	return d->stats;
}

/* -- Draining -- */

static void wake_producer(struct wire_ring *ring)
{
	syscall(SYS_futex, &ring->tail, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void end_ring(struct drain *d, uint32_t number, void *ctx, int damaged)
{
	if (d->bounds.end != NULL)
		d->bounds.end(ctx, number, damaged);
}

static int is_enough(const struct drain *d, int64_t moved)
{
	return d->bounds.bytes != 0 && (uint64_t)moved >= d->bounds.bytes;
}

/* What one ring holds now, or a good deal of it; how many bytes, or -1. */
static int64_t drain_ring(struct drain *d, uint32_t number, drain_sink *sink,
			  void *ctx, struct hark_err *err)
{
	struct ring_reader *r = &d->readers[number];
	struct wire_ring *ring = r->view.ring;
	uint32_t tid = __atomic_load_n(&ring->tid, __ATOMIC_RELAXED);
	int64_t moved = 0;

	for (;;) {
		const uint8_t *bytes;
		enum ring_status status;
		uint32_t len;

		if (ring_release(r))
			wake_producer(ring);
		status = ring_peek(r, &bytes, &len);
		if (status == RING_DAMAGED) {
			d->seen[number] = RING_GIVEN_UP;
			d->stats.damaged++;
			end_ring(d, number, ctx, 1);
			return moved;
		}
		if (status == RING_EMPTY || is_enough(d, moved))
			return moved;
		memcpy(d->copy, bytes, len);
		if (sink(ctx, number, tid, d->copy, len, err) < 0)
			return -1;
		ring_take(r, len);
		moved += len;
	}
}

static int is_empty(const struct drain *d, uint32_t number)
{
	const uint8_t *bytes;
	uint32_t len;

	return ring_peek(&d->readers[number], &bytes, &len) == RING_EMPTY;
}

/* Closed and drained. Whoever takes it next finds it empty, even before it has
 * said so itself. */
static void free_ring(struct drain *d, const struct ring_view *v)
{
	struct wire_chunk *first = (void *)v->chunks;

	d->stats.lost += __atomic_load_n(&v->ring->lost, __ATOMIC_RELAXED);
	v->ring->head = v->ring->tail = 0;
	*first = (struct wire_chunk){0};
	__atomic_store_n(&v->ring->state, WIRE_RING_FREE, __ATOMIC_RELEASE);
}

/* Most channels have many rings and use a few. */
static int fit(struct drain *d, uint32_t number, struct hark_err *err)
{
	uint32_t room = 2 * number + 16;
	struct ring_reader *readers;
	uint8_t *seen;

	if (number < d->room)
		return 0;
	readers = realloc(d->readers, room * sizeof *readers);
	if (readers != NULL)
		d->readers = readers;
	seen = readers == NULL ? NULL : realloc(d->seen, room);
	if (seen == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	d->seen = seen;
	memset(readers + d->room, 0, (room - d->room) * sizeof *readers);
	memset(seen + d->room, RING_UNSEEN, room - d->room);
	d->room = room;
	return 0;
}

static int64_t visit_ring(struct drain *d, uint32_t number, drain_sink *sink,
			  void *ctx, struct hark_err *err)
{
	struct ring_view v = channel_ring(&d->geometry, d->base, number);
	uint32_t state = __atomic_load_n(&v.ring->state, __ATOMIC_ACQUIRE);
	int64_t moved;

	if (fit(d, number, err) < 0)
		return -1;
	if (state == WIRE_RING_FREE || d->seen[number] == RING_GIVEN_UP)
		return 0;
	if (d->seen[number] == RING_UNSEEN) {
		ring_reader_init(&d->readers[number], &v);
		d->seen[number] = RING_READING;
	}
	moved = drain_ring(d, number, sink, ctx, err);
	/* state was read before the pass: closed then, so nothing follows. */
	if (moved >= 0 && state == WIRE_RING_CLOSED &&
	    d->seen[number] == RING_READING && is_empty(d, number)) {
		d->seen[number] = RING_UNSEEN;
		end_ring(d, number, ctx, 0);
		free_ring(d, &v);
	}
	return moved;
}

int64_t drain_pass(struct drain *d, drain_sink *sink, void *ctx,
		   struct hark_err *err)
{
	struct wire_control *c = d->base;
	uint32_t n = d->geometry.max_threads;
	int64_t total = 0;

	d->bell = __atomic_load_n(&c->doorbell, __ATOMIC_ACQUIRE);
	if (d->bounds.rings != 0 && d->bounds.rings < n)
		n = d->bounds.rings;
	for (uint32_t i = 0; i < n && !is_enough(d, total); i++) {
		int64_t moved;

		d->next = d->next < n ? d->next : 0;
		moved = visit_ring(d, d->next++, sink, ctx, err);
		if (moved < 0)
			return -1;
		total += moved;
	}
	d->stats.bytes += (uint64_t)total;
	return total;
}

int64_t drain_one(struct drain *d, uint32_t ring, drain_sink *sink, void *ctx,
		  struct hark_err *err)
{
	uint64_t bytes = d->bounds.bytes;
	int64_t moved;

	d->bounds.bytes = 0;
	moved = visit_ring(d, ring, sink, ctx, err);
	d->bounds.bytes = bytes;
	if (moved > 0)
		d->stats.bytes += (uint64_t)moved;
	return moved;
}

void drain_reclaim(struct drain *d, uint32_t ring, drain_sink *sink, void *ctx)
{
	struct ring_view v = channel_ring(&d->geometry, d->base, ring);
	struct hark_err err;

	if (__atomic_load_n(&v.ring->state, __ATOMIC_ACQUIRE) != WIRE_RING_OPEN)
		return;
	__atomic_store_n(&v.ring->state, WIRE_RING_CLOSED, __ATOMIC_RELEASE);
	drain_one(d, ring, sink, ctx, &err);
}

void drain_sleep(struct drain *d, int64_t limit_ns)
{
	struct wire_control *c = d->base;
	struct timespec limit = {limit_ns / 1000000000, limit_ns % 1000000000};

	/* No FUTEX_PRIVATE: two processes meet here. */
	syscall(SYS_futex, &c->doorbell, FUTEX_WAIT, d->bell, &limit, NULL, 0);
}
