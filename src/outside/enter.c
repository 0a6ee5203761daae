/* outside/enter.c - the engine into a program. */
#include "outside/enter.h"

#include "outside/attach.h"
#include "outside/depart.h"
#include "outside/door.h"
#include "outside/proc.h"
#include "outside/refuse.h"
#include "wire/stay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE (1 << 1)
#endif

int enter_possible(struct hark_err *err)
{
	if ((getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0)
		return 0;
	return err_set(err, HARK_EREFUSE, 0,
		       "programs cannot be translated here: the processor or "
		       "the kernel does not let them set %%gs (fsgsbase); "
		       "see 'hark doctor'");
}

/* -- What may be executed -- */

struct listing {
	struct wire_maps *out;
	const struct door *door; /* its mappings are not the program's */
	struct wire_map *more;	 /* for those that find no place there */
	uint32_t room;
};

/* What is shared already may become code later, too. */
static uint64_t flags_of(const struct listing *l, const struct proc_map *m)
{
	if (!m->executable && (l->door->fresh || !m->shared))
		return 0;
	return (m->executable ? WIRE_MAP_EXEC : 0u) |
	       (m->writable ? WIRE_MAP_WRITE : 0u) |
	       (m->shared ? WIRE_MAP_SHARED : 0u) |
	       (m->stack ? WIRE_MAP_STACK : 0u);
}

static void list_mapping(void *ctx, const struct proc_map *m)
{
	const struct listing *l = ctx;
	struct wire_maps *maps = l->out;
	uint64_t flags = flags_of(l, m);
	struct wire_map map = {m->start, m->end, flags};

	if (flags == 0 || m->start == l->door->image ||
	    m->start == l->door->channel)
		return;
	if (maps->n < WIRE_MAPS_MAX)
		maps->map[maps->n++] = map;
	else if (maps->n_more < l->room)
		l->more[maps->n_more++] = map;
	else
		maps->incomplete = 1;
}

/* Those that find no place in the first page lie where the last ring will be,
 * if anybody ever needs that many. */
static void find_room(struct listing *l)
{
	const struct wire_geometry *g = drain_geometry(l->door->drain);
	uint8_t *base = drain_base(l->door->drain);
	uint8_t *at = channel_ring(g, base, g->max_threads - 1).chunks;
	uint64_t len = (uint64_t)g->ring_chunks * g->chunk_size;

	if (l->door->fresh || g->max_threads < 2)
		return;
	l->more = (struct wire_map *)at;
	l->room = (uint32_t)(len / sizeof *l->more);
	l->out->more_at = (uint64_t)(at - base);
}

static int tell_maps(const struct door *d, struct hark_err *err)
{
	struct listing l = {.out = wire_maps_of(drain_base(d->drain)),
			    .door = d};

	find_room(&l);
	if (proc_mappings(d->pid, d->threads[0].tid, list_mapping, &l) == 0)
		return 0;
	return err_set(err, HARK_EDENIED, errno,
		       "cannot look into process %d: %s", d->pid,
		       strerror(errno));
}

/* -- Going in -- */

static int keep_channel(const struct door *d, int deaf, struct peer **out,
			struct hark_err *err)
{
	struct peer_place place = {d->pid, d->channel,
				   d->channel + d->channel_len};
	int fd = drain_descriptor(d->drain);

	if (fd < 0)
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot keep a channel: %s", strerror(errno));
	return peer_open(fd, &place, deaf, out, err);
}

static int go_in(struct door *d, const struct enter_how *how,
		 struct entered *out, struct hark_err *err)
{
	struct entered e = {0};

	if (door_enter(d, err) < 0 || tell_maps(d, err) < 0)
		return -1;
	wire_run_of(drain_base(d->drain))->flags = how->flags;
	if (keep_channel(d, how->deaf, &e.peer, err) < 0)
		return -1;
	if ((how->recorder != NULL &&
	     recorder_meet(how->recorder, d->pid, d->drain, &e.source, err) <
		 0) ||
	    (d->fresh ? door_translate(d, err) : door_attach(d, err)) < 0) {
		recorder_forget(e.source);
		peer_close(e.peer);
		return -1;
	}
	if (e.source != NULL) {
		recorder_join(e.source, d->drain);
		d->drain = NULL; /* handed over */
	}
	*out = e;
	return 0;
}

int enter_program(pid_t pid, const struct enter_how *how, struct entered *out,
		  struct hark_err *err)
{
	struct hark_err second;
	struct door d;
	int rc = -1;

	door_init(&d, pid);
	d.name = DOOR_STAYS;
	d.fresh = 1;
	d.geometry =
	    how->recorder != NULL ? recorder_geometry(how->recorder) : NULL;
	if (door_add(&d, pid, err) == 0 &&
	    refuse_executed(pid, &d.threads[0].seen, err) == 0 &&
	    refuse_thread(pid, pid, &d.threads[0].seen, err) == 0) {
		rc = go_in(&d, how, out, err);
		if (rc < 0)
			door_leave(&d, &second);
	}
	door_fini(&d);
	return rc;
}

/* -- A process that runs -- */

/* What a mapping of hark's says, if it is a channel. */
static int read_channel(int mem, const struct proc_map *m, struct wire_run *run,
			struct wire_stay *stay, struct depart_from *out)
{
	*out = (struct depart_from){.start = m->start, .end = m->end};
	if (m->executable ||
	    pread(mem, run, sizeof *run, (off_t)(m->start + WIRE_RUN_AT)) !=
		sizeof *run ||
	    pread(mem, &out->places, sizeof out->places,
		  (off_t)(m->start + WIRE_PLACES_AT)) != sizeof out->places ||
	    out->places.stay == 0)
		return -1;
	return pread(mem, stay, sizeof *stay, (off_t)out->places.stay) ==
		       sizeof *stay
		   ? 0
		   : -1;
}

enum engine { ENGINE_NONE, ENGINE_ORPHAN, ENGINE_OTHERS };

/* Is it in an engine already? out: of an orphan. */
static enum engine find_engine(const struct door *d, struct depart_from *out)
{
	struct proc_map m = {0};
	pid_t tid = d->threads[0].tid;
	int mem = proc_open(d->pid, tid, "mem", O_RDONLY);
	enum engine found = ENGINE_NONE;

	while (mem >= 0 && found == ENGINE_NONE &&
	       proc_mapping(d->pid, tid, DOOR_IN_MAPS, m.end, &m) == 0) {
		struct wire_run run;
		struct wire_stay stay;

		if (read_channel(mem, &m, &run, &stay, out) == 0 &&
		    stay.state != WIRE_STAY_JOINING &&
		    stay.state != WIRE_STAY_LEFT)
			found = wire_hark_lives(&run) ? ENGINE_OTHERS
						      : ENGINE_ORPHAN;
	}
	if (mem >= 0)
		close(mem);
	return found;
}

/* 0, 1 it is an orphan, or -1. */
static int refuse_threads(const struct door *d, struct depart_from *orphan,
			  struct hark_err *err)
{
	enum engine engine;

	for (int i = 0; i < d->n_threads; i++)
		if (refuse_thread(d->pid, d->threads[i].tid,
				  &d->threads[i].seen, err) < 0)
			return -1;
	if (refuse_probed(d->pid, d->threads[0].tid, err) < 0)
		return -1;
	engine = find_engine(d, orphan);
	if (engine != ENGINE_OTHERS)
		return engine == ENGINE_ORPHAN;
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d runs under hark already", d->pid);
}

/* Each thread needs a slot, and a ring if it is recorded. (Else the first alone
 * says that it is there; the second is for find_room.) */
static int plan_channel(struct door *d, const struct wire_geometry *of,
			struct wire_geometry *out, struct hark_err *err)
{
	static const struct wire_geometry plain = {
	    .max_threads = 2, .ring_chunks = 2, .chunk_size = 1 << 18};

	*out = of != NULL ? *of : plain;
	out->n_slots = (uint32_t)d->n_threads;
	d->geometry = out;
	if (of == NULL)
		return 0;
	if (out->n_slots < out->max_threads)
		return 0;
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d has %d threads, and no more than %u can be "
		       "recorded",
		       d->pid, d->n_threads, out->max_threads - 1);
}

