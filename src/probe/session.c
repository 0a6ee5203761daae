/* probe/session.c - how the parts of hark probe come together.
 *
 * A program that hark starts is held while all is planned. A process that runs
 * already is looked at while it runs, so that it is stopped for the insertion
 * alone; if its modules have changed meanwhile, or the plan does not fit any
 * more, it is planned once more, with all threads stopped. */
#include "probe/session.h"

#include "base/fmt.h"
#include "outside/attach.h"
#include "outside/hold.h"
#include "outside/proc.h"
#include "outside/refuse.h"
#include "outside/tracee.h"
#include "probe/along.h"
#include "probe/board.h"
#include "probe/clock.h"
#include "probe/collect.h"
#include "probe/draft.h"
#include "probe/errno_place.h"
#include "probe/insert.h"
#include "probe/late.h"
#include "probe/output.h"
#include "probe/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LEAVING_S = 10,
	FAULTS_TOLD = 10,
	NAME_SIZE = 64,
	MUCH = 1 << 18,
	GLANCE_NS = 5000000, /* somebody may wait for hark */
	MORE_SITES = 16384,  /* for programs that are executed later, and */
	MORE_TIMES = 8,	     /* so many times what the first one has */
};

/* A program that probes were put into. */
struct stage {
	struct draft draft;
	struct insertion *insertion; /* owned */
	struct late *late;	     /* owned; or NULL */
	uint32_t first;		     /* number of its first site */
	bool repeats; /* the same program as one before: same numbers */
};

struct session {
	struct session_plan p;
	pid_t pid;
	int pidfd;	     /* owned */
	struct image *image; /* owned */
	struct draft draft;
	struct clock_look clock; /* a first look */
	struct door door;	 /* while is_held */
	bool is_held, is_gone;
	struct insertion *insertion; /* owned */
	struct stage *others;	     /* owned: all but the newest one of pid */
	size_t n_others;
	uint32_t first; /* as in struct stage */
	bool repeats;
	uint32_t next_site;	   /* behind those of all programs */
	struct board *board;	   /* owned */
	struct output *output;	   /* owned */
	struct output_site *sites; /* owned; n_sites */
	struct late *late;	   /* owned; NULL: nothing is awaited */
	size_t n_sites;
	struct board_record *faults; /* owned: ERROR is still to run for them */
	size_t n_faults, fault_room, faults_told;
	size_t refused;
	bool is_busy; /* much came with the last step */
};

static void note(const struct session *s, bool is_error, const char *text)
{
	s->p.note(s->p.ctx, is_error, text);
}

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
	struct draft *d = &s->draft;

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

/* Through the door; the process stays held. after: the program before; NULL:
 * it is the first. */
static int insert_stage(struct session *s, struct door *d, struct stage *st,
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
	    .free_sites = unbound_texts(p->unbound),
	    .n_free_sites = unbound_count(p->unbound),
	    .inner_pid = proc_inner_id(d->pid, d->pid),
	    .execname = name,
	    .after = after,
	    .first = st->first,
	};

	if (find_errno(p, d->pid, &plan.errno_offset, err) < 0)
		return -1;
	read_name(d->pid, name);
	clock_calibrate(&s->clock, &plan.clock);

	options_geometry(s->p.options, &plan.geometry);
	if (after == NULL)
		s->n_sites =
		    MORE_SITES + MORE_TIMES * (listing_count(p->listing) +
					       plan.n_free_sites);
	plan.geometry.max_sites = (uint32_t)s->n_sites;
	/* Of other processes nobody looks at the libraries: none waits. */
	if (p->watches && d->pid == s->pid)
		plan.loader_state = p->loader_state;
	if (insert_open(d, &plan, &st->insertion, err) < 0)
		return -1;
	if (!st->repeats)
		s->next_site = insert_next(st->insertion);
	return 0;
}

static int insert(struct session *s, struct hark_err *err)
{
	struct stage st = {.draft = s->draft};
	int rc = insert_stage(s, &s->door, &st, NULL, err);

	s->insertion = st.insertion;
	s->first = (uint32_t)unbound_count(s->draft.unbound);
	return rc;
}

/* Lets go of a held process. */
static void let_go(struct session *s)
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

