/* outside/attach.c - hold every thread of a running process.
 *
 * Threads may be born while hark looks: passes over /proc/PID/task are made
 * until one finds nobody new. Then all are stopped, for a stopped thread makes
 * no new one. A thread that ended meanwhile is forgotten; one that does not
 * stop in time (it waits for a vfork child, or for a dead disk) makes the
 * whole attempt fail, with every other thread let go.
 *
 * One that executes another program takes the number of the first thread, and
 * all others end, stopped or not. So that number may stand for somebody else
 * between two looks. If hark had seized the one that executes, it is hark's
 * under the new number, too, and waitpid knows nothing of its old one; if not,
 * the new program is not hark's, and ptrace says ESRCH. Nothing that was read
 * of an old program may ever be written into a new one:
 *
 * A1  The census: there are as many threads as are held, and each is at a stop
 *     that was reported (tracee_is_held). Then nobody runs who could execute or
 *     make anything; until the first is let go, only SIGKILL changes that.
 *     Threads are counted, since the list may lack some (proc_threads).
 * A2  Before the census nothing is written but rax (tracee_set_rax), and after
 *     it whoever reports an exec event is gone (tracee_stop).
 * A3  The census fails where somebody executes: all are let go, and the next
 *     attempt meets the new program.
 * A4  PTRACE_SEIZE waits for an execve, and seizes a thread that it knows by
 *     the number that it had. So the first thread is let go last: it may be
 *     hark's though hark never asked for it.
 * A5  execve waits until hark has heard of the end of those that it has seized:
 *     whoever is let go is looked at in turns, and not waited for alone. */
#include "outside/attach.h"

#include "outside/proc.h"
#include "outside/refuse.h"
#include "outside/rules.h"
#include "outside/tracee.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
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

/* -- Letting go -- */

/* A call that answers a stop with EINTR is made again. */
static void mend_call(pid_t tid)
{
	struct user_regs_struct regs;
	struct hark_err ignored;

	if (tracee_get_regs(tid, &regs, &ignored) == 0 && rules_kernel(&regs))
		tracee_set_rax(tid, regs.rax, &ignored);
}

/* One look at a thread that may be seized: 1 it goes on as if it had not been
 * stopped, or is gone; 0 not yet. One that is held may not be mended yet: there
 * was no room for it in the door. */
static int let_go(pid_t tid)
{
	struct hark_err ignored;
	int rc = 1;

	if (!tracee_is_held(tid)) {
		if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
			return 1; /* not hark's */
		rc = tracee_stopped(tid, &ignored);
	}
	if (rc != 1)
		return rc < 0;
	mend_call(tid);
	return ptrace(PTRACE_DETACH, tid, 0, 0) == 0;
}

/* Nobody hears of the end of the first while others live. */
static int has_ended(const struct door *d, pid_t tid)
{
	return tid == d->pid && proc_state(d->pid, tid) == 'Z';
}

enum { RELEASE_NS = 1000000000 };

void attach_release(pid_t tid)
{
	int64_t limit = tracee_now_ns() + RELEASE_NS;

	for (int round = 0; !let_go(tid) && tracee_now_ns() < limit; round++)
		tracee_pause(round);
}

/* Those in the door and those that are awaited: A4, A5. */
static void let_all_go(struct door *d, pid_t *awaited, int n)
{
	int64_t limit = tracee_now_ns() + RELEASE_NS;

	for (int round = 0; tracee_now_ns() < limit; round++) {
		int held = 0, left = 0;

		for (int i = 0; i < d->n_threads; i++)
			if (d->threads[i].tid != d->pid &&
			    !let_go(d->threads[i].tid))
				d->threads[held++] = d->threads[i];
		for (int i = 0; i < n; i++)
			if (awaited[i] != d->pid && !let_go(awaited[i]))
				awaited[left++] = awaited[i];
		d->n_threads = held;
		n = left;
		if (held + left == 0)
			break;
		tracee_pause(round);
	}
	if (!let_go(d->pid) && !has_ended(d, d->pid))
		attach_release(d->pid);
	door_fini(d);
}

/* -- Stopping all -- */

struct crowd {
	struct door *door;
	pid_t *listed;	/* owned: who is there, says /proc */
	pid_t *awaited; /* owned: seized and asked to stop */
	int n_awaited;
};