/* 0, 1 it has to leave another engine first, or -1. */
static int enter_once(pid_t pid, const struct enter_how *how,
		      struct entered *out, struct depart_from *orphan,
		      struct hark_err *err)
{
	const struct wire_geometry *of =
	    how->recorder != NULL ? recorder_geometry(how->recorder) : NULL;
	struct wire_geometry geometry;
	struct hark_err second;
	struct door d;
	int rc;

	if (attach_open(&d, pid, err) < 0)
		return -1;
	d.name = DOOR_STAYS;
	rc = refuse_threads(&d, orphan, err);
	if (rc == 0)
		rc = plan_channel(&d, of, &geometry, err);
	if (rc == 0) {
		rc = go_in(&d, how, out, err);
		if (rc < 0)
			door_leave(&d, &second);
	}
	attach_close(&d);
	return rc;
}

int enter_process(pid_t pid, const struct enter_how *how, struct entered *out,
		  struct hark_err *err)
{
	enum { TRIES = 10 };

	for (int i = 0; i < TRIES; i++) {
		struct depart_from orphan;
		int rc;

		*err = (struct hark_err){0};
		rc = enter_once(pid, how, out, &orphan, err);
		if (rc == 1)
			rc = depart_orphan(pid, &orphan, err);
		else if (rc == 0)
			return 0;
		if (rc < 0)
			return -1;
	}
	return err_set(err, HARK_ETIME, EAGAIN,
		       "process %d does not hold still", pid);
}
