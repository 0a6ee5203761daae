/* outside/enter.c - the engine into a program. */
#include "outside/enter.h"

#include "outside/door.h"
#include "outside/proc.h"
#include "outside/refuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

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
	uint64_t image; /* hark's own, not the program's */
};

static void list_mapping(void *ctx, const struct proc_map *m)
{
	const struct listing *l = ctx;
	struct wire_maps *maps = l->out;

	if (!m->executable || m->start == l->image)
		return;
	if (maps->n == WIRE_MAPS_MAX) {
		maps->incomplete = 1;
		return;
	}
	maps->map[maps->n++] = (struct wire_map){
	    .start = m->start,
	    .end = m->end,
	    .flags = (m->writable ? WIRE_MAP_WRITE : 0u) |
		     (m->shared ? WIRE_MAP_SHARED : 0u) |
		     (m->stack ? WIRE_MAP_STACK : 0u),
	};
}

static int tell_maps(const struct door *d, struct hark_err *err)
{
	struct listing l = {wire_maps_of(drain_base(d->drain)), d->image};

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
	    door_translate(d, err) < 0) {
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
