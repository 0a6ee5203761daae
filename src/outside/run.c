/* outside/run.c - a translated program, and whatever it executes.
 *
 * One peer a program that was entered. Most are short-lived, and nobody says
 * when they end: whenever one is added, the peers whose process has gone, or
 * executes something else by now, are asked whether anybody is left (children
 * may be). So as many are kept as programs live, and a few more. */
#include "outside/run.h"

#include "outside/attach.h"
#include "outside/bells.h"
#include "outside/depart.h"
#include "outside/escort.h"
#include "outside/proc.h"
#include "outside/tracee.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct mate {
	struct peer *peer;		/* owned */
	struct recorder_source *source; /* borrowed; NULL: none */
	uint8_t left; /* its process executes something else by now */
};

struct run {
	struct run_plan plan;
	struct escort_watch watch;
	pid_t root;
	int root_status;    /* -1 while it lives */
	int done;	    /* it has ended */
	int root_fd;	    /* owned: a pidfd if it is not a child, else -1 */
	pthread_t keeper;   /* waits for root_fd */
	struct mate *mates; /* owned */
	struct bell *list;  /* owned: as many */
	unsigned n, room;
	unsigned next;	       /* to be asked whether anybody is left */
	struct escort *escort; /* owned; NULL: does not follow */
	struct bells *bells;   /* owned; NULL: does not follow */
	int changed;	       /* mates: the bells are others */
	struct run_totals totals;
};

/* -- Peers -- */

static void remove_mate(struct run *r, unsigned i)
{
	peer_count(r->mates[i].peer, &r->totals.stats);
	peer_close(r->mates[i].peer);
	r->mates[i] = r->mates[--r->n];
	r->changed = 1;
}

/* Does the process still run the program that the peer was made for? */
static int still_runs(const struct mate *m)
{
	return !m->left && kill(peer_place(m->peer)->pid, 0) == 0;
}

/* A channel that hark maps itself is never deserted. */
static int is_deserted(const struct mate *m)
{
	int gone;

	if (m->source == NULL)
		return peer_deserted(m->peer);
	recorder_hide(m->source);
	gone = peer_deserted(m->peer);
	recorder_show(m->source, gone);
	return gone;
}

/* Looks at a few, in turn, so that many cost no more than few. */
static void sweep(struct run *r)
{
	enum { A_FEW = 8 };

	for (unsigned i = 0; i < A_FEW && i < r->n; i++) {
		struct mate *m;

		r->next = r->next + 1 < r->n ? r->next + 1 : 0;
		m = &r->mates[r->next];
		if (!still_runs(m) && !escort_needs(r->escort, m->peer) &&
		    is_deserted(m))
			remove_mate(r, r->next);
	}
}

static int make_room(struct run *r)
{
	unsigned room = r->room == 0 ? 16 : 2 * r->room;
	struct mate *more = realloc(r->mates, room * sizeof *more);
	struct bell *list;

	if (more == NULL)
		return -1;
	r->mates = more;
	list = realloc(r->list, room * sizeof *list);
	if (list == NULL)
		return -1;
	r->list = list;
	if (r->bells != NULL && bells_room(r->bells, room, NULL) < 0)
		return -1;
	r->room = room;
	return 0;
}

static int add_mate(struct run *r, const struct entered *e)
{
	if (r->n == r->room && make_room(r) < 0)
		return -1;
	r->mates[r->n++] = (struct mate){.peer = e->peer, .source = e->source};
	r->totals.programs++;
	r->changed = 1;
	return 0;
}

/* -- What the escort says -- */

static int entered(void *ctx, const struct entered *e)
{
	struct run *r = ctx;

	if (add_mate(r, e) < 0)
		return -1;
	sweep(r);
	return 0;
}

static void executed(void *ctx, pid_t pid)
{
	struct run *r = ctx;

	for (unsigned i = 0; i < r->n; i++)
		if (peer_place(r->mates[i].peer)->pid == pid)
			r->mates[i].left = 1;
}

static void note(void *ctx, const char *text)
{
	struct run *r = ctx;

	r->plan.note(r->plan.ctx, text);
}

/* -- Bells -- */

