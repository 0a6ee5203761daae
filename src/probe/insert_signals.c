/* probe/insert_signals.c - the program's handlers, and hark's in their place.
 *
 * What the program asked for is kept in home, where hark's handler finds it;
 * the program changes it there later (native/native.h). Leaving gives the
 * kernel what home says by then. */
#include "probe/insert_priv.h"

#include "native/home.h"
#include "outside/blob.h"
#include "outside/proc.h"
#include "outside/tracee.h"

#include <errno.h>
#include <signal.h>
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

/* SigCgt: those that have a handler; SigIgn: those that are ignored. */
static int ask_set(const struct door *d, const char *which, uint64_t *out,
		   struct hark_err *err)
{
	if (proc_status(d->pid, d->threads[0].tid, which, 16, out) == 0)
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

/* It stays as it is; the program may ask, though. */
static int look_at(struct insertion *i, struct door *d, int sig,
		   struct hark_err *err)
{
	return sigaction_there(d, sig, 0, action_at(i->home, sig), err);
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

/* Which threads have blocked signals of ours goes to home. Of more than there
 * is room for, nothing is known later: they have as many blocked as others. */
static int note_blocked(const struct insertion *i, const struct door *d,
			struct hark_err *err)
{
	static struct native_found found[NATIVE_FOUND];
	uint64_t n = 0;

	for (int k = 0; k < d->n_threads && n < NATIVE_FOUND; k++) {
		const struct door_thread *t = &d->threads[k];

		if ((t->mask & i->ours) == 0)
			continue;
		found[n].blocked = (uint32_t)(t->mask & i->ours);
		found[n++].tid = (uint32_t)proc_inner_id(d->pid, t->tid);
	}
	if (n == 0)
		return 0;
	return remote_write(d, i->home + offsetof(struct native_home, found),
			    found, n * sizeof *found, err) < 0
		   ? -1
		   : remote_write(
			 d, i->home + offsetof(struct native_home, n_found), &n,
			 sizeof n, err);
}

/* Has a thread a system call filter? If that is not known, it may. */
static bool is_filtered(const struct door *d)
{
	uint64_t mode;

	for (int k = 0; k < d->n_threads; k++)
		if (proc_status(d->pid, d->threads[k].tid, "Seccomp", 10,
				&mode) < 0 ||
		    mode != 0)
			return true;
	return false;
}

void insert_note_filters(struct insertion *i, const struct door *d)
{
	struct collect_plan *head = (struct collect_plan *)i->plan.base;

	if (is_filtered(d))
		head->flags |= COLLECT_FILTERED;
}

/* Signals of ours are never really blocked. */
static int open_masks(const struct insertion *i, const struct door *d,
		      struct hark_err *err)
{
	if (note_blocked(i, d, err) < 0)
		return -1;
	for (int k = 0; k < d->n_threads; k++)
		if (set_mask(d, k, d->threads[k].mask & ~i->ours, err) < 0)
			return -1;
	return 0;
}

int insert_take_signals(struct insertion *i, struct door *d,
			struct hark_err *err)
{
	const uint64_t head[2] = {i->plan.at, i->ours};
	uint64_t set, ignored;

	_Static_assert(offsetof(struct collect_home, ours) == 8, "head");
	if (ask_set(d, "SigCgt", &set, err) < 0 ||
	    ask_set(d, "SigIgn", &ignored, err) < 0 ||
	    remote_write(d, i->home, head, sizeof head, err) < 0)
		return -1;
	set |= i->ours;
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (set & bit(sig)
			? take_one(i, d, sig, err) < 0
			: ignored & bit(sig) && look_at(i, d, sig, err) < 0)
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

/* A handler that is to return by way of the image returns as the program
 * wanted it (M4 of native/mask.c). */
static int free_return(const struct insert_left *l, const struct door *d,
		       const struct native_home *home, uint64_t frame,
		       struct hark_err *err)
{
	uint64_t to, from = l->head.image;
	int32_t sig;

