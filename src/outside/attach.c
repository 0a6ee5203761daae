/* outside/attach.c - hold every thread of a running process.
 *
 * Threads may be born while hark looks: passes over /proc/PID/task are made
 * until one finds nobody new. Then all are stopped, for a stopped thread makes
 * no new one. A thread that ended meanwhile is forgotten; one that does not
 * stop in time (it waits for a vfork child, or for a dead disk) makes the
 * whole attempt fail, with every other thread let go. */
#include "outside/attach.h"

#include "outside/proc.h"
#include "outside/refuse.h"
#include "outside/rules.h"
#include "outside/tracee.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(cpu_set_t) == sizeof((struct attach_pin *)0)->before,
	       "room for a cpu_set_t");

enum { MAX_THREADS = 1 << 16 };

/* -- One CPU for both -- */

struct attach_pin attach_pin(pid_t pid)
{
	struct attach_pin p = {0};
	int cpu = proc_cpu(pid);
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof p.before, (cpu_set_t *)p.before) < 0)
		return p;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	p.pinned = sched_setaffinity(0, sizeof one, &one) == 0;
	return p;
}

void attach_unpin(const struct attach_pin *p)
{
	if (p->pinned)
		sched_setaffinity(0, sizeof p->before,
				  (const cpu_set_t *)p->before);
}

/* -- Stopping all -- */

static int known(const struct door *d, pid_t tid)
{
	for (int i = d->n_threads - 1; i >= 0; i--)
		if (d->threads[i].tid == tid)
			return 1;
	return 0;
}

static int is_executing(const struct door *d, struct hark_err *err)
{
	return err_set(err, HARK_ETIME, EAGAIN,
		       "process %d executes another program just now", d->pid);
}

/* Asks a thread to stop: 1 it will, 0 it is gone, -1 failed. A thread that has
 * ended is refused like one that must not be had, and by the time that one
 * looks, execve may have put another in its place. */
static int ask(const struct door *d, pid_t tid, struct hark_err *err)
{
	enum { TRIES = 3 };
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
	uint64_t tracer;
	int e = EPERM;

	for (int i = 0; i < TRIES && e == EPERM; i++) {
		char state;

		e = tracee_seize(tid, options);
		if (e == 0)
			return 1;
		state = proc_state(d->pid, tid);
		if (e == ESRCH || state == 'Z' || state == 'X' || state == 0)
			return 0;
	}
	/* By execve it has the number of one that is held. */
	if (proc_status(d->pid, tid, "TracerPid", 10, &tracer) == 0 &&
	    tracer == (uint64_t)getpid())
		return is_executing(d, err);
	return e == EAGAIN ? is_executing(d, err)
			   : refuse_explain(d->pid, tid, e, err);
}

/* A stopped thread goes on as if it had not been stopped. */
static void let_go(pid_t tid)
{
	struct user_regs_struct regs;
	struct hark_err ignored;

	if (tracee_get_regs(tid, &regs, &ignored) == 0 && rules_kernel(&regs))
		tracee_set_regs(tid, &regs, &ignored);
	ptrace(PTRACE_DETACH, tid, 0, 0);
}

void attach_release(pid_t tid)
{
	enum { LIMIT_NS = 1000000000 };
	struct hark_err ignored;

	if (tracee_stop(tid, tracee_now_ns() + LIMIT_NS, &ignored) == 0)
		let_go(tid);
}

/* A thread asked to stop: 1 it has and is added, 0 not yet, -1 failed (it may
 * be gone). */
static int take(struct door *d, pid_t tid, struct hark_err *err)
{
	int rc = tracee_stopped(tid, err);

	if (rc != 1 || door_add(d, tid, err) == 0)
		return rc;
	let_go(tid);
	return -1;
}

/* Takes those that have stopped; how many are still awaited, or -1. Threads
 * that ended are forgotten; *vanished: there were such. */
static int take_stopped(struct door *d, pid_t *tids, int n, int *vanished,
			struct hark_err *err)
{
	int left = 0;

	for (int i = 0; i < n; i++) {
		int rc = take(d, tids[i], err);

		if (rc < 0 && err->code != HARK_EGONE)
			return -1;
		*vanished |= rc < 0;
		if (rc == 0)
			tids[left++] = tids[i];
	}
	return left;
}

static int does_not_stop(const struct door *d, pid_t tid, struct hark_err *err)
{
	return err_set(err, HARK_ETIME, 0,
		       "process %d: thread %d does not stop (state %c: it "
		       "waits for a child or a device); it goes on unchanged",
		       d->pid, tid, proc_state(d->pid, tid));
}

