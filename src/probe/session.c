/* probe/session.c - a session's life, from its first probe to its last word.
 * How each step is done is told in session_*.c. */
#include "probe/session_priv.h"

#include "base/fmt.h"
#include "outside/hold.h"
#include "outside/proc.h"
#include "outside/tracee.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GLANCE_NS = 5000000 }; /* somebody may wait for hark */

void session_note(const struct session *s, bool is_error, const char *text)
{
	s->p.note(s->p.ctx, is_error, text);
}

static void tell_missing(const struct session *s)
{
	char *line = s->now.draft.missing, *end;

	for (; line != NULL && *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		session_note(s, false, line);
	}
}

static void tell_refused(const struct session *s)
{
	char line[128];

	if (s->refused == 0)
		return;
	fmt_text(line, sizeof line,
		 "%zu of %zu probes are impossible; 'hark probe -l' says why",
		 s->refused, listing_count(s->now.draft.listing));
	session_note(s, false, line);
}

static int open_all(struct session *s, bool *has_begun, struct hark_err *err)
{
	*has_begun = s->p.launch == NULL;
	if (image_new(&s->image, err) < 0)
		return -1;
	image_use_cache(s->image);
	if (s->p.samples != NULL &&
	    sampling_new(s->p.samples, s->p.follows, s->image, &s->sampling,
			 err) < 0)
		return -1;
	if (s->p.launch != NULL) {
		pid_t pid;

		if (hold_start(s->p.launch, &pid, err) < 0)
			return -1;
		*has_begun = true;
		s->pid = pid;
	}
	told_init(&s->told, s->pid);
	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (s->pidfd < 0)
		return err_set(err, errno == ESRCH ? HARK_EGONE : HARK_EIO,
			       errno, "process %d: %s", (int)s->pid,
			       errno == ESRCH ? "there is no such process"
					      : strerror(errno));
	if (s->p.launch != NULL ? session_enter_started(s, err) < 0
				: session_enter_running(s, err) < 0)
		return -1;
	if (session_open_output(s, err) < 0 || session_watch(s, err) < 0)
		return -1;
	tell_missing(s);
	tell_refused(s);
	unbound_each(s->now.draft.unbound, PROBE_AT_BEGIN, session_run, s);
	return session_drain(s, true, err);
}

int session_open(const struct session_plan *p, struct session **out,
		 bool *has_begun, struct hark_err *err)
{
	struct session *s = calloc(1, sizeof *s);

	*has_begun = true;
	if (s == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	s->p = *p;
	s->pid = p->launch == NULL ? p->pid : 0;
	s->pidfd = -1;
	clock_look(&s->clock);
	if (open_all(s, has_begun, err) < 0) {
		session_undo(s);
		session_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void session_close(struct session *s)
{
	if (s == NULL)
		return;
	session_let_go(s);
	output_free(s->output);
	board_close(s->board);
	bury_fini(&s->bury);
	told_fini(&s->told);
	namesake_free(s->names);
	ticking_free(s->ticking);
	sampling_free(s->sampling);
	session_drop_stage(&s->now);
	for (size_t i = 0; i < s->n_others; i++)
		session_drop_stage(&s->others[i]);
	free(s->others);
	session_drop_children(s);
	for (size_t i = 0; i < SESSION_NAMINGS; i++)
		naming_free(s->namings[i]);
	image_free(s->image);
	if (s->pidfd >= 0)
		close(s->pidfd);
	free(s->sites);
	free(s->faults);
	free(s);
}

pid_t session_pid(const struct session *s)
{
	return s->pid;
}

int session_go(struct session *s, struct hark_err *err)
{
	if (session_tick(s, &s->door, &s->now, err) < 0)
		return -1;
	unbound_start(s->now.draft.unbound, tracee_now_ns());
	session_let_go(s);
	return 0;
}

int session_step(struct session *s, enum session_status *out,
		 struct hark_err *err)
{
	bool is_over = session_has_ended(s);
	int status;

	if (session_hear_exec(s, err) < 0)
		return -1;
	if (!is_over)
		unbound_due(s->now.draft.unbound, tracee_now_ns(), session_run,
			    s);
	if (session_drain(s, is_over, err) < 0)
		return -1;
	if (!is_over && session_hear_loaded(s, err) < 0)
		return -1;
	if (s->sampling != NULL && sampling_step(s->sampling, err) < 0)
		return -1;
	if (!is_over)
		session_calm(s);
	*out = output_has_exit(s->output, &status) ? SESSION_EXIT
	       : is_over			   ? SESSION_ENDED
						   : SESSION_ON;
	return 0;
}

void session_wait(struct session *s)
{
	int64_t tick = unbound_next(s->now.draft.unbound),
		pause = (int64_t)s->p.options->switchrate;

	if (s->is_busy)
		return;
	pause = pause < GLANCE_NS ? pause : GLANCE_NS;
	if (s->sampling != NULL && sampling_rest(s->sampling) < (uint64_t)pause)
		pause = (int64_t)sampling_rest(s->sampling);
	if (tick != INT64_MAX) {
		tick -= tracee_now_ns();
		pause = tick < pause ? tick : pause;
	}
	if (pause > 0)
		board_wait(s->board, (uint64_t)pause);
}

int session_stop(struct session *s, struct hark_err *err)
{
	const struct insert_proof proof = {session_is_ours, s};
	struct hark_err second;
	int rc = 0;

	if (s->sampling != NULL && sampling_finish(s->sampling, err) < 0)
		rc = -1;
	if (s->ticking != NULL)
		ticking_stop(s->ticking);
	if (s->sampling != NULL)
		sampling_stop(s->sampling);
	board_leave(s->board);
	if (session_take_out(s, rc < 0 ? &second : err) < 0)
		rc = -1;

	insert_leave_children(&proof);
	if (session_drain(s, true, rc < 0 ? &second : err) < 0)
		return -1;
	output_after_exit(s->output);
	unbound_each(s->now.draft.unbound, PROBE_AT_END, session_run, s);
	if (session_drain(s, true, rc < 0 ? &second : err) < 0 ||
	    output_rest(s->output, rc < 0 ? &second : err) < 0 ||
	    output_flush(s->output, rc < 0 ? &second : err) < 0)
		return -1;
	return rc;
}

bool session_exit_status(const struct session *s, int *out)
{
	return output_has_exit(s->output, out);
}
