/* outside/native.c - start or attach, pass once, leave. */
#include "outside/native.h"

#include "outside/attach.h"
#include "outside/door.h"
#include "outside/refuse.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* -- From the channel to whoever watches -- */

struct sink {
	const struct native_watch *watch;
	int seen;
};

/* Each ring holds exactly one record, written whole. */
static int take_visit(void *ctx, uint32_t ring, uint32_t tid,
		      const uint8_t *bytes, uint32_t len, struct hark_err *err)
{
	struct sink *s = ctx;
	struct wire_visit v;

	(void)ring;
	if (len != sizeof v)
		return err_set(err, HARK_EBUG, 0,
			       "thread %u reported %u bytes, not %zu", tid, len,
			       sizeof v);
	memcpy(&v, bytes, sizeof v);
	if (v.type != WIRE_VISIT || v.size != sizeof v)
		return err_set(err, HARK_EBUG, 0,
			       "thread %u reported something unknown", tid);
	s->seen++;
	return s->watch->visited(s->watch->ctx, &v, err);
}

/* -- Passing -- */

static int pass(struct door *d, const struct native_watch *w,
		struct hark_err *err)
{
	struct sink s = {w, 0};
	struct hark_err second;
	int rc = -1;

	for (int i = 0; i < d->n_threads; i++)
		if (refuse_thread(d->pid, d->threads[i].tid,
				  &d->threads[i].seen, err) < 0)
			return -1;
	if (door_enter(d, err) == 0 && door_visit(d, err) == 0 &&
	    drain_pass(d->drain, take_visit, &s, err) >= 0)
		rc = 0;
	if (rc == 0 && s.seen != d->n_threads)
		rc =
		    err_set(err, HARK_EBUG, 0, "%d threads passed, %d reported",
			    d->n_threads, s.seen);
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	return rc;
}

int native_pass(pid_t pid, const pid_t *tids, int n,
		const struct native_watch *w, struct hark_err *err)
{
	struct door d;
	int rc = 0;

	door_init(&d, pid);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = door_add(&d, tids[i], err);
	if (rc == 0)
		rc = refuse_executed(pid, &d.threads[0].seen, err);
	if (rc == 0)
		rc = pass(&d, w, err);
	door_fini(&d);
	return rc;
}

int native_start(const struct launch *plan, const struct native_watch *w,
		 pid_t *out, struct hark_err *err)
{
	struct attach_pin pin;
	pid_t pid;
	int rc;

	if (launch_start(plan, &pid, err) < 0)
		return -1;
	pin = attach_pin(pid);
	rc = native_pass(pid, &pid, 1, w, err);
	if (rc == 0) {
		ptrace(PTRACE_DETACH, pid, 0, 0);
		*out = pid;
	} else {
		launch_abandon(plan, pid, err);
	}
	attach_unpin(&pin);
	return rc;
}

int native_attach(pid_t pid, const struct native_watch *w, struct hark_err *err)
{
	struct attach_pin pin = attach_pin(pid);
	struct door d;
	int rc = attach_open(&d, pid, err);

	if (rc == 0) {
		rc = pass(&d, w, err);
		attach_close(&d);
	}
	attach_unpin(&pin);
	return rc;
}
