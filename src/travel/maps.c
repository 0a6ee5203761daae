/* travel/maps.c - what was mapped where, and when.
 *
 * Runtimes reserve gigabytes of address space without access (PROT_NONE) and
 * make parts of it accessible later. So mprotect splits mappings here as it
 * does in the kernel, and each part knows whether it ever could be accessed:
 * what could not was never touched. */
#include "travel/maps.h"

#include "record/lineage.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum kind {
	MAPPED,
	UNMAPPED,
	EMPTIED, /* what it held is gone */
	MOVED,	 /* by mremap */
	PROTECTED,
};

/* Recordings before this version have no PROT records. */
enum { VERSION_OF_PROT = 3 };

struct event {
	struct map map; /* its path is owned */
	enum kind kind;
	uint64_t from, from_end; /* MOVED: where it was */
	uint32_t thread;	 /* 0: from the beginning */
	uint32_t pc;
	uint64_t count;
	bool is_partial; /* PROTECTED: perhaps not all of it, or nothing */
};

struct maps {
	struct event *events; /* owned, as they came */
	unsigned n, room;
	struct map *now; /* owned */
	unsigned n_now, room_now;
	uint32_t prot_before; /* what memory may have been, if not recorded */
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

/* The end of what was last mapped there, at once. */
static uint64_t end_of_whole(const struct maps *m, uint64_t start)
{
	for (unsigned i = m->n; i-- > 0;)
		if (m->events[i].kind == MAPPED &&
		    m->events[i].map.start == start)
			return m->events[i].map.end;
	return start;
}

static int see_unmap(struct maps *m, const struct record_event *e,
		     struct hark_err *err)
{
	struct event now = {.kind =
				e->info & WIRE_UNMAP_EMPTY ? EMPTIED : UNMAPPED,
			    .thread = e->unmap.thread,
			    .pc = e->unmap.pc,
			    .count = e->unmap.count};

	/* A heap may end within a page, which stays. */
	now.map.start = page_up(e->unmap.start);
	now.map.end = e->info & WIRE_UNMAP_WHOLE
			  ? end_of_whole(m, e->unmap.start)
			  : page_up(e->unmap.end);
	return add(m, &now, err);
}

static int see_prot(struct maps *m, const struct record_event *e,
		    struct hark_err *err)
{
	const struct event now = {
	    .kind = PROTECTED,
	    .map = {.start = page_up(e->prot.start),
		    .end = page_up(e->prot.end),
		    .prot = e->prot.prot},
	    .thread = e->prot.thread,
	    .pc = e->prot.pc,
	    .count = e->prot.count,
	    .is_partial = (e->info & WIRE_PROT_PART) != 0,
	};

	return add(m, &now, err);
}

/* mremap is told as two: what it unmapped, and memory without flags. */
static void see_move(struct maps *m, struct event *now)
{
	enum { NEAR = 64 }; /* others may have come between */

	if (now->thread == 0 || now->map.flags != 0 || now->map.path[0] != '\0')
		return;
	for (unsigned i = m->n; i-- > 0 && m->n - i <= NEAR;) {
		struct event *e = &m->events[i];

		if (e->kind != UNMAPPED || e->thread != now->thread ||
		    e->count != now->count || e->pc != now->pc)
			continue;
		now->kind = MOVED;
		now->from = e->map.start;
		now->from_end = e->map.end;
		e->map.end = e->map.start;
		return;
	}
}

int maps_add(struct maps *m, const struct record_event *e, struct hark_err *err)
{
	struct event now = {0};
	char *path;

	if (e->type == WIRE_REC_PROCESS)
		begin_anew(m);
	if (e->type == WIRE_REC_UNMAP)
		return see_unmap(m, e, err);
	if (e->type == WIRE_REC_PROT)
		return see_prot(m, e, err);
	if (e->type != WIRE_REC_MAP)
		return 0;
	path = strndup((const char *)e->bytes, e->len);
	if (path == NULL)
		return out_of_memory(err);
	now.thread = e->map.thread;
	now.pc = e->map.pc;
	now.count = e->map.count;
	now.map = (struct map){
	    .start = page_up(e->map.start),
	    .end = page_up(e->map.end),
	    .offset = e->map.offset,
	    .prot = e->map.prot,
	    .prot_ever = e->map.prot | m->prot_before,
	    .flags = e->map.flags,
	    .dev = e->map.dev,
	    .ino = e->map.ino,
	    .path = path,
	};
	see_move(m, &now);
	if (add(m, &now, err) < 0) {
		free(path);
		return -1;
	}
	/* The list owns it. */
	return 0; /* NOLINT(clang-analyzer-unix.Malloc) */
}

struct maps *maps_new(unsigned version)
{
	struct maps *m = calloc(1, sizeof *m);

