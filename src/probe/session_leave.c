/* probe/session_leave.c - probes out of a process again.
 *
 * A thread that is in a probe is let go until it is out: that may take more
 * than one attempt. Whoever waits for hark meanwhile does so in a probe. */
#include "probe/session_priv.h"

#include "outside/hold.h"
#include "outside/tracee.h"

#include <poll.h>

enum { LEAVING_S = 10 };

/* Has it ended? Its status is left for whoever may wait for it. */
bool session_has_ended(struct session *s)
{
	struct pollfd p = {.fd = s->pidfd, .events = POLLIN};

	if (!s->is_gone && poll(&p, 1, 0) > 0)
		s->is_gone = true;
	return s->is_gone;
}

/* Threads that are about to execute something do not wait for hark. */
void session_answer_execs(struct session *s)
{
	for (unsigned i = 0; s->board != NULL && i < WIRE_ASKS; i++) {
		uint64_t request = board_exec(s->board, i);

		if (request != 0)
			board_answer_exec(s->board, i, request, WIRE_ASK_ALONE);
	}
}

/* Once: 0: they are out, or there is no process; 1: somebody was in a probe. */
static int try_out(struct session *s, struct hark_err *err)
{
	int rc;

	session_answer_execs(s);
	if (!s->is_held && !session_has_ended(s) && session_hold(s, err) < 0) {
		tracee_pause(0); /* it may have ended just now */
		return session_has_ended(s) ? 0 : -1;
	}
	if (!s->is_held)
		return 0;
	rc = insert_remove(s->now.insertion, &s->door, err);
	session_let_go(s);
	return rc < 0 && session_has_ended(s) ? 0 : rc;
}

int session_take_out(struct session *s, struct hark_err *err)
{
	int64_t limit = tracee_now_ns() + LEAVING_S * 1000000000LL;
	int rc;

	for (int i = 0; (rc = try_out(s, err)) > 0; i++) {
		if (tracee_now_ns() > limit)
			return err_set(err, HARK_ETIME, 0,
				       "process %d: a thread does not leave a "
				       "probe; its code stays there",
				       (int)s->pid);
		tracee_pause(i);
	}
	return rc;
}

/* H1: it never was, or goes on. */
void session_undo(struct session *s)
{
	struct hark_err second;

	if (s->p.launch != NULL) {
		if (s->pid != 0)
			hold_end(s->pid);
		if (s->is_held)
			door_fini(&s->door);
		s->is_held = false;
		return;
	}
	if (s->now.insertion != NULL && s->is_held)
		session_take_out(s, &second);
	session_let_go(s);
}