static int enter_started(struct session *s, struct hark_err *err)
{
	if (make_draft(s, err) < 0 || hold_by_door(s, err) < 0)
		return -1;
	return insert(s, err);
}

static int stop_all(struct session *s, struct hark_err *err)
{
	if (attach_open(&s->door, s->pid, err) < 0)
		return -1;
	s->is_held = true;
	return 0;
}

static int enter_running(struct session *s, struct hark_err *err)
{
	struct hark_err first;

	if (refuse_process(s->pid, err) < 0 || insert_adopt(s->pid, err) < 0 ||
	    make_draft(s, err) < 0 || stop_all(s, err) < 0 ||
	    insert_look(s->pid, err) < 0) /* somebody may have been faster */
		return -1;
	if (naming_is_fresh(s->draft.naming) && insert(s, &first) == 0)
		return 0;
	/* It has changed since: once more, as it stands. */
	return make_draft(s, err) < 0 ? -1 : insert(s, err);
}

/* -- What the records need -- */

static enum flow_kind flow_of(const struct probe *p)
{
	if (p->kind == SITE_ENTRY)
		return FLOW_ENTRY;
	return p->kind == SITE_INSIDE ? FLOW_OTHER : FLOW_RETURN;
}

/* Probe k of the listing is number first + k of the insertion. */
static void name_listing(void *ctx, const struct listing *l, size_t first)
{
	struct session *s = ctx;
	struct probe p;

	for (size_t i = 0; i < listing_count(l); i++) {
		uint32_t site = insert_site(s->insertion, first + i);

		if (site >= s->n_sites)
			continue;
		listing_get(l, i, &p);
		s->sites[site] =
		    (struct output_site){p.pretty, p.name, flow_of(&p)};
	}
}

static void name_stage(struct session *s, const struct draft *d,
		       const struct insertion *in)
{
	struct probe p;

	for (size_t i = 0; i < listing_count(d->listing); i++) {
		uint32_t site = insert_site(in, i);

		if (site >= s->n_sites)
			continue;
		listing_get(d->listing, i, &p);
		s->sites[site] =
		    (struct output_site){p.pretty, p.name, flow_of(&p)};
	}
}