static void hear_bells(struct run *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (peer_rang(r->mates[i].peer))
			escort_hear(r->escort, r->mates[i].peer);
}

static void listen_again(struct run *r)
{
	if (!r->changed && !bells_rang(r->bells))
		return;
	for (unsigned i = 0; i < r->n; i++)
		r->list[i] = (struct bell){peer_bell(r->mates[i].peer),
					   peer_heard(r->mates[i].peer)};
	bells_listen(r->bells, r->list, r->n);
	r->changed = 0;
}

/* -- Steps -- */

static void report(struct run *r, pid_t tid, int status)
{
	if (r->escort != NULL)
		escort_report(r->escort, tid, status);
	if (tid == r->root && !WIFSTOPPED(status)) {
		r->root_status = status;
		r->done = 1;
	}
}

/* One report, if there is any. While somebody is escorted the next is only
 * microseconds away, and yielding is cheaper than being woken. */
static int take_report(struct run *r)
{
	enum { YIELDS = 200 };

	for (int round = 0;; round++) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

		if (tid > 0) {
			report(r, tid, status);
			return 1;
		}
		if (r->escort == NULL || escort_busy(r->escort) == 0 ||
		    round == YIELDS)
			return 0;
		sched_yield();
	}
}

enum run_status run_step(struct run *r)
{
	enum { A_WHILE = 100 };

	for (int i = 0; i < A_WHILE && !r->done; i++) {
		if (r->escort != NULL)
			hear_bells(r);
		if (take_report(r))
			continue;
		if (r->bells != NULL)
			listen_again(r);
		return __atomic_load_n(&r->done, __ATOMIC_ACQUIRE) ? RUN_DONE
								   : RUN_ON;
	}
	return r->done ? RUN_DONE : RUN_MORE;
}

/* -- Life -- */

/* A program that hark is beside is not its child: somebody must wait for it. */
static void *keep_watch(void *arg)
{
	struct run *r = arg;
	struct pollfd p = {.fd = r->root_fd, .events = POLLIN};

	while (poll(&p, 1, -1) < 0)
		continue;
	__atomic_store_n(&r->done, 1, __ATOMIC_RELEASE);
	kill(getpid(), SIGCHLD);
	return NULL;
}

static int start_keeper(struct run *r, struct hark_err *err)
{
	int e;

	r->root_fd = (int)syscall(SYS_pidfd_open, r->root, 0);
	if (r->root_fd < 0 && errno == ESRCH)
		return err_set(err, HARK_EGONE, ESRCH, "there is no process %d",
			       r->root);
	if (r->root_fd < 0)
		return err_set(err, HARK_EDENIED, errno,
			       "cannot wait for process %d: %s", r->root,
			       strerror(errno));
	e = pthread_create(&r->keeper, NULL, keep_watch, r);
	if (e == 0)
		return 0;
	close(r->root_fd);
	r->root_fd = -1;
	return err_set(err, HARK_ENOMEM, e, "cannot make a thread: %s",
		       strerror(e));
}

/* Each program that lives costs hark a descriptor. The program has its own
 * limits already. */
static void raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int is_beside(const struct run *r)
{
	return r->plan.launch == NULL || r->plan.launch->beside;
}

/* The program is held at its beginning, or runs. */
static int enter_root(struct run *r, struct hark_err *err)
{
	int runs = r->plan.launch == NULL;
	int listens = r->plan.follow || r->plan.recorder != NULL || runs;
	struct enter_how how = {
	    .flags = r->plan.flags,
	    .deaf = !listens,
	    .alone = !r->plan.follow,
	    .recorder = r->plan.recorder,
	};
	struct attach_pin pin;
	struct entered in;
	int rc;

	if (listens) {
		r->escort = escort_new(&r->watch, &how);
		if (r->escort == NULL)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
		if (bells_new(&r->bells, err) < 0)
			return -1;
	}
	if (is_beside(r) && start_keeper(r, err) < 0)
		return -1;
	if (make_room(r) < 0) /* from here on it must not be lacking */
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	if (r->plan.recorder != NULL &&
	    recorder_start(r->plan.recorder, err) < 0)
		return -1;
	pin = attach_pin(r->root);
	rc = runs ? enter_process(r->root, &how, &in, err)
		  : enter_program(r->root, &how, &in, err);
	attach_unpin(&pin);
	if (rc == 0)
		add_mate(r, &in);
	return rc;
}

