/* probe/insert_timers.c - timers of the threads that are there, and all of them
 * away again (native/timer.c). */
#include "probe/insert_priv.h"

#include "native/home.h"
#include "outside/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

/* -- There -- */

/* In the process: what the calls read and write. */
struct paper {
	struct itimerspec every;
	int32_t id, zero;
	struct {
		uint64_t value;
		int32_t signo, notify, tid;
		uint8_t rest[44];
	} event;
};
_Static_assert(sizeof(struct paper) <=
		   sizeof(((struct native_home *)0)->scratch),
	       "fits");

/* The clock of a thread's CPU time, for others in its process. */
static uint64_t clock_of(pid_t tid)
{
	enum { PER_THREAD = 4, SCHEDULED = 2 };

	return (uint64_t)(int64_t)(int32_t)((~(uint32_t)tid << 3) | PER_THREAD |
					    SCHEDULED);
}

static int refused(const struct door *d, int64_t answer, struct hark_err *err)
{
	return err_set(err, HARK_EREFUSE, (int)-answer,
		       "process %d cannot have a timer: %s", d->pid,
		       strerror((int)-answer));
}

static int arm(const struct insertion *i, struct door *d, pid_t tid,
	       uint32_t *timer, struct hark_err *err)
{
	const uint64_t at = i->home + offsetof(struct native_home, scratch);
	const uint64_t ns = insert_shared_plan(i)->period_ns;
	const struct timespec period = {(time_t)(ns / 1000000000),
					(long)(ns % 1000000000)};
	struct paper p = {
	    .every = {period, period},
	    .event = {COLLECT_TICK, SIGTRAP, SIGEV_THREAD_ID, tid, {0}}};
	int64_t answer;

	if (remote_write(d, at, &p, sizeof p, err) < 0 ||
	    gate_call(&d->gate, &answer, err, SYS_timer_create, clock_of(tid),
		      at + offsetof(struct paper, event),
		      at + offsetof(struct paper, id), 0, 0, 0) < 0)
		return -1;
	if (answer < 0)
		return refused(d, answer, err);
	if (remote_read(d, at, &p, sizeof p, err) < 0)
		return -1;
	*timer = (uint32_t)p.id + 1;
	return gate_call(&d->gate, &answer, err, SYS_timer_settime,
			 (uint64_t)p.id, 0, at + offsetof(struct paper, every),
			 0, 0, 0);
}

static int arm_all(const struct insertion *i, struct door *d,
		   struct hark_err *err)
{
	for (int k = 0; k < d->n_threads && k < NATIVE_ARMED; k++) {
		struct native_armed a = {
		    .tid = (uint32_t)proc_inner_id(d->pid, d->threads[k].tid)};
		const uint64_t n = (uint64_t)k + 1;

		if (d->threads[k].progress != DOOR_DEAD &&
		    arm(i, d, (pid_t)a.tid, &a.timer, err) < 0)
			return -1;
		if (remote_write(d,
				 i->home + offsetof(struct native_home, armed) +
				     (uint64_t)k * sizeof a,
				 &a, sizeof a, err) < 0 ||
		    remote_write(
			d, i->home + offsetof(struct native_home, n_armed), &n,
			sizeof n, err) < 0)
			return -1;
	}
	return 0;
}

int insert_arm(const struct insertion *i, struct door *d, struct hark_err *err)
{
	struct hark_err second;
	int rc;

	d->name = INSERT_NAME;
	rc = door_begin(d, err);
	if (rc == 0)
		rc = arm_all(i, d, err);
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	return rc;
}

/* -- And back -- */

/* timer is where its number is. */
static int disarm(struct door *d, uint64_t at, uint32_t timer,
		  struct hark_err *err)
{
	const uint32_t none = 0;
	int64_t answer;

	if (timer == 0)
		return 0;
	return gate_call(&d->gate, &answer, err, SYS_timer_delete,
			 (uint64_t)timer - 1, 0, 0, 0, 0, 0) < 0
		   ? -1
		   : remote_write(d, at, &none, sizeof none, err);
}

static int disarm_threads(const struct insert_left *l, struct door *d,
			  struct hark_err *err)
{
	if (insert_read_table(l, d, err) < 0)
		return -1;
	for (int k = 0; k < d->n_threads; k++) {
		struct collect_area a;
		uint64_t area = insert_find_area(l, d, k, &a), offset;
		uint32_t timer;

		if (area == 0)
			continue;
		timer = (uint32_t)native_timer_of(&a, &offset);
		if (disarm(d, area + offset, timer, err) < 0)
			return -1;
	}
	return 0;
}

/* Those that their threads have not seen yet. */
static int disarm_others(const struct insert_left *l, struct door *d,
			 struct hark_err *err)
{
	const uint64_t home = l->head.home;
	struct native_armed a;
	uint64_t n;

	if (remote_read(d, home + offsetof(struct native_home, n_armed), &n,
			sizeof n, err) < 0)
		return -1;
	for (uint64_t k = 0; k < n && k < NATIVE_ARMED; k++) {
		const uint64_t at =
		    home + offsetof(struct native_home, armed) + k * sizeof a;

		if (remote_read(d, at, &a, sizeof a, err) < 0 ||
		    disarm(d, at + offsetof(struct native_armed, timer),
			   a.timer, err) < 0)
			return -1;
	}
	return 0;
}

int insert_disarm(const struct insert_left *l, struct door *d,
		  struct hark_err *err)
{
	if (!(l->head.flags & COLLECT_TIMERS))
		return 0;
	return disarm_threads(l, d, err) < 0 ? -1 : disarm_others(l, d, err);
}