static int name_sites(struct session *s, struct hark_err *err)
{
	size_t n_free = unbound_count(s->draft.unbound);
	const char *const(*texts)[4] = unbound_texts(s->draft.unbound);

	s->sites = calloc(s->n_sites + 1, sizeof *s->sites);
	if (s->sites == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (size_t i = 0; i < s->n_sites; i++)
		s->sites[i] = (struct output_site){"?", "?", FLOW_OTHER};
	for (size_t i = 0; i < n_free; i++)
		s->sites[i] =
		    (struct output_site){texts[i][2], texts[i][3], FLOW_OTHER};
	name_stage(s, &s->draft, s->insertion);
	return 0;
}

/* An address may belong to any of the programs; the newest is asked first. */
static void name_address(void *ctx, enum probe_kind how, uint64_t addr,
			 char *out, size_t size)
{
	const struct session *s = ctx;

	naming_name(s->draft.naming, how, addr, out, size);
	for (size_t i = s->n_others;
	     i-- > 0 && size > 1 && out[0] == '0' && out[1] == 'x';)
		naming_name(s->others[i].draft.naming, how, addr, out, size);
}

/* -- Clauses that hark runs -- */

static bool read_target(void *ctx, uint64_t addr, void *out, uint32_t len)
{
	const struct session *s = ctx;
	struct iovec to = {out, len},
		     from = {(void *)(uintptr_t)addr, len}; // NOLINT

	return process_vm_readv(s->pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}

static const struct collect_site *site_of(const struct session *s,
					  uint32_t number)
{
	const struct collect_plan *plan = insert_shared_plan(s->insertion);
	const struct collect_index *index = collect_index(plan);
	const struct collect_site *all = collect_at(plan, index->sites.offset);

	for (uint64_t i = 0; i < index->sites.n; i++)
		if (all[i].number == number)
			return &all[i];
	return NULL;
}

static void run_clause(struct session *s, uint32_t site, uint32_t clause,
		       bool goes_on, const struct board_record *fault)
{
	struct collect_outside o = {
	    .plan = insert_shared_plan(s->insertion),
	    .board = insert_board(s->insertion),
	    .area = board_area(s->board),
	    .site = site_of(s, site),
	    .goes_on = goes_on,
	    .pid = (uint32_t)s->pid,
	    .read = read_target,
	    .ctx = s,
	};

	if (fault != NULL)
		memcpy(o.args + 1, fault->fault, sizeof fault->fault);
	if (o.site == NULL)
		return;
	collect_run(&o, clause);
	if (o.wants_stop)
		kill(s->pid, SIGSTOP);
	if (o.wants_signal != 0)
		kill(s->pid, (int)o.wants_signal);
}

static int run_unbound(void *ctx, uint32_t site, uint32_t clause, bool goes_on)
{
	run_clause(ctx, site, clause, goes_on, NULL);
	return 0;
}

/* -- Faults -- */

static const char *fault_text(uint64_t fault)
{
	static const char *const texts[] = {
	    [MACHINE_NO_FAULT] = "it failed",
	    [MACHINE_BAD_ADDRESS] = "invalid address",
	    [MACHINE_DIVISION] = "division by zero",
	    [MACHINE_NO_SCRATCH] = "no room for its texts",
	    [MACHINE_BAD_REGISTER] = "no such register",
	};

	return fault < sizeof texts / sizeof *texts ? texts[fault] : texts[0];
}

static void tell_fault(struct session *s, const struct board_record *r)
{
	const struct output_site *site = &s->sites[r->site];
	char line[512];
	size_t n;

	if (s->faults_told == FAULTS_TOLD)
		note(s, true, "more clauses failed; they are counted");
	if (s->faults_told++ >= FAULTS_TOLD)
		return;
	n = fmt_text(line, sizeof line,
		     "the clause of line %u failed at %s:%s, thread %u: %s",
		     probe_clauses(s->draft.program)[r->clause].line,
		     site->function, site->name, r->tid,
		     fault_text(r->fault[3]));
	if (r->fault[3] == MACHINE_BAD_ADDRESS && n < sizeof line)
		fmt_text(line + n, sizeof line - n, " 0x%lx",
			 (unsigned long)r->fault[4]);
	note(s, true, line);
}

/* ERROR runs when the board is not being read. */
static int take_fault(void *ctx, const struct board_record *r,
		      struct hark_err *err)
{
	struct session *s = ctx;
	struct board_record *more;
	size_t room;

	tell_fault(s, r);
	if (!unbound_has(s->draft.unbound, PROBE_AT_ERROR) ||
	    strcmp(s->sites[r->site].name, "ERROR") == 0)
		return 0;
	if (s->n_faults == s->fault_room) {
		room = s->fault_room * 2 + 16;
		more = reallocarray(s->faults, room, sizeof *more);
		if (more == NULL)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
		s->faults = more;
		s->fault_room = room;
	}
	s->faults[s->n_faults++] = *r;
	return 0;
}

struct error_run {
	struct session *s;
	const struct board_record *fault;
};

static int run_error(void *ctx, uint32_t site, uint32_t clause, bool goes_on)
{
	const struct error_run *e = ctx;

	run_clause(e->s, site, clause, goes_on, e->fault);
	return 0;
}

static void run_errors(struct session *s)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		struct error_run e = {s, &s->faults[i]};

		unbound_each(s->draft.unbound, PROBE_AT_ERROR, run_error, &e);
	}
	s->n_faults = 0;
}

/* -- system() -- */