	if (remote_read(d, frame, &to, sizeof to, err) < 0 ||
	    remote_read(d, frame + offsetof(struct sig_frame, info.signo), &sig,
			sizeof sig, err) < 0)
		return -1;
	if (to - from >= l->head.image_len || sig < 1 || sig > SIGNALS)
		return 0;
	to = home->known.program[sig].restorer;
	return remote_write(d, frame, &to, sizeof to, err);
}

/* Handlers that run return to masks of the program's own, too. */
static int close_frames(const struct insert_left *l, const struct door *d,
			int k, const struct collect_area *a,
			const struct native_home *home, struct hark_err *err)
{
	const uint64_t mask_at = offsetof(struct sig_frame, uc.mask);
	uint64_t rsp = d->threads[k].seen.rsp, at, blocked, mask;

	for (unsigned n = 0; native_blocked_by_frame(a, rsp, n, &at, &blocked);
	     n++) {
		if (free_return(l, d, home, at - mask_at, err) < 0)
			return -1;
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

/* What it had blocked when probes came, if it was never seen since. */
static uint64_t found_blocked(const struct native_home *home,
			      const struct door *d, int k)
{
	uint32_t tid;

	if (home->n_found == 0 || home->n_found > NATIVE_FOUND)
		return 0;
	tid = (uint32_t)proc_inner_id(d->pid, d->threads[k].tid);
	for (uint64_t n = 0; n < home->n_found; n++)
		if (home->found[n].tid == tid)
			return home->found[n].blocked;
	return 0;
}

static int close_mask(const struct insert_left *l, struct door *d, int k,
		      const struct native_home *home, struct hark_err *err)
{
	const struct door_thread *t = &d->threads[k];
	uint64_t blocked = found_blocked(home, d, k) & l->record.ours;
	struct collect_area a;
	uint64_t area = insert_find_area(l, d, k, &a);

	if (area != 0)
		blocked |= native_blocked(&a, t->seen.rsp) & l->record.ours;
	if (set_mask(d, k, t->mask | blocked, err) < 0)
		return -1;
	return area == 0 ? 0 : close_frames(l, d, k, &a, home, err);
}

/* -- Signals that the program has blocked, and that came -- */

static int thread_of(const struct door *d, pid_t tid)
{
	for (int k = 0; k < d->n_threads; k++)
		if (d->threads[k].tid == tid)
			return k;
	return -1;
}

static bool is_alive(const struct door *d, int k)
{
	return k >= 0 &&
	       (k == d->worker || d->threads[k].progress == DOOR_HELD);
}

/* The kernel lets only the thread itself send a signal as kill() and tgkill()
 * do, and only the first thread one to the process. So one that was sent to the
 * process stays with the thread that had it, if the first one has ended. */
static int send_one(struct door *d, int k, int sig, uint64_t info,
		    struct hark_err *err)
{
	uint64_t pid = (uint64_t)proc_inner_id(d->pid, d->pid);
	int first = thread_of(d, d->pid);
	int64_t answer;
	int32_t code;

	if (remote_read(d, info + offsetof(struct sig_info, code), &code,
			sizeof code, err) < 0)
		return -1;
	if (code == SI_USER && is_alive(d, first))
		return door_borrow(d, first, err) < 0
			   ? -1
			   : gate_call(&d->gate, &answer, err,
				       SYS_rt_sigqueueinfo, pid, (uint64_t)sig,
				       info, 0, 0, 0);
	if (!is_alive(d, k))
		return 0;
	return door_borrow(d, k, err) < 0
		   ? -1
		   : gate_call(
			 &d->gate, &answer, err, SYS_rt_tgsigqueueinfo, pid,
			 (uint64_t)proc_inner_id(d->pid, d->threads[k].tid),
			 (uint64_t)sig, info, 0, 0);
}

/* They are the kernel's to keep from now on. */
static int send_again(const struct insert_left *l, struct door *d, int k,
		      struct hark_err *err)
{
	struct collect_area a;
	uint64_t area = insert_find_area(l, d, k, &a);
	uint64_t held = area != 0 ? native_waiting_for(&a) & l->record.ours : 0;

	for (; held != 0; held &= held - 1) {
		int sig = __builtin_ctzll(held) + 1;

		if (send_one(d, k, sig, area + native_siginfo_offset(sig),
			     err) < 0)
			return -1;
	}
	return 0;
}

static int close_masks(const struct insert_left *l, struct door *d,
		       struct hark_err *err)
{
	static struct native_home home; /* large */

	if (insert_read_table(l, d, err) < 0 ||
	    remote_read(d, l->head.home, &home, sizeof home, err) < 0)
		return -1;
	for (int k = 0; k < d->n_threads; k++)
		if (close_mask(l, d, k, &home, err) < 0)
			return -1;
	for (int k = 0; k < d->n_threads; k++)
		if (send_again(l, d, k, err) < 0)
			return -1;
	return 0;
}

int insert_give_signals(const struct insert_left *l, struct door *d,
			struct hark_err *err)
{
	uint64_t set;

	if (ask_set(d, "SigCgt", &set, err) < 0)
		return -1;
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (set & bit(sig) && give_one(l, d, sig, err) < 0)
			return -1;
	return close_masks(l, d, err);
}
