/* probe/session_next.c - what comes later: libraries that the program loads,
 * and programs that it executes.
 *
 * Each program is a stage: a draft, what was inserted, and the libraries that
 * it has loaded since. The newest of the process that the session is about is
 * session.now. All share the board. */
#include "probe/session_priv.h"

#include "base/fmt.h"
#include "outside/attach.h"
#include "outside/proc.h"
#include "outside/refuse.h"
#include "outside/tracee.h"
#include "probe/along.h"
#include "probe/calm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool session_is_ours(void *ctx, pid_t pid)
{
	struct session *s = ctx;

	return told_is_proved(&s->told, pid);
}

/* -- Libraries -- */

static void late_note(void *ctx, bool is_error, const char *text)
{
	session_note(ctx, is_error, text);
}

static bool late_number(void *ctx, const struct listing *l, uint32_t *first)
{
	return session_child_numbers(ctx, l, first);
}

static void late_changed(void *ctx)
{
	struct session *s = ctx;
	struct hark_err err;

	if (s->sampling != NULL &&
	    sampling_maps(s->sampling, s->pid, false, &err) < 0)
		session_note(s, true, err.text);
}

int session_tick(struct session *s, struct door *d, const struct stage *st,
		 struct hark_err *err)
{
	if (s->sampling != NULL &&
	    (sampling_maps(s->sampling, d->pid, true, err) < 0 ||
	     sampling_watch(s->sampling, d, st->insertion, s->board, err) < 0))
		return -1;
	return s->ticking == NULL
		   ? 0
		   : ticking_start(s->ticking, d, st->insertion, err);
}

/* What comes later. */
int session_watch(struct session *s, struct hark_err *err)
{
	const struct late_plan plan = {
	    .image = s->image,
	    .pid = s->pid,
	    .target = s->pid,
	    .pidfd = s->pidfd,
	    .program = s->now.draft.program,
	    .modules = s->now.draft.modules,
	    .insertion = s->now.insertion,
	    .next_site = &s->next_site,
	    .number = late_number,
	    .came = session_name_listing,
	    .changed = late_changed,
	    .note = late_note,
	    .ctx = s,
	};

	if (!s->now.draft.watches)
		return 0;
	if (late_new(&plan, &s->now.late, err) < 0)
		return -1;
	naming_remember(s->now.draft.naming, late_past, s->now.late);
	return 0;
}

/* One deadline for all that have asked, however many they are. */
enum { LOADING_NS = 2000000000 };

/* Somebody has loaded a library, and waits. */
static void loaded(void *ctx, uint32_t pid)
{
	struct session *s = ctx;
	const uint32_t own = insert_shared_plan(s->now.insertion)->pid;
	pid_t child = 0;

	if (pid == own || pid == 0)
		late_step(s->now.late);
	if (pid == 0)
		session_all_loaded(s);
	else if (pid != own && s->p.follows)
		child = told_process(&s->told, (pid_t)pid);
	if (child != 0)
		session_child_loaded(s, child);
}

int session_hear_loaded(struct session *s, struct hark_err *err)
{
	int64_t since = tracee_now_ns();
	uint32_t asked;

	if (!board_loaded(s->board, &asked))
		return 0;
	/* What was recorded before has the names that were right. */
	if (s->sampling != NULL && session_drain_all(s, err) < 0)
		return -1;
	board_loaded_by(s->board, asked, since + LOADING_NS, loaded, s);
	board_loaded_done(s->board, asked);
	if (s->sampling != NULL)
		sampling_held(s->sampling, s->pid, since);
	return 0;
}

void session_calm(struct session *s)
{
	struct stage *st = &s->now;
	int64_t since = tracee_now_ns();
	int fd;

	if (st->was_deep || s->sampling == NULL ||
	    !sampling_is_deep(s->sampling))
		return;
	st->was_deep = true;
	fd = calm_open(s->pid, insert_own_plan(st->insertion));
	insert_shown(st->insertion);
	st->calm = fd > 0 ? fd : 0;
	sampling_held(s->sampling, s->pid, since);
}

/* -- Stages -- */

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

