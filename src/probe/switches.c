/* probe/switches.c - rings of the kernel's, one for each processor.
 *
 * An event that threads inherit writes into a ring only if it is bound to a
 * processor; so each thread that is watched has one event for each of them.
 * The ring belongs to an event of hark's own, which records nothing.
 *
 * Records of one thread may lie in several rings. One that was written up to
 * some moment is there for whoever looks after that moment, and whatever the
 * thread has done before it, on whichever processor, was written before. So
 * rings are read after the moment that is asked for, and no further than it:
 * that gives W1 once all is sorted by time. */
#include "probe/switches.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	/* Pages of records, at best: with the first page, what a user may lock
	 * by default for each processor. */
	MOST = 128,
	LEAST = 4,
	RECORD_MAX = 65536,
};

struct ring {
	int fd; /* owned */
	int cpu;
	struct perf_event_mmap_page *page; /* owned */
	size_t len;			   /* of records */
	uint8_t *copy;			   /* owned: a record that wraps */
};

struct switches {
	bool follows;
	struct ring *rings; /* owned */
	size_t n_rings;
	int *fds; /* owned */
	size_t n_fds, room;
	struct switch_event *events; /* owned: those just read */
	size_t n_events, events_room;
};

/* -- Events -- */

static int open_event(pid_t tid, int cpu, struct perf_event_attr *a)
{
	a->size = sizeof *a;
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_DUMMY;
	a->exclude_kernel = a->exclude_hv = 1;
	a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	a->sample_id_all = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, a, tid, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* As much as may be. */
static int map_ring(struct ring *r)
{
	for (size_t n = MOST; n >= LEAST; n /= 2) {
		void *at = mmap(NULL, (n + 1) * PAGE, PROT_READ | PROT_WRITE,
				MAP_SHARED, r->fd, 0);

		if (at != MAP_FAILED) {
			r->page = at;
			r->len = n * PAGE;
			return 0;
		}
		if (errno != EPERM && errno != ENOMEM)
			return -1;
	}
	return -1;
}

static void close_ring(struct ring *r)
{
	if (r->page != NULL)
		munmap(r->page, r->len + PAGE);
	if (r->fd >= 0)
		close(r->fd);
	free(r->copy);
}

static int open_ring(struct ring *r, int cpu)
{
	struct perf_event_attr a = {0};

	*r = (struct ring){.cpu = cpu, .fd = open_event(0, cpu, &a)};
	if (r->fd < 0)
		return -1;
	r->copy = malloc(RECORD_MAX);
	if (r->copy == NULL || map_ring(r) < 0) {
		int why = errno;

		close_ring(r);
		errno = why;
		return -1;
	}
	return 0;
}

int switches_new(bool follows, struct switches **out)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct switches *s = calloc(1, sizeof *s);

	if (s == NULL)
		return -1;
	s->follows = follows;
	s->rings = calloc((size_t)(n > 0 ? n : 1), sizeof *s->rings);
	for (int cpu = 0; s->rings != NULL && cpu < n; cpu++) {
		if (open_ring(&s->rings[s->n_rings], cpu) == 0)
			s->n_rings++;
		else if (errno != ENODEV) /* or else it is switched off */
			goto bad;
	}
	if (s->n_rings > 0) {
		*out = s;
		return 0;
	}
bad:
	switches_free(s);
	return -1;
}

void switches_free(struct switches *s)
{
	int why = errno;

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_fds; i++)
		close(s->fds[i]);
	for (size_t i = 0; i < s->n_rings; i++)
		close_ring(&s->rings[i]);
	free(s->events);
	free(s->fds);
	free(s->rings);
	free(s);
	errno = why;
}

static int watch_on(struct switches *s, pid_t tid, const struct ring *r)
{
	struct perf_event_attr a = {
	    .context_switch = 1,
	    .task = 1,
	    .comm = 1,
	    .comm_exec = 1,
	    .inherit = 1,
	    .inherit_thread = !s->follows,
	};
	int fd;

	if (s->n_fds == s->room) {
		size_t room = 2 * s->room + 16;
		int *more = reallocarray(s->fds, room, sizeof *more);

		if (more == NULL)
			return -1;
		s->fds = more;
		s->room = room;
	}
	fd = open_event(tid, r->cpu, &a);
	if (fd < 0)
		return -1;
	s->fds[s->n_fds++] = fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd);
}

int switches_watch(struct switches *s, pid_t tid)
{
	for (size_t i = 0; i < s->n_rings; i++)
		if (watch_on(s, tid, &s->rings[i]) < 0)
			return -1;
	return 0;
}

