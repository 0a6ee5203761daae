/* probe/insert_signals.c - the program's handlers, and hark's in their place.
 *
 * What the program asked for is kept in home, where hark's handler finds it;
 * the program changes it there later (probe/native.h). Leaving gives the
 * kernel what home says by then. */
#include "probe/insert_priv.h"

#include "outside/blob.h"
#include "outside/proc.h"
#include "outside/tracee.h"
#include "probe/native.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

enum { SIGNALS = 64, SET_LEN = 8 }; /* of the kernel's sigset_t */

static uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

static uint64_t action_at(uint64_t home, int sig)
{
	return home + offsetof(struct collect_home, program) +
	       (uint64_t)sig * sizeof(struct collect_action);
}

/* Behind what home holds. */
static uint64_t scratch_at(uint64_t home)
{
	return home + NATIVE_HOME_SIZE - sizeof(struct collect_action);
}

static int sigaction_there(struct door *d, int sig, uint64_t new, uint64_t old,
			   struct hark_err *err)
{
	int64_t answer;

	if (gate_call(&d->gate, &answer, err, SYS_rt_sigaction, (uint64_t)sig,
		      new, old, SET_LEN, 0, 0) < 0)
		return -1;
	return answer == 0 ? 0
			   : err_set(err, HARK_EREFUSE, (int)-answer,
				     "signal %d of process %d: %s", sig, d->pid,
				     strerror((int)-answer));
}

static int caught(const struct door *d, uint64_t *out, struct hark_err *err)
{
	if (proc_status(d->pid, d->threads[0].tid, "SigCgt", 16, out) == 0)
		return 0;
	return err_set(err, HARK_EGONE, errno, "process %d ended meanwhile",
		       d->pid);
}

/* -- There -- */

static int take_one(struct insertion *i, struct door *d, int sig,
		    struct hark_err *err)
{
	struct collect_action a;

	if (sigaction_there(d, sig, 0, action_at(i->home, sig), err) < 0 ||
	    remote_read(d, action_at(i->home, sig), &a, sizeof a, err) < 0)
		return -1;
	a = native_action(&(struct collect_home){.ours = i->ours}, sig, &a,
			  i->image + blob_places.handler,
			  i->image + blob_places.restorer);
	return remote_write(d, scratch_at(i->home), &a, sizeof a, err) < 0
		   ? -1
		   : sigaction_there(d, sig, scratch_at(i->home), 0, err);
}

/* The borrowed thread gets its mask when it goes back. */
static int set_mask(const struct door *d, int k, uint64_t mask,
		    struct hark_err *err)
{
	struct door_thread *t = &d->threads[k];

	if (t->mask == mask)
		return 0;
	t->mask = mask;
	return k == d->worker ? 0 : tracee_set_mask(t->tid, mask, err);
}

/* Signals of ours are never really blocked. */
static int open_masks(const struct insertion *i, const struct door *d,
		      struct hark_err *err)
{
	for (int k = 0; k < d->n_threads; k++)
		if (set_mask(d, k, d->threads[k].mask & ~i->ours, err) < 0)
			return -1;
	return 0;
}

int insert_take_signals(struct insertion *i, struct door *d,
			struct hark_err *err)
{
	const uint64_t head[2] = {i->plan.at, i->ours};
	uint64_t set;

	_Static_assert(offsetof(struct collect_home, ours) == 8, "head");
	if (caught(d, &set, err) < 0 ||
	    remote_write(d, i->home, head, sizeof head, err) < 0)
		return -1;
	set |= i->ours;
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (set & bit(sig) && take_one(i, d, sig, err) < 0)
			return -1;
	return open_masks(i, d, err);
}

/* -- And back -- */

static int give_one(const struct insert_left *l, struct door *d, int sig,
		    struct hark_err *err)
{
	uint64_t scratch = scratch_at(l->head.home);
	struct collect_action a;

	if (sigaction_there(d, sig, 0, scratch, err) < 0 ||
	    remote_read(d, scratch, &a, sizeof a, err) < 0)
		return -1;
	return a.handler == l->record.handler
		   ? sigaction_there(d, sig, action_at(l->head.home, sig), 0,
				     err)
		   : 0;
}

/* Handlers that run return to masks of the program's own, too. */
static int close_frames(const struct insert_left *l, const struct door *d,
			int k, const struct collect_area *a,
			struct hark_err *err)
{
	uint64_t rsp = d->threads[k].seen.rsp, at, blocked, mask;

	for (unsigned n = 0; native_blocked_by_frame(a, rsp, n, &at, &blocked);
	     n++) {
		if ((blocked & l->record.ours) == 0)
			continue;
		if (remote_read(d, at, &mask, sizeof mask, err) < 0)
			return -1;
		mask |= blocked & l->record.ours;
		if (remote_write(d, at, &mask, sizeof mask, err) < 0)
			return -1;
	}
	return 0;
}

static int close_masks(const struct insert_left *l, struct door *d,
		       struct hark_err *err)
{
	struct collect_area a;

	if (insert_read_table(l, d, err) < 0)
		return -1;
	for (int k = 0; k < d->n_threads; k++) {
		const struct door_thread *t = &d->threads[k];
		uint64_t blocked;

		if (!insert_find_area(l, d, k, &a))
			continue;
		blocked = native_blocked(&a, t->seen.rsp) & l->record.ours;
		if (set_mask(d, k, t->mask | blocked, err) < 0 ||
		    close_frames(l, d, k, &a, err) < 0)
			return -1;
	}
	return 0;
}

int insert_give_signals(const struct insert_left *l, struct door *d,
			struct hark_err *err)
{
	uint64_t set;

	if (caught(d, &set, err) < 0)
		return -1;
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (set & bit(sig) && give_one(l, d, sig, err) < 0)
			return -1;
	return close_masks(l, d, err);
}
