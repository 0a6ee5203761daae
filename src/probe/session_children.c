/* probe/session_children.c - libraries that children load later.
 *
 * A child has its probes by fork, or from the time when it executed its
 * program, and nobody looks after it. When it loads a library it becomes known
 * (insert_branch.c), as a stage that has nothing but what it loads from then
 * on. If it executes another program it is not known any more, until that one
 * loads something.
 *
 * What is known of one that has ended stays: its records have names, and its
 * hits are accounted for. */
#include "probe/session_priv.h"

#include "base/fmt.h"
#include "outside/proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct child {
	struct session *s;
	pid_t pid;
	int pidfd; /* owned; -1: it is over */
	struct stage stage;
	struct modules *modules; /* owned */
};

static void child_free(struct child *c)
{
	if (c == NULL)
		return;
	session_drop_stage(&c->stage);
	modules_free(c->modules);
	if (c->pidfd >= 0)
		close(c->pidfd);
	free(c);
}

void session_drop_children(struct session *s)
{
	for (size_t i = 0; i < s->n_children; i++)
		child_free(s->children[i]);
	free(s->children);
}

void session_each_child(const struct session *s,
			void (*visit)(void *ctx, const struct stage *st),
			void *ctx)
{
	for (size_t i = 0; i < s->n_children; i++)
		visit(ctx, &s->children[i]->stage);
}

/* -- Who they are -- */

static void let_be(struct child *c)
{
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
}

static bool has_ended(const struct child *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* A number may be another process's by now. */
static struct child *find(struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_children; i++) {
		struct child *c = s->children[i];

		if (c->pid != pid || c->pidfd < 0)
			continue;
		if (!has_ended(c))
			return c;
		let_be(c);
	}
	return NULL;
}

void session_forget_child(struct session *s, pid_t pid)
{
	struct child *c = find(s, pid);

	if (c != NULL)
		let_be(c);
}

/* -- One that is new -- */

static void came(void *ctx, const struct listing *l, size_t first)
{
	const struct child *c = ctx;

	session_name_probes(c->s, c->stage.insertion, l, first);
}

/* -- Numbers: the same library is the same in all of them -- */

struct search {
	const struct listing *want;
	const struct insertion *in;
	uint32_t found; /* UINT32_MAX: not yet */
};

static void compare(void *ctx, const struct listing *l, size_t first)
{
	struct search *f = ctx;

	if (f->found != UINT32_MAX || !session_same_probes(l, f->want))
		return;
	for (size_t i = 0; i < listing_count(l) && f->found == UINT32_MAX; i++)
		f->found = insert_site(f->in, first + i);
}

static void compare_stage(void *ctx, const struct stage *st)
{
	struct search *f = ctx;

	f->in = st->insertion;
	late_each(st->late, compare, f);
}

bool session_child_numbers(const struct session *s, const struct listing *l,
			   uint32_t *first)
{
	struct search f = {.want = l, .found = UINT32_MAX};

	session_each_child(s, compare_stage, &f);
	if (f.found != UINT32_MAX)
		*first = f.found;
	return f.found != UINT32_MAX;
}

static bool number(void *ctx, const struct listing *l, uint32_t *first)
{
	const struct child *c = ctx;
	struct search f = {.want = l, .found = UINT32_MAX};

	compare_stage(&f, &c->s->now);
	if (f.found == UINT32_MAX)
		return session_child_numbers(c->s, l, first);
	*first = f.found;
	return true;
}

static void changed(void *ctx)
{
	const struct child *c = ctx;
	struct hark_err err;

	if (c->s->sampling != NULL &&
	    sampling_maps(c->s->sampling, c->pid, false, &err) < 0)
		session_note(c->s, true, err.text);
}

static void say(void *ctx, bool is_error, const char *text)
{
	const struct child *c = ctx;
	char line[512];

	fmt_text(line, sizeof line, "process %d: %s", (int)c->pid, text);
	session_note(c->s, is_error, line);
}

static int watch(struct child *c, struct hark_err *err)
{
	struct session *s = c->s;
	const struct late_plan plan = {
	    .image = s->image,
	    .pid = c->pid,
	    .target = s->pid,
	    .pidfd = c->pidfd,
	    .program = s->now.draft.program,
	    .modules = c->modules,
	    .has = insert_has,
	    .insertion = c->stage.insertion,
	    .next_site = &s->next_site,
	    .number = number,
	    .came = came,
	    .changed = changed,
	    .note = say,
	    .ctx = c,
	};

	if (naming_new(s->image, c->pid, &c->stage.draft.naming, err) < 0 ||
	    late_new(&plan, &c->stage.late, err) < 0)
		return -1;
	naming_remember(c->stage.draft.naming, late_past, c->stage.late);
	return 0;
}

static int enter(struct child *c, struct hark_err *err)
{
	struct session *s = c->s;
	const struct insert_proof proof = {session_is_ours, s};

	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return err_set(err, HARK_EGONE, errno, "it has ended");
	c->stage.repeats = true;
	if (modules_of_pid(s->image, c->pid, &c->modules, err) < 0 ||
	    insert_branch(c->pid, s->now.insertion, s->now.draft.program,
			  c->modules, &proof, &c->stage.insertion, err) < 0)
		return -1;
	return watch(c, err);
}

static int make_room(struct session *s, struct hark_err *err)
{
	struct child **more =
	    reallocarray(s->children, s->n_children + 1,
			 sizeof(struct child *)); // NOLINT: pointers are meant

	if (more == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	s->children = more;
	return 0;
}

static struct child *add(struct session *s, pid_t pid, struct hark_err *err)
{
	struct child *c;

	if (make_room(s, err) < 0)
		return NULL;
	c = calloc(1, sizeof *c);
	if (c == NULL) {
		err_set(err, HARK_ENOMEM, 0, "out of memory");
		return NULL;
	}
	*c = (struct child){.s = s, .pid = pid, .pidfd = -1};
	if (enter(c, err) < 0) {
		child_free(c);
		return NULL;
	}
	s->children[s->n_children++] = c;
	return c;
}

/* -- What they load -- */

void session_child_loaded(struct session *s, pid_t pid)
{
	struct child *c = find(s, pid);
	struct hark_err err;
	char line[sizeof err.text + 64];

	if (c == NULL)
		c = add(s, pid, &err);
	if (c != NULL) {
		late_step(c->stage.late);
		return;
	}
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return;
	fmt_text(line, sizeof line,
		 "process %d: a library that was loaded has no probes: %s",
		 (int)pid, err.text);
	session_note(s, true, line);
}

/* One that has not said who it is. */
void session_all_loaded(struct session *s)
{
	for (size_t i = 0; i < s->n_children; i++)
		if (s->children[i]->pidfd >= 0)
			session_child_loaded(s, s->children[i]->pid);
}

/* -- For others -- */

void session_name_in_children(const struct session *s, enum probe_kind how,
			      uint64_t addr, char *out, size_t size)
{
	for (size_t i = s->n_children; i-- > 0 && session_is_unknown(out);)
		naming_name(s->children[i]->stage.draft.naming, how, addr, out,
			    size);
}