	if (m != NULL && version < VERSION_OF_PROT)
		m->prot_before = PROT_READ | PROT_WRITE | PROT_EXEC;
	return m;
}

static int see(void *ctx, const struct record_event *e, struct hark_err *err)
{
	return maps_add(ctx, e, err);
}

int maps_load(struct recording *r, uint32_t process, struct maps **out,
	      struct hark_err *err)
{
	struct maps *m = maps_new(recording_version(r));

	if (m == NULL)
		return out_of_memory(err);
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

static const struct map *find(const struct maps *m, uint64_t address)
{
	for (unsigned i = 0; i < m->n_now; i++)
		if (m->now[i].start <= address && address < m->now[i].end)
			return &m->now[i];
	return NULL;
}

static int put(struct maps *m, const struct map *map, struct hark_err *err)
{
	if (map->start >= map->end)
		return 0;
	if (room_for_two(m, err) < 0)
		return -1;
	insert(m, clear(m, map->start, map->end), *map);
	return 0;
}

static int take_away(struct maps *m, uint64_t start, uint64_t end,
		     struct hark_err *err)
{
	if (start >= end)
		return 0;
	if (room_for_two(m, err) < 0)
		return -1;
	clear(m, start, end);
	return 0;
}

/* Of what a process began with a part is not what it was. */
static int empty(struct maps *m, uint64_t start, uint64_t end,
		 struct hark_err *err)
{
	for (unsigned i = 0; i < m->n_now; i++) {
		struct map part = m->now[i];

		if (!part.is_first || part.end <= start || part.start >= end)
			continue;
		if (part.start < start) {
			part.offset += start - part.start;
			part.start = start;
		}
		if (part.end > end)
			part.end = end;
		part.is_first = 0;
		if (put(m, &part, err) < 0)
			return -1;
	}
	return 0;
}

/* Those parts of mappings may be accessed otherwise. */
static int protect(struct maps *m, const struct event *e, struct hark_err *err)
{
	for (unsigned i = 0; i < m->n_now; i++) {
		struct map part = m->now[i];

		if (part.end <= e->map.start || part.start >= e->map.end)
			continue;
		if (part.start < e->map.start) {
			part.offset += e->map.start - part.start;
			part.start = e->map.start;
		}
		if (part.end > e->map.end)
			part.end = e->map.end;
		part.prot_ever |= e->map.prot;
		if (!e->is_partial)
			part.prot = e->map.prot;
		if (put(m, &part, err) < 0)
			return -1;
	}
	return 0;
}

/* What has grown where it was goes on there; else all of it is elsewhere. */
static int move(struct maps *m, const struct event *e, struct hark_err *err)
{
	const struct map *old = find(m, e->from);
	struct map now = old != NULL ? *old : e->map;

	now.offset = old == NULL ? 0 : old->offset + (e->from - old->start);
	now.start = e->map.start;
	now.end = e->map.end;
	now.is_first = e->thread == 0;
	if (e->from == e->map.start && old != NULL) {
		now.start = e->from_end;
		now.offset += e->from_end - e->from;
	}
	return take_away(m, e->from == e->map.start ? e->map.end : e->from,
			 e->from_end, err) < 0
		   ? -1
		   : put(m, &now, err);
}

static int happen(struct maps *m, const struct event *e, struct hark_err *err)
{
	struct map map = e->map;

	switch (e->kind) {
	case UNMAPPED:
		return take_away(m, map.start, map.end, err);
	case EMPTIED:
		return e->thread == 0 ? 0 : empty(m, map.start, map.end, err);
	case MOVED:
		return move(m, e, err);
	case PROTECTED:
		return protect(m, e, err);
	default:
		map.is_first = e->thread == 0;
		return put(m, &map, err);
	}
}

int maps_at(struct maps *m, maps_is_past *is_past, void *ctx,
	    const struct map **out, unsigned *n, struct hark_err *err)
{
	m->n_now = 0;
	for (unsigned i = 0; i < m->n; i++) {
		const struct event *e = &m->events[i];

		if (e->thread != 0 && !is_past(ctx, e->thread, e->count, e->pc))
			continue;
		if (happen(m, e, err) < 0)
			return -1;
	}
	*out = m->now;
	*n = m->n_now;
	return 0;
}

/* -- Changes -- */

static int tell(const struct event *e, uint64_t start, uint64_t end,
		maps_each_change *each, void *ctx, struct hark_err *err)
{
	const struct maps_change c = {start, end, e->count, e->thread, e->pc};

	return start < end ? each(ctx, &c, err) : 0;
}

int maps_has_alias(const struct maps *m, uint64_t address, uint64_t len)
{
	const uint64_t ring = 1ull << 32;

	for (unsigned i = 0; i < m->n; i++) {
		const struct event *e = &m->events[i];
		uint64_t start = e->map.start, size = e->map.end - start;
		uint32_t ahead = (uint32_t)(address - start);
		uint32_t before = (uint32_t)(start - address);

		if (e->kind == UNMAPPED || e->kind == EMPTIED ||
		    (e->map.prot | e->map.prot_ever) == 0)
			continue;
		if (len >= ring || size >= ring - len ||
		    (ahead < size && start + ahead != address) ||
		    (before < len && address + before != start))
			return 1;
	}
	return 0;
}

/* Is all of the range mapped now in a way that it could never be accessed? (If
 * it is not all mapped, it may be the main stack, which grows by itself.) */
static bool is_never_accessible(const struct maps *m, uint64_t start,
				uint64_t end)
{
	for (unsigned i = 0; i < m->n_now && start < end; i++) {
		const struct map *now = &m->now[i];

		if (now->end <= start)
			continue;
		if (now->start > start || now->prot_ever != 0)
			return false;
		start = now->end;
	}
	return start >= end;
}

static bool has_accessible(const struct maps *m, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < m->n_now; i++)
		if (m->now[i].start < end && m->now[i].end > start &&
		    m->now[i].prot_ever != 0)
			return true;
	return false;
}

/* Did the kernel look for free address space? */
static bool is_placed_by_kernel(const struct event *e)
{
	return e->kind == MAPPED && ((e->map.flags & MAP_FIXED) == 0 ||
				     (e->map.flags & MAP_FIXED_NOREPLACE) != 0);
}

/* Was there nothing in the range that could have been touched? m->now: before
 * the event. (Records of two threads that map and unmap the same range at the
 * same time may stand in either order: then one more change is told.) */
static bool held_nothing(const struct maps *m, const struct event *e)
{
	const uint64_t start = e->map.start, end = e->map.end;

	if (e->kind == MOVED)
		return false;
	return is_never_accessible(m, start, end) ||
	       (is_placed_by_kernel(e) && !has_accessible(m, start, end));
}

static int tell_changes(const struct maps *m, const struct event *e,
			maps_each_change *each, void *ctx, struct hark_err *err)
{
	uint64_t start = e->map.start, end = e->map.end;
	int rc = 0;

	if (e->thread == 0 || e->kind == PROTECTED || held_nothing(m, e))
		return 0;
	if (e->kind == MOVED && e->from == start) {
		/* What is in both stays. */
		start = end < e->from_end ? end : e->from_end;
		end = end < e->from_end ? e->from_end : end;
	} else if (e->kind == MOVED) {
		rc = tell(e, e->from, e->from_end, each, ctx, err);
	}
	return rc < 0 ? -1 : tell(e, start, end, each, ctx, err);
}

int maps_changes(struct maps *m, maps_each_change *each, void *ctx,
		 struct hark_err *err)
{
	m->n_now = 0;
	for (unsigned i = 0; i < m->n; i++)
		if (tell_changes(m, &m->events[i], each, ctx, err) < 0 ||
		    happen(m, &m->events[i], err) < 0)
			return -1;
	return 0;
}