bool session_same_probes(const struct listing *a, const struct listing *b)
{
	size_t n = listing_count(a);
	struct probe p, q;

	if (n != listing_count(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		listing_get(a, i, &p);
		listing_get(b, i, &q);
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
	if (session_same_probes(s->now.draft.listing, st->draft.listing)) {
		st->first = s->now.first;
		return;
	}
	for (size_t i = 0; i < s->n_others; i++)
		if (session_same_probes(s->others[i].draft.listing,
					st->draft.listing)) {
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
	if (st->draft.program->size != s->now.draft.program->size ||
	    memcmp(st->draft.program, s->now.draft.program,
		   s->now.draft.program->size) != 0)
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
		rc = session_insert(s, &d, st, s->now.insertion, err);
	if (rc == 0)
		rc = session_tick(s, &d, st, err);
	door_fini(&d);
	return rc;
}

void session_drop_stage(struct stage *st)
{
	late_free(st->late);
	insert_close(st->insertion);
	if (st->calm > 0)
		close(st->calm);
	draft_fini(&st->draft);
}

/* Its addresses are to have names, though all else of it is known. */
static void keep_naming(struct session *s, struct draft *d)
{
	struct naming **place = &s->namings[s->n_namings++ % SESSION_NAMINGS];

	naming_free(*place);
	*place = d->naming;
	d->naming = NULL;
}

/* The newest of the process that the session is about is where it was; what
 * another process has is taken out of it by the record there. */
static void keep_stage(struct session *s, pid_t pid, struct stage *st,
		       struct stage *place)
{
	struct unbound *unbound = st->draft.unbound;

	if (!st->repeats)
		session_name_stage(s, st);
	if (pid == s->pid) {
		if (s->now.calm > 0)
			close(s->now.calm);
		s->now.calm = 0;
		*place = s->now;
		s->now = *st;
		s->now.draft.unbound = place->draft.unbound;
		place->draft.unbound = unbound;
	} else if (!st->repeats) {
		*place = *st;
	} else {
		keep_naming(s, &st->draft);
		session_drop_stage(st);
		return;
	}
	s->n_others++;
}

/* -- Programs -- */

/* A thread that is about to execute another program. */
struct departure {
	struct session *s;
	unsigned word; /* of the board: its request is there */
	uint64_t request;
	pid_t pid, tid;
};

static void answer(const struct departure *d, enum wire_ask_state answer)
{
	board_answer_exec(d->s->board, d->word, d->request, answer);
}

static bool is_right(void *ctx, pid_t pid)
{
	const struct departure *d = ctx;

	return session_is_ours(d->s, pid);
}

static void heard(void *ctx)
{
	answer(ctx, WIRE_ASK_COMING);
}

/* The board is shared by processes of one set of credentials. */
static int may_enter(void *ctx, pid_t pid, struct hark_err *err)
{
	const struct departure *d = ctx;

	if (creds_changed_by_exec(pid))
		return err_set(err, HARK_EREFUSE, 0,
			       "it is set-uid, set-gid or has file "
			       "capabilities");
	if (!told_has_creds(&d->s->told, pid))
		return err_set(err, HARK_EREFUSE, 0,
			       "it has other credentials (user, groups or "
			       "capabilities) than process %d had; start "
			       "another hark for it",
			       (int)d->s->pid);
	return 0;
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
	session_note(s, false, line);
}

/* Nothing came of it: the program is the one that it was. */
static void tick_again(struct session *s, pid_t pid)
{
	struct hark_err ignored;
	struct door d;

	if (attach_open(&d, pid, &ignored) < 0)
		return;
	if (insert_is_in(s->now.insertion, &d))
		ticking_start(s->ticking, &d, s->now.insertion, &ignored);
	attach_close(&d);
}

static int go_along(struct departure *d, struct hark_err *err)
{
	const struct along_watch watch = {is_right, heard, may_enter, d};
	struct session *s = d->s;
	struct stage *place = add_stage(s), st = {0};
	int64_t since = tracee_now_ns();
	pid_t pid = d->pid;
	struct hark_err why;
	bool ticked;
	int rc = 0;

	ticked = s->ticking != NULL && ticking_stop_one(s->ticking, pid);
	if (along_exec(pid, d->tid, &watch, &why) == 1) {
		rc = session_drain_all(s, err);
		session_forget_child(s, pid);
		board_gone(s->board, (uint32_t)proc_inner_id(pid, pid));
		if (place != NULL && enter_next(s, pid, &st, &why) == 0) {
			keep_stage(s, pid, &st, place);
			told_add(&s->told, pid);
			why = (struct hark_err){0};
			if (pid == s->pid)
				rc = session_watch(s, rc < 0 ? NULL : err) < 0
					 ? -1
					 : rc;
		} else {
			session_drop_stage(&st);
		}
		attach_release(pid);
	} else if (ticked) {
		tick_again(s, pid);
	}
	tell_next(s, pid, &why);
	answer(d, WIRE_ASK_ALONE); /* if hark has not come */
	if (s->sampling != NULL)
		sampling_held(s->sampling, pid, since);
	return rc;
}

/* A number that is not proved is answered, for others may need its word. A
 * thread that is stopped asks again when it goes on: hark has others to go
 * with. 1: hark goes along. */
static int is_followed(struct departure *d)
{
	d->pid = told_process(&d->s->told, (pid_t)wire_ask_pid(d->request));
	d->tid = d->pid == 0
		     ? 0
		     : told_thread(d->pid, (pid_t)wire_ask_tid(d->request));
	if (d->tid == 0)
		answer(d, WIRE_ASK_ALONE);
	else if (proc_state(d->pid, d->tid) == 'T')
		answer(d, WIRE_ASK_LATER);
	else
		return 1;
	return 0;
}

/* With one at a time; then hark looks at what else there is. */
int session_hear_exec(struct session *s, struct hark_err *err)
{
	for (unsigned i = 0; i < WIRE_ASKS; i++) {
		struct departure d = {.s = s,
				      .word = (s->heard_exec + i) % WIRE_ASKS};

		d.request = board_exec(s->board, d.word);
		if (d.request == 0 || !is_followed(&d))
			continue;
		s->heard_exec = d.word + 1;
		return go_along(&d, err);
	}
	return 0;
}