static int run_command(void *ctx, const char *command, struct hark_err *err)
{
	static char shell[] = "/bin/sh", flag[] = "-c";
	const struct session *s = ctx;
	char *text = strdup(command), *argv[] = {shell, flag, text, NULL};
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int e = ENOMEM;

	sigemptyset(&none);
	if (text != NULL && posix_spawnattr_init(&attr) == 0) {
		posix_spawnattr_setsigmask(
		    &attr, s->p.launch != NULL ? s->p.launch->mask : &none);
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
		e = posix_spawn(&pid, shell, NULL, &attr, argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	free(text);
	if (e != 0)
		return err_set(err, HARK_EIO, e, "system(): %s", strerror(e));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* -- Showing -- */

/* What is on the board. Clauses that failed may make more of it. */
static int drain(struct session *s, bool last, struct hark_err *err)
{
	uint64_t before = output_totals(s->output).bytes;

	if (board_drain(s->board, last, output_record, s->output, err) < 0)
		return -1;
	if (s->n_faults > 0) {
		run_errors(s);
		if (last &&
		    board_drain(s->board, 1, output_record, s->output, err) < 0)
			return -1;
	}
	s->is_busy = output_totals(s->output).bytes - before > MUCH;
	return output_flush(s->output, err);
}

static int open_output(struct session *s, struct hark_err *err)
{
	struct output_plan plan = {
	    .program = s->draft.program,
	    .out = s->p.out,
	    .quiet = s->p.options->quiet,
	    .flowindent = s->p.options->flowindent,
	    .name = name_address,
	    .name_ctx = s,
	    .run = run_command,
	    .fault = take_fault,
	    .ctx = s,
	};

	if (name_sites(s, err) < 0 ||
	    board_open(insert_shared_plan(s->insertion),
		       insert_board(s->insertion), &s->board, err) < 0)
		return -1;
	plan.board = s->board;
	plan.sites = s->sites;
	plan.n_sites = s->n_sites;
	return output_new(&plan, &s->output, err);
}

/* -- Out again -- */

/* Has it ended? Its status is left for whoever may wait for it. */
static bool has_ended(struct session *s)
{
	struct pollfd p = {.fd = s->pidfd, .events = POLLIN};

	if (!s->is_gone && poll(&p, 1, 0) > 0)
		s->is_gone = true;
	return s->is_gone;
}

/* Whoever is about to execute something does not wait for hark. */
static void answer_exec(struct session *s)
{
	uint32_t pid, tid;

	if (s->board == NULL || !board_exec(s->board, &pid, &tid))
		return;
	board_exec_heard(s->board);
	board_exec_over(s->board);
}

/* Once: 0: they are out, or there is no process; 1: somebody was in a probe. */
static int try_out(struct session *s, struct hark_err *err)
{
	int rc;

	answer_exec(s);
	if (!s->is_held && !has_ended(s) && stop_all(s, err) < 0) {
		tracee_pause(0); /* it may have ended just now */
		return has_ended(s) ? 0 : -1;
	}
	if (!s->is_held)
		return 0;
	rc = insert_remove(s->insertion, &s->door, err);
	let_go(s);
	return rc < 0 && has_ended(s) ? 0 : rc;
}

static int take_out(struct session *s, struct hark_err *err)
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

/* -- Other programs -- */

/* A new place among the others; NULL: no memory. */
static struct stage *add_stage(struct session *s)
{
	struct stage *more =
	    reallocarray(s->others, s->n_others + 1, sizeof *more);

	if (more == NULL)
		return NULL;
	s->others = more;
	return &more[s->n_others];
}

static bool is_same_probe(const struct probe *a, const struct probe *b)
{
	const bool none = a->patch == NULL || b->patch == NULL;

	return strcmp(a->module->name, b->module->name) == 0 &&
	       strcmp(a->pretty, b->pretty) == 0 &&
	       strcmp(a->name, b->name) == 0 && a->kind == b->kind &&
	       a->provider == b->provider && a->offset == b->offset &&
	       (none ? a->patch == b->patch
		     : a->patch->form == b->patch->form &&
			   (a->patch->code == 0) == (b->patch->code == 0));
}

/* Do their sites get the same numbers, counted from the first? */
static bool is_same_program(const struct draft *a, const struct draft *b)
{
	size_t n = listing_count(a->listing);
	struct probe p, q;

	if (n != listing_count(b->listing))
		return false;
	for (size_t i = 0; i < n; i++) {
		listing_get(a->listing, i, &p);
		listing_get(b->listing, i, &q);
		if (!is_same_probe(&p, &q))
			return false;
	}
	return true;
}

/* Programs that come again have their numbers again, so that any number of
 * processes finds room. */
static void number_stage(const struct session *s, struct stage *st)
{
	st->first = s->next_site;
	st->repeats = true;
	if (is_same_program(&s->draft, &st->draft)) {
		st->first = s->first;
		return;
	}
	for (size_t i = 0; i < s->n_others; i++)
		if (is_same_program(&s->others[i].draft, &st->draft)) {
			st->first = s->others[i].first;
			return;
		}
	st->repeats = false;
}

/* Probes for the program that pid has become, which is held. */
static int enter_next(struct session *s, pid_t pid, struct stage *st,
		      struct hark_err *err)
{
	size_t refused;
	struct door d;
	int rc;

	if (draft_init(&st->draft, s->image, pid, s->pid, s->p.script,
		       s->p.options, DRAFT_FOLLOWED, err) < 0)
		return -1;
	if (st->draft.program->size != s->draft.program->size ||
	    memcmp(st->draft.program, s->draft.program,
		   s->draft.program->size) != 0)
		return err_set(err, HARK_EREFUSE, 0,
			       "the script means something else there");
	if (match_check(st->draft.match, st->draft.listing, &refused, err) < 0)
		return -1;
	number_stage(s, st);
	door_init(&d, pid);
	rc = door_add(&d, pid, err);
	if (rc == 0)
		rc = refuse_executed(pid, &d.threads[0].seen, err);
	if (rc == 0)
		rc = insert_stage(s, &d, st, s->insertion, err);
	door_fini(&d);
	return rc;
}

static void drop_stage(struct stage *st)
{
	late_free(st->late);
	insert_close(st->insertion);
	draft_fini(&st->draft);
}

/* The newest of the process that the session is about is where it was; what
 * another process has is taken out of it by the record there. */
static void keep_stage(struct session *s, pid_t pid, struct stage *st,
		       struct stage *place)
{
	struct unbound *unbound = st->draft.unbound;

	if (!st->repeats)
		name_stage(s, &st->draft, st->insertion);
	if (pid == s->pid) {
		*place = (struct stage){s->draft, s->insertion, s->late,
					s->first, s->repeats};
		s->draft = st->draft;
		s->insertion = st->insertion;
		s->first = st->first;
		s->repeats = st->repeats;
		s->draft.unbound = place->draft.unbound;
		place->draft.unbound = unbound;
		s->late = NULL;
	} else if (!st->repeats) {
		*place = *st;
	} else {
		drop_stage(st);
		return;
	}
	s->n_others++;
}

static void heard(void *ctx)
{
	const struct session *s = ctx;

	board_exec_heard(s->board);
}

static void tell_next(const struct session *s, pid_t pid,
		      const struct hark_err *err)
{
	char line[256];

	if (err->text[0] == '\0')
		return;
	fmt_text(line, sizeof line,
		 "process %d executes another program, which has no probes: %s",
		 (int)pid, err->text);
	note(s, false, line);
}

static void tell_missing(const struct session *s)
{
	char *line = s->draft.missing, *end;

	for (; line != NULL && *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		note(s, false, line);
	}
}

static void late_note(void *ctx, bool is_error, const char *text)
{
	note(ctx, is_error, text);
}

/* What comes later. */
static int watch(struct session *s, struct hark_err *err)
{
	const struct late_plan plan = {
	    .image = s->image,
	    .pid = s->pid,
	    .pidfd = s->pidfd,
	    .program = s->draft.program,
	    .modules = s->draft.modules,
	    .insertion = s->insertion,
	    .board = s->board,
	    .next_site = &s->next_site,
	    .came = name_listing,
	    .note = late_note,
	    .ctx = s,
	};

	if (!s->draft.watches)
		return 0;
	if (late_new(&plan, &s->late, err) < 0)
		return -1;
	naming_remember(s->draft.naming, late_past, s->late);
	return 0;
}

/* Somebody executes another program. */
static int go_along(struct session *s, pid_t pid, pid_t tid,
		    struct hark_err *err)
{
	struct stage *place = add_stage(s), st = {0};
	struct hark_err why;
	int rc = 0;

	if (along_exec(pid, tid, heard, s, &why) == 1) {
		rc = board_drain(s->board, 1, output_record, s->output, err);
		board_gone(s->board, (uint32_t)proc_inner_id(pid, pid));
		if (place != NULL && enter_next(s, pid, &st, &why) == 0) {
			keep_stage(s, pid, &st, place);
			why = (struct hark_err){0};
			if (pid == s->pid)
				rc =
				    watch(s, rc < 0 ? NULL : err) < 0 ? -1 : rc;
		} else {
			drop_stage(&st);
		}
		attach_release(pid);
	}
	tell_next(s, pid, &why);
	board_exec_over(s->board);
	return rc;
}

/* Ids are those of hark's own world, or nobody can be followed. */
static int hear_exec(struct session *s, struct hark_err *err)
{
	uint32_t pid, tid;

	if (!board_exec(s->board, &pid, &tid))
		return 0;
	if (!proc_same_ids((pid_t)pid)) {
		answer_exec(s);
		return 0;
	}
	return go_along(s, (pid_t)pid, (pid_t)tid, err);
}

/* H1: it never was, or goes on. */
static void undo(struct session *s)
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
	if (s->insertion != NULL && s->is_held)
		take_out(s, &second);
	let_go(s);
}

/* -- Life -- */

static void tell_refused(const struct session *s)
{
	char line[128];

	if (s->refused == 0)
		return;
	fmt_text(line, sizeof line,
		 "%zu of %zu probes are impossible; 'hark probe -l' says why",
		 s->refused, listing_count(s->draft.listing));
	note(s, false, line);
}

static int open_all(struct session *s, bool *has_begun, struct hark_err *err)
{
	*has_begun = s->p.launch == NULL;
	if (image_new(&s->image, err) < 0)
		return -1;
	if (s->p.launch != NULL) {
		pid_t pid;

		if (hold_start(s->p.launch, &pid, err) < 0)
			return -1;
		*has_begun = true;
		s->pid = pid;
	}
	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (s->pidfd < 0)
		return err_set(err, errno == ESRCH ? HARK_EGONE : HARK_EIO,
			       errno, "process %d: %s", (int)s->pid,
			       errno == ESRCH ? "there is no such process"
					      : strerror(errno));
	if (s->p.launch != NULL ? enter_started(s, err) < 0
				: enter_running(s, err) < 0)
		return -1;
	if (open_output(s, err) < 0 || watch(s, err) < 0)
		return -1;
	tell_missing(s);
	tell_refused(s);
	unbound_each(s->draft.unbound, PROBE_AT_BEGIN, run_unbound, s);
	return drain(s, true, err);
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
		undo(s);
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
	let_go(s);
	output_free(s->output);
	late_free(s->late);
	board_close(s->board);
	insert_close(s->insertion);
	draft_fini(&s->draft);
	for (size_t i = 0; i < s->n_others; i++)
		drop_stage(&s->others[i]);
	free(s->others);
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
	(void)err;
	unbound_start(s->draft.unbound, tracee_now_ns());
	let_go(s);
	return 0;
}

int session_step(struct session *s, enum session_status *out,
		 struct hark_err *err)
{
	bool is_over = has_ended(s);
	int status;

	if (hear_exec(s, err) < 0)
		return -1;
	if (!is_over)
		unbound_due(s->draft.unbound, tracee_now_ns(), run_unbound, s);
	if (drain(s, is_over, err) < 0)
		return -1;
	/* What was recorded before is shown, with the names that were right. */
	if (!is_over)
		late_step(s->late);
	*out = output_has_exit(s->output, &status) ? SESSION_EXIT
	       : is_over			   ? SESSION_ENDED
						   : SESSION_ON;
	return 0;
}

void session_wait(struct session *s)
{
	int64_t tick = unbound_next(s->draft.unbound),
		pause = (int64_t)s->p.options->switchrate;

	if (s->is_busy)
		return;
	pause = pause < GLANCE_NS ? pause : GLANCE_NS;
	if (tick != INT64_MAX) {
		tick -= tracee_now_ns();
		pause = tick < pause ? tick : pause;
	}
	if (pause > 0)
		board_wait(s->board, (uint64_t)pause);
}

int session_stop(struct session *s, struct hark_err *err)
{
	struct hark_err second;
	int rc;

	board_leave(s->board);
	rc = take_out(s, err);

	insert_leave_children();
	if (drain(s, true, rc < 0 ? &second : err) < 0)
		return -1;
	output_after_exit(s->output);
	unbound_each(s->draft.unbound, PROBE_AT_END, run_unbound, s);
	if (drain(s, true, rc < 0 ? &second : err) < 0 ||
	    output_rest(s->output, rc < 0 ? &second : err) < 0 ||
	    output_flush(s->output, rc < 0 ? &second : err) < 0)
		return -1;
	return rc;
}

bool session_exit_status(const struct session *s, int *out)
{
	return output_has_exit(s->output, out);
}

/* -- Accounts -- */

/* Of one instruction; false if it has no probe. */
static bool account_of(const struct session *s, const struct insertion *in,
		       const struct listing *l, size_t first, size_t probe,
		       struct session_account *out)
{
	static const char *const providers[] = {[PROVIDER_PID] = "pid",
						[PROVIDER_PLT] = "plt",
						[PROVIDER_USDT] = "usdt"};
	uint32_t site = insert_site(in, first + probe);
	struct probe p;

	listing_get(l, probe, &p);
	if (site == UINT32_MAX || p.provider == PROVIDER_LOADER)
		return false;
	*out = (struct session_account){
	    .text = {providers[p.provider], p.module->name, p.pretty, p.name},
	    .sites = 1,
	};
	board_account(s->board, site, &out->hits);
	return true;
}

struct account_tour {
	const struct session *s;
	const struct insertion *in;
	struct tally tally;
};

static void account_listing(void *ctx, const struct listing *l, size_t first)
{
	struct account_tour *t = ctx;
	struct session_account one;

	for (size_t i = 0; i < listing_count(l); i++)
		if (account_of(t->s, t->in, l, first, i, &one))
			tally_add(&t->tally, &one);
}

/* A program that repeats another is counted there; but not what it loaded. */
static void visit_stage(const struct session *s, const struct stage *st,
			void (*visit)(void *ctx,
				      const struct session_account *a),
			void *ctx)
{
	struct account_tour t = {
	    s, st->insertion, {.visit = visit, .ctx = ctx}};

	if (!st->repeats)
		account_listing(&t, st->draft.listing, 0);
	late_each(st->late, account_listing, &t);
	tally_end(&t.tally);
}

void session_accounts(const struct session *s,
		      void (*visit)(void *ctx, const struct session_account *a),
		      void *ctx)
{
	const char *const(*texts)[4] = unbound_texts(s->draft.unbound);
	const struct stage newest = {s->draft, s->insertion, s->late, s->first,
				     s->repeats};
	struct session_account one;

	for (size_t i = 0; i < unbound_count(s->draft.unbound); i++) {
		one = (struct session_account){.is_unbound = true, .sites = 1};
		memcpy(one.text, texts[i], sizeof one.text);
		board_account(s->board, (uint32_t)i, &one.hits);
		visit(ctx, &one);
	}
	for (size_t i = 0; i < s->n_others; i++)
		visit_stage(s, &s->others[i], visit, ctx);
	visit_stage(s, &newest, visit, ctx);
}

struct explain {
	void (*line)(void *ctx, bool is_loss, const char *text);
	void *ctx;
};

static void explain_loss(void *ctx, const char *text)
{
	const struct explain *e = ctx;

	e->line(e->ctx, true, text);
}

void session_explain(const struct session *s,
		     void (*line)(void *ctx, bool is_loss, const char *text),
		     void *ctx)
{
	struct output_totals t = output_totals(s->output);
	struct explain e = {line, ctx};
	char text[128];

	board_explain(s->board, explain_loss, &e);
	if (board_exec_missed(s->board) > 0) {
		fmt_text(text, sizeof text,
			 "%u programs were executed without probes: hark was "
			 "too slow",
			 board_exec_missed(s->board));
		line(ctx, true, text);
	}
	if (t.damaged > 0) {
		fmt_text(text, sizeof text,
			 "%lu records are damaged, and not shown",
			 (unsigned long)t.damaged);
		line(ctx, true, text);
	}
	if (t.late > 0) {
		fmt_text(text, sizeof text,
			 "%lu records came after exit(), and are not shown",
			 (unsigned long)t.late);
		line(ctx, false, text);
	}
}