static int known(const struct door *d, pid_t tid)
{
	for (int i = d->n_threads - 1; i >= 0; i--)
		if (d->threads[i].tid == tid)
			return 1;
	return 0;
}

static int is_awaited(const struct crowd *c, pid_t tid)
{
	for (int i = 0; i < c->n_awaited; i++)
		if (c->awaited[i] == tid)
			return 1;
	return 0;
}

static int is_executing(const struct door *d, struct hark_err *err)
{
	return err_set(err, HARK_ETIME, EAGAIN,
		       "process %d executes other programs all the time",
		       d->pid);
}

/* By this thread of hark's? */
static bool is_seized(pid_t pid, pid_t tid)
{
	uint64_t tracer = 0;

	return proc_status(pid, tid, "TracerPid", 10, &tracer) == 0 &&
	       tracer == (uint64_t)gettid();
}

/* Asks a thread to stop: 1 it will, 0 it is gone, -1 failed.
 *
 * The kernel refuses a thread that has ended like one that must not be traced.
 * By the time that one looks, execve may have put another in its place: so
 * where no reason for a refusal is known, the thread is asked again, for a
 * while. Or the one in its place had been seized under another number. */
static int ask(const struct door *d, pid_t tid, struct hark_err *err)
{
	enum { ASK_NS = 300000000 };
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
	int64_t since = tracee_now_ns(), limit = since + ASK_NS;
	int e = EPERM;

	for (int round = 0; e == EPERM; round++) {
		char state;

		e = tracee_seize(tid, options);
		if (e == 0)
			return 1;
		state = proc_state(d->pid, tid);
		if (e == ESRCH || state == 'Z' || state == 'X' || state == 0)
			return 0;
		if (is_seized(d->pid, tid))
			e = EAGAIN;
		if (refuse_has_reason(d->pid, tid) || tracee_now_ns() > limit ||
		    tracee_gives_up(since))
			break;
		tracee_pause(round);
	}
	return e == EAGAIN ? is_executing(d, err)
			   : refuse_explain(d->pid, tid, e, err);
}

/* A thread asked to stop: 1 it has and is added, 0 not yet, -1 failed (it may
 * be gone). One that is killed where it has stopped reports its end. */
static int take(struct door *d, pid_t tid, struct hark_err *err)
{
	int rc = tracee_stopped(tid, err);

	if (rc != 1 || door_add(d, tid, err) == 0)
		return rc;
	return err->code == HARK_EGONE ? 0 : -1;
}

/* Takes those that have stopped; threads that ended are forgotten. */
static int take_stopped(struct crowd *c, struct hark_err *err)
{
	int left = 0, rc = 0;

	for (int i = 0; i < c->n_awaited; i++) {
		pid_t tid = c->awaited[i];
		int got = rc < 0 ? 0 : take(c->door, tid, err);

		if (got < 0 && err->code != HARK_EGONE)
			rc = -1;
		if (got == 0 || rc < 0)
			c->awaited[left++] = tid;
	}
	c->n_awaited = left;
	return rc;
}

static int does_not_stop(const struct door *d, pid_t tid, struct hark_err *err)
{
	return err_set(err, HARK_ETIME, 0,
		       "process %d: thread %d does not stop (state %c: it "
		       "waits for a child or a device); it goes on unchanged",
		       d->pid, tid, proc_state(d->pid, tid));
}

static int all_are_held(const struct door *d)
{
	for (int i = 0; i < d->n_threads; i++)
		if (!tracee_is_held(d->threads[i].tid))
			return 0;
	return 1;
}

/* It takes long: does somebody wait for hark (A5), or hark for one that has
 * ended? */
static int look_around(struct crowd *c, struct hark_err *err)
{
	int left = 0;

	if (!all_are_held(c->door))
		return is_executing(c->door, err);
	for (int i = 0; i < c->n_awaited; i++)
		if (!has_ended(c->door, c->awaited[i]))
			c->awaited[left++] = c->awaited[i];
	c->n_awaited = left;
	return 0;
}

