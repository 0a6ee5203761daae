/* probe/session_enter.c - probes into a process: into one that hark starts, and
 * into one that runs.
 *
 * A program that hark starts is held while all is planned. A process that runs
 * already is looked at while it runs, so that it is stopped for the insertion
 * alone; if its modules have changed meanwhile, or the plan does not fit any
 * more, it is planned once more, with all threads stopped. */
#include "probe/session_priv.h"

#include "native/collect.h"
#include "outside/attach.h"
#include "outside/proc.h"
#include "outside/refuse.h"
#include "probe/errno_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* MORE_SITES: for what comes later, and so many times what the first program
 * has. */
enum { NAME_SIZE = 64, MORE_SITES = 16384, MORE_TIMES = 8 };

/* -- Insertion -- */

static int find_errno(const struct draft *d, pid_t pid, int64_t *out,
		      struct hark_err *err)
{
	if (!draft_wants_errno(d))
		return 0;
	*out = errno_place(d->modules, pid);
	return *out != 0 ? 0
			 : err_set(err, HARK_EREFUSE, 0,
				   "errno is not known: the program has no "
				   "__errno_location that tells where it is");
}

static int make_draft(struct session *s, struct hark_err *err)
{
	struct draft *d = &s->now.draft;

	draft_fini(d);
	if (draft_init(d, s->image, s->pid, s->pid, s->p.script, s->p.options,
		       s->p.follows ? DRAFT_FOLLOWED : DRAFT_INSERTED, err) < 0)
		return -1;
	return match_check(d->match, d->listing, &s->refused, err);
}

/* As ps(1) has it. */
static void read_name(pid_t pid, char out[NAME_SIZE])
{
	int fd = proc_open(pid, 0, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, NAME_SIZE - 1) : -1;

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Waits need no clock, only what is done for ticks in system calls. */
static bool is_ticking(const struct session *s)
{
	return s->p.samples == NULL || s->p.samples->time != SESSION_OFF_CPU;
}

/* There is one, for samples or for profile-N; it is the same for all programs.
 */
static int make_clock(struct session *s, const struct draft *p,
		      struct insert_plan *plan, struct hark_err *err)
{
	const uint64_t period_ns = s->p.samples != NULL
				       ? s->p.samples->period_ns
				       : unbound_shortest(p->unbound);

	if (period_ns == 0)
		return 0;
	if (is_ticking(s) && s->ticking == NULL &&
	    ticking_new(period_ns, s->p.follows, &s->ticking, err) < 0)
		return -1;
	plan->flags |= s->ticking != NULL ? ticking_flags(s->ticking)
					  : (uint32_t)COLLECT_TICKS;
	plan->period_ns = period_ns;
	if (s->p.samples != NULL) {
		plan->flags |= COLLECT_SAMPLES |
			       (s->p.samples->checks ? COLLECT_CHECKS : 0) |
			       (s->p.samples->is_strict ? COLLECT_STRICT : 0);
		plan->scan = s->p.samples->scan;
	}
	return 0;
}

/* Through the door; the process stays held. after: the program before; NULL:
 * it is the first. */
int session_insert(struct session *s, struct door *d, struct stage *st,
		   const struct insertion *after, struct hark_err *err)
{
	struct draft *p = &st->draft;
	char name[NAME_SIZE] = "";
	struct insert_plan plan = {
	    .modules = p->modules,
	    .listing = p->listing,
	    .program = p->program,
	    .clauses = match_clauses,
	    .ctx = p->match,
	    .flags = COLLECT_EXECS | (s->p.follows ? COLLECT_FOLLOWS : 0) |
		     (draft_reads(p) ? COLLECT_GUARDS : 0),
	    .unbound = p->unbound,
	    .inner_pid = proc_inner_id(d->pid, d->pid),
	    .execname = name,
	    .after = after,
	    .first = st->first,
	};

	if (find_errno(p, d->pid, &plan.errno_offset, err) < 0 ||
	    make_clock(s, p, &plan, err) < 0)
		return -1;
	read_name(d->pid, name);
	clock_calibrate(&s->clock, &plan.clock);

	options_geometry(s->p.options, &plan.geometry);
	if (after == NULL)
		s->n_sites =
		    MORE_SITES + MORE_TIMES * (listing_count(p->listing) +
					       unbound_count(p->unbound));
	plan.geometry.max_sites = (uint32_t)s->n_sites;
	if (p->watches)
		plan.loader_state = p->loader_state;
	if (insert_open(d, &plan, &st->insertion, err) < 0)
		return -1;
	if (!st->repeats)
		s->next_site = insert_next(st->insertion);
	return 0;
}

static int insert(struct session *s, struct hark_err *err)
{
	s->now.first = (uint32_t)unbound_count(s->now.draft.unbound);
	if (session_insert(s, &s->door, &s->now, NULL, err) < 0)
		return -1;
	return told_set_board(&s->told, insert_board_file(s->now.insertion)) ==
		       0
		   ? 0
		   : err_set(err, HARK_EIO, errno,
			     "cannot look at shared memory: %s",
			     strerror(errno));
}

/* -- Holding -- */

/* Lets go of a held process. */
void session_let_go(struct session *s)
{
	if (!s->is_held)
		return;
	s->is_held = false;
	attach_close(&s->door);
}

/* A program that is held at its entry becomes a door. */
static int hold_by_door(struct session *s, struct hark_err *err)
{
	door_init(&s->door, s->pid);
	if (door_add(&s->door, s->pid, err) < 0) {
		door_fini(&s->door);
		return -1;
	}
	s->is_held = true;
	return refuse_executed(s->pid, &s->door.threads[0].seen, err);
}

int session_hold(struct session *s, struct hark_err *err)
{
	if (attach_open(&s->door, s->pid, err) < 0)
		return -1;
	s->is_held = true;
	return 0;
}

/* -- All of it -- */

int session_enter_started(struct session *s, struct hark_err *err)
{
	if (make_draft(s, err) < 0 || hold_by_door(s, err) < 0)
		return -1;
	return insert(s, err);
}

/* Before any system call is made in them, which a filter may kill them for. */
static int may_enter(const struct session *s, struct hark_err *err)
{
	const struct door *d = &s->door;

	for (int i = 0; i < d->n_threads; i++)
		if (refuse_thread(d->pid, d->threads[i].tid,
				  &d->threads[i].seen, err) < 0)
			return -1;
	return 0;
}

int session_enter_running(struct session *s, struct hark_err *err)
{
	struct hark_err first;

	if (refuse_process(s->pid, err) < 0 || insert_adopt(s->pid, err) < 0 ||
	    make_draft(s, err) < 0 || session_hold(s, err) < 0 ||
	    may_enter(s, err) < 0 ||
	    insert_look(s->pid, err) < 0) /* somebody may have been faster */
		return -1;
	if (naming_is_fresh(s->now.draft.naming) && insert(s, &first) == 0)
		return 0;
	/* It has changed since: once more, as it stands. */
	return make_draft(s, err) < 0 ? -1 : insert(s, err);
}