int run_start(const struct run_plan *plan, struct run **out,
	      struct hark_err *err)
{
	struct run *r;

	if (enter_possible(err) < 0)
		return -1;
	r = calloc(1, sizeof *r);
	if (r == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	r->plan = *plan;
	r->watch = (struct escort_watch){r, entered, executed, note};
	r->root_status = -1;
	r->root_fd = -1;
	r->root = plan->pid;
	if (plan->launch != NULL &&
	    launch_start(plan->launch, &r->root, err) < 0) {
		run_close(r, NULL);
		return -1;
	}
	raise_limit();
	if (enter_root(r, err) < 0) {
		if (plan->launch != NULL)
			launch_abandon(plan->launch, r->root, err);
		run_close(r, NULL);
		return -1;
	}
	*out = r;
	return 0;
}

/* -- Leaving -- */

/* Whoever wants to execute something may, but alone. */
static void answer_asks(void *ctx)
{
	hear_bells(ctx);
}

/* Who is on the way into another program is met there first. */
static void finish_escorts(struct run *r)
{
	enum { LIMIT_NS = 2000000000 };
	int64_t limit = tracee_now_ns() + LIMIT_NS;

	for (int i = 0; escort_busy(r->escort) > 0; i++) {
		if (tracee_now_ns() > limit)
			break;
		run_step(r);
		tracee_pause(i);
	}
	escort_alone(r->escort);
}

struct leaving {
	struct run *run;
	unsigned left, stayed;
	pid_t refused[64]; /* is not asked again */
};

static int was_refused(const struct leaving *l, pid_t pid)
{
	for (unsigned i = 0; i < l->stayed && i < 64; i++)
		if (l->refused[i] == pid)
			return 1;
	return l->stayed >= 64;
}

static const struct peer *peer_of(const struct run *r, const struct proc_map *m)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct peer *p = r->mates[i].peer;

		if (peer_place(p)->start == m->start &&
		    peer_is_file(p, m->dev, m->ino))
			return p;
	}
	return NULL;
}

static void leave_one(void *ctx, pid_t pid, const struct proc_map *m)
{
	struct leaving *l = ctx;
	const struct peer *p = peer_of(l->run, m);
	struct depart_how how = {l->run, answer_asks};
	struct depart_from from;
	struct hark_err err = {0};
	char text[600];

	if (p == NULL || was_refused(l, pid))
		return;
	from = depart_from(p);
	if (depart(pid, &from, &how, &err) == 0) {
		l->left++;
		return;
	}
	l->refused[l->stayed++] = pid;
	snprintf(text, sizeof text,
		 "process %d goes on translated, but is not recorded any "
		 "more: %s",
		 pid, err.text);
	note(l->run, text);
}

/* Again and again, until nobody was born meanwhile. */
unsigned run_leave(struct run *r)
{
	enum { ROUNDS = 50 };
	struct leaving l = {.run = r};

	if (r->escort == NULL)
		return 0;
	finish_escorts(r);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned before = l.left;

		depart_each(leave_one, &l);
		if (l.left == before)
			break;
	}
	for (unsigned i = 0; i < r->n; i++)
		r->mates[i].source = NULL; /* it will be over soon */
	return l.stayed;
}

pid_t run_root(const struct run *r)
{
	return r->root;
}

int run_exit_status(const struct run *r)
{
	return r->root_status;
}

void run_close(struct run *r, struct run_totals *out)
{
	if (r == NULL)
		return;
	if (r->escort != NULL)
		r->totals.let_go = escort_let_go(r->escort);
	escort_free(r->escort);
	bells_free(r->bells);
	while (r->n > 0)
		remove_mate(r, r->n - 1);
	if (r->root_fd >= 0) {
		pthread_cancel(r->keeper);
		pthread_join(r->keeper, NULL);
		close(r->root_fd);
	}
	if (out != NULL)
		*out = r->totals;
	free(r->list);
	free(r->mates);
	free(r);
}