static int await_all(struct crowd *c, struct hark_err *err)
{
	int64_t since = tracee_now_ns(), deadline = since + c->door->limit_ns;
	enum { LOOK_AGAIN = 32 };

	for (int round = 0; c->n_awaited > 0; round++) {
		if (tracee_now_ns() > deadline || tracee_gives_up(since))
			return does_not_stop(c->door, c->awaited[0], err);
		if (round % LOOK_AGAIN == LOOK_AGAIN - 1 &&
		    look_around(c, err) < 0)
			return -1;
		tracee_pause(round);
		if (take_stopped(c, err) < 0)
			return -1;
	}
	return 0;
}

/* All are asked before the last is waited for: on busy CPUs each must first
 * get its turn to stop, and those turns may come at the same time. But each is
 * taken as soon as it has stopped (see rules_kernel). How many stopped. */
static int hold_each(struct crowd *c, int n, struct hark_err *err)
{
	struct door *d = c->door;
	int before = d->n_threads;

	for (int i = 0; i < n; i++) {
		pid_t tid = c->listed[i];
		int rc = 0;

		if (!known(d, tid) && !is_awaited(c, tid))
			rc = ask(d, tid, err);
		if (rc < 0)
			return -1;
		if (rc > 0)
			c->awaited[c->n_awaited++] = tid;
		if (take_stopped(c, err) < 0)
			return -1;
	}
	return await_all(c, err) < 0 ? -1 : d->n_threads - before;
}

static int has_gone(const struct door *d, struct hark_err *err)
{
	return err_set(err, HARK_EGONE, ESRCH, "process %d ended meanwhile",
		       d->pid);
}

/* One pass over the threads there are; how many were new, or -1. */
static int hold_new(struct crowd *c, struct hark_err *err)
{
	pid_t pid = c->door->pid;
	int n = proc_threads(pid, c->listed, MAX_THREADS);

	if (n < 0)
		return has_gone(c->door, err);
	if (n > MAX_THREADS)
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d has more than %d threads", pid,
			       MAX_THREADS);
	return hold_each(c, n, err);
}

/* A1: 1 these are all, 0 they are not, -1 failed. */
static int census(const struct door *d, struct hark_err *err)
{
	int first = known(d, d->pid);
	int ended = !first && has_ended(d, d->pid);
	int n = proc_count(d->pid);

	if (d->n_threads == 0 || n < 0)
		return has_gone(d, err);
	if (!all_are_held(d))
		return is_executing(d, err);
	return (first || ended) && n == d->n_threads + ended;
}

static int hold_all(struct crowd *c, struct hark_err *err)
{
	const struct door *d = c->door;
	int64_t since = tracee_now_ns(), deadline = since + d->limit_ns;

	for (int round = 0;; round++) {
		int fresh = hold_new(c, err);
		int all = fresh == 0 ? census(d, err) : 0;

		if (fresh < 0 || all < 0)
			return -1;
		if (all)
			return 0;
		if (tracee_now_ns() > deadline || tracee_gives_up(since))
			return err_set(err, HARK_ETIME, 0,
				       "process %d has a thread that cannot be "
				       "held",
				       d->pid);
		if (fresh == 0)
			tracee_pause(round);
	}
}

static int open_once(struct door *d, pid_t pid, struct hark_err *err)
{
	struct crowd c = {.door = d};
	int rc = -1;

	if (refuse_process(pid, err) < 0)
		return -1;
	door_init(d, pid);
	c.listed = calloc(MAX_THREADS, sizeof *c.listed);
	c.awaited = calloc(MAX_THREADS, sizeof *c.awaited);
	if (c.listed == NULL || c.awaited == NULL)
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	else
		rc = hold_all(&c, err);
	if (rc < 0)
		let_all_go(d, c.awaited, c.n_awaited);
	free(c.listed);
	free(c.awaited);
	return rc;
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
	enum { LIMIT_S = 5, YIELDS_EACH = 50 };
	int64_t since = tracee_now_ns(), limit = since + LIMIT_S * 1000000000LL;

	for (int i = 0;; i++) {
		*err = (struct hark_err){0};
		if (open_once(d, pid, err) == 0)
			return 0;
		if (!is_worth_another_try(pid, err) ||
		    tracee_now_ns() > limit || tracee_gives_up(since))
			return -1;
		tracee_pause(i * YIELDS_EACH);
	}
}

void attach_close(struct door *d)
{
	let_all_go(d, NULL, 0);
}