/* -- Records -- */

/* What all records end with. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

/* One record: where it is, whole. */
static const struct perf_event_header *record_at(const struct ring *r,
						 uint64_t tail, uint64_t head)
{
	const uint8_t *data = (const uint8_t *)r->page + PAGE;
	size_t at = (size_t)(tail % r->len), first;
	const struct perf_event_header *h;

	/* Records are whole words, so the header never wraps. */
	h = (const struct perf_event_header *)(const void *)(data + at);
	if (h->size < sizeof *h || h->size > head - tail)
		return NULL;
	if (at + h->size <= r->len)
		return h;
	first = r->len - at;
	memcpy(r->copy, data + at, first);
	memcpy(r->copy + first, data, h->size - first);
	return (const struct perf_event_header *)(const void *)r->copy;
}

static bool read_switch(const struct perf_event_header *h,
			struct switch_event *e)
{
	e->kind = (h->misc & PERF_RECORD_MISC_SWITCH_OUT) == 0 ? SWITCH_IN
		  : (h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0
		      ? SWITCH_READY
		      : SWITCH_OUT;
	return true;
}

/* pid, ppid, tid, ptid: of whom it is. */
static bool read_exit(const struct perf_event_header *h, struct switch_event *e)
{
	const uint32_t *ids = (const uint32_t *)(const void *)(h + 1);

	e->kind = SWITCH_EXIT;
	e->pid = (pid_t)ids[0];
	e->tid = (pid_t)ids[2];
	return true;
}

static bool read_comm(const struct perf_event_header *h, struct switch_event *e)
{
	e->kind = SWITCH_EXEC;
	return (h->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
}

/* id, lost */
static bool read_lost(const struct perf_event_header *h, struct switch_event *e)
{
	memcpy(&e->n, (const uint8_t *)(h + 1) + 8, sizeof e->n);
	e->kind = SWITCH_LOST;
	return true;
}

static const struct {
	bool (*read)(const struct perf_event_header *h, struct switch_event *e);
	size_t least; /* bytes between header and trailer */
} kinds[] = {
    [PERF_RECORD_LOST] = {read_lost, 16},
    [PERF_RECORD_COMM] = {read_comm, 8},
    [PERF_RECORD_EXIT] = {read_exit, 24},
    [PERF_RECORD_SWITCH] = {read_switch, 0},
};

/* False: nothing that anybody wants. */
static bool read_record(const struct perf_event_header *h,
			struct switch_event *e)
{
	struct trailer t;

	if (h->type >= sizeof kinds / sizeof kinds[0] ||
	    kinds[h->type].read == NULL ||
	    h->size < sizeof *h + kinds[h->type].least + sizeof t)
		return false;
	memcpy(&t, (const uint8_t *)h + h->size - sizeof t, sizeof t);
	*e = (struct switch_event){
	    .time_ns = t.time, .pid = (pid_t)t.pid, .tid = (pid_t)t.tid};
	return kinds[h->type].read(h, e);
}

static int keep(struct switches *s, const struct switch_event *e)
{
	if (s->n_events == s->events_room) {
		size_t room = 2 * s->events_room + 256;
		struct switch_event *more =
		    reallocarray(s->events, room, sizeof *more);

		if (more == NULL)
			return -1;
		s->events = more;
		s->events_room = room;
	}
	s->events[s->n_events] = *e;
	s->events[s->n_events].order = (uint32_t)s->n_events;
	s->n_events++;
	return 0;
}

static int read_ring(struct switches *s, struct ring *r, uint64_t until_ns)
{
	uint64_t tail = r->page->data_tail,
		 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	const struct perf_event_header *h;

	while (tail < head && (h = record_at(r, tail, head)) != NULL) {
		struct switch_event e;

		if (read_record(h, &e)) {
			if (e.time_ns > until_ns)
				break;
			if (keep(s, &e) < 0)
				return -1;
		}
		tail += h->size;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct switch_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

int switches_read(struct switches *s, uint64_t until_ns,
		  int (*see)(void *ctx, const struct switch_event *e,
			     struct hark_err *err),
		  void *ctx, struct hark_err *err)
{
	s->n_events = 0;
	for (size_t i = 0; i < s->n_rings; i++)
		if (read_ring(s, &s->rings[i], until_ns) < 0)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (s->n_events > 1)
		qsort(s->events, s->n_events, sizeof *s->events, by_time);
	for (size_t i = 0; i < s->n_events; i++)
		if (see(ctx, &s->events[i], err) < 0)
			return -1;
	return 0;
}
