/* travel/maps.c - what was mapped where, and when. */
#include "travel/maps.h"

#include "record/lineage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct event {
	struct map map; /* its path is owned */
	int is_unmap;
	uint32_t thread; /* 0: from the beginning */
	uint64_t count;
};

struct maps {
	struct event *events; /* owned, as they came */
	unsigned n, room;
	struct map *now; /* owned */
	unsigned n_now, room_now;
	struct recording *r; /* borrowed */
};

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

/* -- Loading -- */

static int add(struct maps *m, const struct event *e, struct hark_err *err)
{
	if (m->n == m->room) {
		unsigned room = m->room == 0 ? 64 : 2 * m->room;
		struct event *more =
		    reallocarray(m->events, room, sizeof *more);

		if (more == NULL)
			return out_of_memory(err);
		m->events = more;
		m->room = room;
	}
	m->events[m->n++] = *e;
	return 0;
}

static uint64_t page_up(uint64_t v)
{
	return (v + 4095) & ~4095ull;
}

/* What a forked process has from others was there when it began. */
static void begin_anew(struct maps *m)
{
	for (unsigned i = 0; i < m->n; i++)
		m->events[i].thread = 0;
}

static int see(void *ctx, const struct record_event *e, struct hark_err *err)
{
	struct maps *m = ctx;
	struct event now = {0};
	char *path;

	if (e->type == WIRE_REC_PROCESS)
		begin_anew(m);
	if (e->type == WIRE_REC_UNMAP) {
		now.is_unmap = 1;
		now.thread = e->unmap.thread;
		now.count = e->unmap.count;
		now.map.start = e->unmap.start;
		now.map.end = page_up(e->unmap.end);
		return add(m, &now, err);
	}
	if (e->type != WIRE_REC_MAP)
		return 0;
	path = strndup((const char *)e->bytes, e->len);
	if (path == NULL)
		return out_of_memory(err);
	now.thread = e->map.thread;
	now.count = e->map.count;
	now.map = (struct map){e->map.start,
			       page_up(e->map.end),
			       e->map.offset,
			       e->map.prot,
			       e->map.flags,
			       e->map.dev,
			       e->map.ino,
			       path,
			       0};
	if (add(m, &now, err) < 0) {
		free(path);
		return -1;
	}
	/* The list owns it. */
	return 0; /* NOLINT(clang-analyzer-unix.Malloc) */
}

int maps_load(struct recording *r, uint32_t process, struct maps **out,
	      struct hark_err *err)
{
	struct maps *m = calloc(1, sizeof *m);

	if (m == NULL)
		return out_of_memory(err);
	m->r = r;
	if (lineage_walk(r, process, see, m, err) < 0) {
		maps_free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void maps_free(struct maps *m)
{
	if (m == NULL)
		return;
	for (unsigned i = 0; i < m->n; i++)
		free((char *)m->events[i].map.path);
	free(m->events);
	free(m->now);
	free(m);
}

/* -- A moment -- */

static int room_for_two(struct maps *m, struct hark_err *err)
{
	unsigned room = m->room_now == 0 ? 64 : 2 * m->room_now;
	struct map *more;

	if (m->n_now + 2 <= m->room_now)
		return 0;
	more = reallocarray(m->now, room, sizeof *more);
	if (more == NULL)
		return out_of_memory(err);
	m->now = more;
	m->room_now = room;
	return 0;
}

static void insert(struct maps *m, unsigned at, struct map map)
{
	memmove(&m->now[at + 1], &m->now[at], (m->n_now - at) * sizeof *m->now);
	m->now[at] = map;
	m->n_now++;
}

/* Nothing is mapped in [start, end) from here on. Where it would be mapped. */
static unsigned clear(struct maps *m, uint64_t start, uint64_t end)
{
	unsigned i = 0;

	while (i < m->n_now && m->now[i].end <= start)
		i++;
	if (i < m->n_now && m->now[i].start < start) {
		struct map rest = m->now[i];

		m->now[i].end = start;
		if (rest.end > end) {
			rest.offset += end - rest.start;
			rest.start = end;
			insert(m, i + 1, rest);
		}
		i++;
	}
	while (i < m->n_now && m->now[i].end <= end) {
		m->n_now--;
		memmove(&m->now[i], &m->now[i + 1],
			(m->n_now - i) * sizeof *m->now);
	}
	if (i < m->n_now && m->now[i].start < end) {
		m->now[i].offset += end - m->now[i].start;
		m->now[i].start = end;
	}
	return i;
}

int maps_at(struct maps *m, maps_is_past *is_past, void *ctx,
	    const struct map **out, unsigned *n, struct hark_err *err)
{
	m->n_now = 0;
	for (unsigned i = 0; i < m->n; i++) {
		const struct event *e = &m->events[i];
		unsigned at;

		if (e->thread != 0 && !is_past(ctx, e->thread, e->count))
			continue;
		if (e->map.start >= e->map.end)
			continue;
		if (room_for_two(m, err) < 0)
			return -1;
		at = clear(m, e->map.start, e->map.end);
		if (!e->is_unmap) {
			insert(m, at, e->map);
			m->now[at].is_first = e->thread == 0;
		}
	}
	*out = m->now;
	*n = m->n_now;
	return 0;
}
