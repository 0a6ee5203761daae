/* probe/sampling_waits.c - threads that do not run, seen from outside.
 *
 * The kernel tells of each switch (probe/switches.h); who waits is looked at
 * meanwhile (probe/wait_look.h), and probe/waits.h reckons how long. */
#include "probe/sampling_priv.h"

#include "outside/proc.h"
#include "outside/tracee.h"
#include "probe/ticking.h"
#include "probe/wait_look.h"

#include <errno.h>

static int cannot_see(int why, struct hark_err *err)
{
	return ticking_denied("waits cannot be seen: the kernel gives hark no "
			      "records of them",
			      why, err);
}

static bool look_at(void *ctx, pid_t pid, pid_t tid, struct wait_stack *out)
{
	struct sampling *s = ctx;
	const struct known *k = sampling_known(s, pid);
	struct wait_place place = {0};
	struct hark_err ignored;

	if ((k == NULL && sampling_inherit(s, pid, &ignored) < 0) ||
	    (k != NULL && k->is_other &&
	     sampling_maps(s, pid, true, &ignored) < 0))
		return false;
	k = sampling_known(s, pid);
	place.plan = k->plan;
	if (s->board != NULL && k->is_inside)
		place.frame =
		    board_hooked(s->board, (uint32_t)proc_inner_id(pid, pid),
				 (uint32_t)proc_inner_id(pid, tid));
	else if (s->board != NULL)
		place.frame =
		    board_hooked(s->board, (uint32_t)pid, (uint32_t)tid);
	return wait_look_at(s->look, pid, tid, &place, out);
}

static int put_wait(void *ctx, const struct session_sample *sample,
		    struct hark_err *err)
{
	struct sampling *s = ctx;

	if (sampling_known(s, sample->pid) == NULL &&
	    sampling_inherit(s, sample->pid, err) < 0)
		return -1;
	return s->p->put(s->p->ctx, sample, err);
}

static uint64_t now_ns(void)
{
	return (uint64_t)tracee_now_ns();
}

int sampling_open_waits(struct sampling *s, struct hark_err *err)
{
	const struct waits_plan plan = {
	    .period_ns = s->p->time == SESSION_WALL ? s->p->period_ns : 0,
	    .counts_ready = s->p->time == SESSION_WALL,
	    .look = look_at,
	    .put = put_wait,
	    .now = now_ns,
	    .ctx = s,
	};
	struct switches *try;

	if (s->p->time == SESSION_CPU)
		return 0;
	if (ticking_has_no_events())
		return cannot_see(EOPNOTSUPP, err);
	/* A child of hark's, which it may become (struct launch), has no rings:
	 * they are opened when the program is there. */
	if (switches_new(s->follows, &try) < 0)
		return cannot_see(errno, err);
	switches_free(try);
	return waits_new(&plan, &s->waits, err) < 0 ||
		       wait_look_new(&s->look, err) < 0
		   ? -1
		   : 0;
}

static int see(void *ctx, const struct switch_event *e, struct hark_err *err)
{
	struct sampling *s = ctx;
	struct known *k;

	if (e->kind == SWITCH_EXEC) {
		k = sampling_known(s, e->pid);
		if (k != NULL)
			k->is_other = true;
	}
	return waits_event(s->waits, e, err);
}

/* What has happened, and waits that have gone on. */
static int hear(struct sampling *s, bool last, struct hark_err *err)
{
	uint64_t now = now_ns();

	if (switches_read(s->switches, now, see, s, err) < 0)
		return -1;
	return waits_count(s->waits, now, last, err);
}

int sampling_step(struct sampling *s, struct hark_err *err)
{
	if (s->switches == NULL)
		return 0;
	if (hear(s, false, err) < 0)
		return -1;
	if (now_ns() - s->stepped_ns < s->p->period_ns)
		return 0;
	s->stepped_ns = now_ns();
	waits_look(s->waits);
	return 0;
}

uint64_t sampling_rest(const struct sampling *s)
{
	uint64_t now = now_ns(), next = s->stepped_ns + s->p->period_ns;

	if (s->switches == NULL)
		return UINT64_MAX;
	return next > now ? next - now : 0;
}

void sampling_held(struct sampling *s, pid_t pid, int64_t since_ns)
{
	if (s->waits != NULL)
		waits_held(s->waits, pid, (uint64_t)since_ns, now_ns());
}

int sampling_finish(struct sampling *s, struct hark_err *err)
{
	return s->switches == NULL ? 0 : hear(s, true, err);
}

void sampling_waits(const struct sampling *s, struct session_waits *out)
{
	*out = (struct session_waits){0};
	if (s->waits != NULL)
		waits_account(s->waits, out);
}

/* All others come from these, and are watched as they are. */
static int watch(struct sampling *s, const struct door *d, struct hark_err *err)
{
	if (s->is_watched)
		return 0;
	if (switches_new(s->follows, &s->switches) < 0)
		return cannot_see(errno, err);
	ticking_allow_files();
	for (int k = 0; k < d->n_threads; k++)
		if (d->threads[k].progress != DOOR_DEAD &&
		    switches_watch(s->switches, d->threads[k].tid) < 0 &&
		    errno != ESRCH)
			return cannot_see(errno, err);
	s->is_watched = true;
	return 0;
}

int sampling_watch(struct sampling *s, const struct door *d,
		   const struct insertion *in, const struct board *b,
		   struct hark_err *err)
{
	struct known *k = sampling_known(s, d->pid);

	s->board = b;
	if (k != NULL)
		k->plan = insert_shared_plan(in)->self;
	return s->waits == NULL ? 0 : watch(s, d, err);
}

void sampling_stop(struct sampling *s)
{
	switches_free(s->switches);
	s->switches = NULL;
}

void sampling_close_waits(struct sampling *s)
{
	sampling_stop(s);
	waits_free(s->waits);
	wait_look_free(s->look);
}