/* One that is held ends only if it is killed: by a signal, or by another's
 * execve, which goes on when that has been heard. */
static int has_lost_one(const struct door *d)
{
	int status;

	for (int i = 0; i < d->n_threads; i++)
		if (waitpid(d->threads[i].tid, &status, __WALL | WNOHANG) > 0)
			return 1;
	return 0;
}

/* All are asked before the last is waited for: on busy CPUs each must first
 * get its turn to stop, and those turns may come at the same time. But each is
 * taken as soon as it has stopped (see rules_kernel). How many stopped. */
static int hold_each(struct door *d, pid_t *tids, int n, struct hark_err *err)
{
	int64_t deadline = tracee_now_ns() + d->limit_ns;
	int before = d->n_threads, awaited = 0, vanished = 0;
	enum { LOOK_AGAIN = 250 }; /* tracee_pause: some milliseconds */

	for (int i = 0; i < n; i++) {
		int rc = known(d, tids[i]) ? 0 : ask(d, tids[i], err);

		if (rc < 0)
			return -1;
		if (rc > 0)
			tids[awaited++] = tids[i];
		awaited = take_stopped(d, tids, awaited, &vanished, err);
		if (awaited < 0)
			return -1;
	}
	for (int round = 0; awaited > 0; round++) {
		if (tracee_now_ns() > deadline)
			return does_not_stop(d, tids[0], err);
		if (round % LOOK_AGAIN == LOOK_AGAIN - 1 && has_lost_one(d))
			return is_executing(d, err);
		tracee_pause(round);
		awaited = take_stopped(d, tids, awaited, &vanished, err);
	}
	if (awaited < 0)
		return -1;
	/* One that vanished may have executed another program, under the number
	 * of its leader: that shows a little later. */
	if (vanished)
		nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	return has_lost_one(d) ? is_executing(d, err) : d->n_threads - before;
}

/* One pass over the threads there are; how many were new, or -1. */
static int hold_new(struct door *d, pid_t *tids, struct hark_err *err)
{
	int n = proc_threads(d->pid, tids, MAX_THREADS);

	if (n < 0)
		return err_set(err, HARK_EGONE, ESRCH,
			       "process %d ended meanwhile", d->pid);
	if (n > MAX_THREADS)
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d has more than %d threads", d->pid,
			       MAX_THREADS);
	return hold_each(d, tids, n, err);
}

/* After a failure: threads that were asked to stop and are not in the door. To
 * one that was never asked ptrace says no, and nothing happens. */
static void release_others(const struct door *d, pid_t *tids)
{
	int n = proc_threads(d->pid, tids, MAX_THREADS);

	for (int i = 0; i < n && i < MAX_THREADS; i++)
		if (!known(d, tids[i]))
			attach_release(tids[i]);
}

static int hold_all(struct door *d, struct hark_err *err)
{
	pid_t *tids = calloc(MAX_THREADS, sizeof *tids);
	int fresh;

	if (tids == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	do {
		fresh = hold_new(d, tids, err);
	} while (fresh > 0);
	if (fresh < 0)
		release_others(d, tids);
	free(tids);
	if (fresh == 0 && d->n_threads == 0)
		return err_set(err, HARK_EGONE, ESRCH,
			       "process %d ended meanwhile", d->pid);
	return fresh;
}

/* Its threads cannot be had while it executes another program; they seem to
 * have ended, even. */
static int is_worth_another_try(pid_t pid, const struct hark_err *err)
{
	return err->sys == EAGAIN ||
	       (err->code == HARK_EGONE && proc_living(pid) != 0);
}

int attach_open(struct door *d, pid_t pid, struct hark_err *err)
{
	enum { TRIES = 20, YIELDS_EACH = 50 };

	for (int i = 0; i < TRIES; i++) {
		*err = (struct hark_err){0};
		if (refuse_process(pid, err) == 0) {
			door_init(d, pid);
			if (hold_all(d, err) == 0)
				return 0;
			attach_close(d);
		}
		if (!is_worth_another_try(pid, err))
			break;
		tracee_pause(i * YIELDS_EACH);
	}
	return -1;
}

/* One that cannot be let go has ended, or is about to; it is gone only when
 * that has been heard, and another may wait for it. */
static void leave(pid_t tid)
{
	enum { LIMIT_NS = 100000000 };
	struct hark_err ignored;
	int status;

	if (ptrace(PTRACE_DETACH, tid, 0, 0) < 0)
		tracee_wait(tid, tracee_now_ns() + LIMIT_NS, &status, &ignored);
}

void attach_close(struct door *d)
{
	for (int i = 0; i < d->n_threads; i++)
		leave(d->threads[i].tid);
	door_fini(d);
}
