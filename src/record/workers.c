/* record/workers.c - many pieces of work, done by processes that may crash.
 *
 * All workers look at one board in shared memory. Groups are handed out in
 * order, one to a worker; when all are taken, whoever is idle helps where most
 * is left. Within a group pieces are handed out one by one, so two workers
 * never do the same.
 *
 * W1  A piece is taken once (group.taken) and counted once, good or bad: by
 *     its worker, or, if that died over it (at), by the parent.
 * W2  The board is written by processes that may have gone wild: the parent
 *     believes no index and no text of it.
 *
 * A worker is known to have ended when the pipe that only it holds does. One
 * that is at the same piece for too long is ended (bounds.h). */
#include "record/workers.h"

#include "base/fmt.h"
#include "record/bounds.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100 };
#define SECOND_NS ((uint64_t)1000000000)

struct group {
	uint32_t first, n;
	_Atomic uint32_t taken; /* may grow beyond n */
};

struct note {
	_Atomic uint32_t ready;
	struct workers_text text;
};

/* In shared memory; the groups follow it. */
struct board {
	_Atomic uint32_t next_group, n_groups;
	_Atomic uint32_t good, bad, n_notes;
	_Atomic uint64_t sum;
	_Atomic uint32_t at[WORKERS_MAX]; /* piece + 1; 0: none */
	struct note notes[WORKERS_TEXTS];
	struct group groups[];
};

struct worker {
	pid_t pid;	   /* 0: none */
	int fd;		   /* owned; ends when the worker does */
	uint32_t at;	   /* what the board said when it was last looked at */
	uint64_t since_ns; /* of its processor time, that it has been at it */
	int is_late;	   /* it was ended for that */
};

struct crew {
	const struct workers_plan *plan; /* borrowed */
	struct board *board;		 /* owned mapping */
	size_t board_size;
	unsigned n_groups;
	struct worker workers[WORKERS_MAX];
	unsigned n_workers, deaths;
	uint64_t time; /* seconds of processor time for a piece */
	int given_up;
};

/* -- In a worker -- */

static int take_from(const struct crew *c, struct group *g, unsigned *piece)
{
	const uint32_t *order = c->plan->order;
	uint32_t k;

	if (atomic_load(&g->taken) >= g->n)
		return 0;
	k = atomic_fetch_add(&g->taken, 1);
	if (k >= g->n)
		return 0;
	*piece = order != NULL ? order[g->first + k] : g->first + k;
	return 1;
}

/* Where most is left; NULL: nowhere. */
static struct group *fullest(const struct crew *c)
{
	struct group *best = NULL;
	uint32_t most = 0;

	for (unsigned i = 0; i < c->n_groups; i++) {
		struct group *g = &c->board->groups[i];
		uint32_t taken = atomic_load(&g->taken);

		if (taken < g->n && g->n - taken > most) {
			most = g->n - taken;
			best = g;
		}
	}
	return best;
}

static int take(const struct crew *c, struct group **mine, unsigned *piece)
{
	if (*mine != NULL && take_from(c, *mine, piece))
		return 1;
	for (;;) {
		uint32_t i = atomic_fetch_add(&c->board->next_group, 1);

		if (i < c->n_groups)
			*mine = &c->board->groups[i];
		else
			*mine = fullest(c);
		if (*mine == NULL)
			return 0;
		if (take_from(c, *mine, piece))
			return 1;
	}
}

static void complain(struct board *b, unsigned piece, enum hark_code code,
		     const char *text)
{
	uint32_t i = atomic_fetch_add(&b->n_notes, 1);
	struct note *n;

	if (i >= WORKERS_TEXTS)
		return;
	n = &b->notes[i];
	n->text.piece = piece;
	n->text.code = code;
	fmt_text(n->text.text, sizeof n->text.text, "%s", text);
	atomic_store(&n->ready, 1);
}

static void do_piece(const struct crew *c, unsigned self, unsigned piece)
{
	struct board *b = c->board;
	struct hark_err err = {0};
	uint64_t sum = 0;
	int rc;

	atomic_store(&b->at[self], piece + 1);
	rc = c->plan->run(c->plan->ctx, piece, &sum, &err);
	atomic_store(&b->at[self], 0);
	if (rc == 0) {
		atomic_fetch_add(&b->sum, sum);
		atomic_fetch_add(&b->good, 1);
	} else {
		complain(b, piece, err.code, err.text);
		atomic_fetch_add(&b->bad, 1);
	}
}

static _Noreturn void work(const struct crew *c, unsigned self)
{
	struct group *mine = NULL;
	struct hark_err err = {0};
	unsigned piece;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (c->plan->begin(c->plan->ctx, &err) < 0) {
		complain(c->board, UINT32_MAX, err.code, err.text);
		_exit(1);
	}
	while (take(c, &mine, &piece))
		do_piece(c, self, piece);
	_exit(0);
}

/* -- In the caller -- */

/* NULL: it cannot be had. */
static struct board *make_board(struct crew *c, struct hark_err *err)
{
	const struct workers_plan *p = c->plan;
	struct board *b;
	struct group *g;
	void *at;

	for (unsigned i = 0; i < p->n; i++)
		c->n_groups += i == 0 || p->group_of[i] != p->group_of[i - 1];
	c->board_size = sizeof *b + c->n_groups * sizeof *g;
	at = mmap(NULL, c->board_size, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED) {
		err_set(err, HARK_ENOMEM, errno, "cannot share %zu bytes: %s",
			c->board_size, strerror(errno));
		return NULL;
	}
	b = at;
	g = b->groups;
	for (unsigned i = 0; i < p->n; i++) {
		if (i > 0 && p->group_of[i] != p->group_of[i - 1])
			g++;
		if (g->n++ == 0)
			g->first = i;
	}
	return b;
}

static int start_worker(struct crew *c, unsigned self, struct hark_err *err)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0)
		return err_set(err, HARK_EIO, errno, "no pipe: %s",
			       strerror(errno));
	atomic_store(&c->board->at[self], 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		for (unsigned i = 0; i < c->n_workers; i++)
			if (c->workers[i].pid > 0)
				close(c->workers[i].fd);
		work(c, self);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_set(err, HARK_ENOMEM, errno, "no process: %s",
			       strerror(errno));
	}
	c->workers[self] = (struct worker){.pid = pid, .fd = fds[0]};
	return 0;
}

/* One that ended: what of, and was it at a piece? 1: another is needed. */
static int bury(struct crew *c, unsigned self)
{
	struct worker *w = &c->workers[self];
	uint32_t at = atomic_load(&c->board->at[self]);
	int status = 0, is_late = w->is_late;
	char text[128];

	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(w->fd);
	*w = (struct worker){0};
	if (at == 0 || at > c->plan->n)
		return WIFSIGNALED(status);
	if (is_late)
		fmt_text(text, sizeof text,
			 "given up after %llu s of processor time; " BOUNDS_TIME
			 "=SECONDS allows more",
			 (unsigned long long)bounds_time());
	else if (WIFSIGNALED(status))
		fmt_text(text, sizeof text, "killed by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		fmt_text(text, sizeof text, "ended with status %d",
			 WEXITSTATUS(status));
	complain(c->board, at - 1, HARK_EGONE, text);
	atomic_fetch_add(&c->board->bad, 1);
	return 1;
}

static uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec t = {0};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* A piece may be made to take for ever. */
static void end_late(struct crew *c, unsigned self)
{
	uint32_t at = atomic_load(&c->board->at[self]);
	struct worker *w = &c->workers[self];
	uint64_t now = cpu_ns_of(w->pid);

	if (at == 0 || at != w->at) {
		w->at = at;
		w->since_ns = now;
	} else if ((now - w->since_ns) / SECOND_NS >= c->time && !w->is_late) {
		w->is_late = 1;
		kill(w->pid, SIGKILL);
	}
}

static unsigned n_done(const struct crew *c)
{
	return atomic_load(&c->board->good) + atomic_load(&c->board->bad);
}

/* Waits until some worker ends, or a while; buries those that have. How many
 * are left. */
static unsigned tend(struct crew *c)
{
	struct pollfd fds[WORKERS_MAX];
	unsigned left = 0;
	struct hark_err ignored;

	for (unsigned i = 0; i < c->n_workers; i++)
		fds[i] = (struct pollfd){
		    .fd = c->workers[i].pid > 0 ? c->workers[i].fd : -1,
		    .events = POLLIN};
	if (poll(fds, c->n_workers, TICK_MS) > 0)
		for (unsigned i = 0; i < c->n_workers; i++)
			if (fds[i].fd >= 0 && fds[i].revents != 0 &&
			    bury(c, i) && ++c->deaths < WORKERS_DEATHS)
				start_worker(c, i, &ignored);
	for (unsigned i = 0; i < c->n_workers; i++)
		if (c->workers[i].pid > 0) {
			end_late(c, i);
			left++;
		}
	if (c->plan->progress != NULL &&
	    c->plan->progress(c->plan->ctx, n_done(c)) != 0)
		c->given_up = 1;
	return left;
}

/* Nobody is to go on. */
static void end_all(struct crew *c)
{
	for (unsigned i = 0; i < c->n_workers; i++) {
		struct worker *w = &c->workers[i];

		if (w->pid == 0)
			continue;
		kill(w->pid, SIGKILL);
		while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(w->fd);
		*w = (struct worker){0};
	}
}

static int by_piece(const void *a, const void *b)
{
	const struct workers_text *x = a, *y = b;

	return x->piece < y->piece ? -1 : x->piece > y->piece;
}

static void take_result(const struct crew *c, struct workers_result *out)
{
	struct board *b = c->board;

	*out = (struct workers_result){.good = atomic_load(&b->good),
				       .bad = atomic_load(&b->bad),
				       .sum = atomic_load(&b->sum)};
	if (n_done(c) < c->plan->n)
		out->not_done = c->plan->n - n_done(c);
	for (unsigned i = 0; i < WORKERS_TEXTS; i++) {
		struct workers_text *t = &out->texts[out->n_texts];

		if (!atomic_load(&b->notes[i].ready))
			continue;
		*t = b->notes[i].text;
		t->text[sizeof t->text - 1] = '\0';
		out->n_texts++;
	}
	qsort(out->texts, out->n_texts, sizeof out->texts[0], by_piece);
}

int workers_run(const struct workers_plan *plan, struct workers_result *out,
		struct hark_err *err)
{
	struct crew c = {.plan = plan, .time = bounds_time()};
	int rc = -1;

	c.board = make_board(&c, err);
	if (c.board == NULL)
		return -1;
	c.n_workers = plan->jobs < WORKERS_MAX ? plan->jobs : WORKERS_MAX;
	c.n_workers = c.n_workers < plan->n ? c.n_workers : plan->n;
	for (unsigned i = 0; i < c.n_workers; i++)
		if (start_worker(&c, i, err) == 0)
			rc = 0;
	if (rc == 0 || plan->n == 0) {
		while (!c.given_up && tend(&c) > 0)
			;
		end_all(&c);
		take_result(&c, out);
		rc = c.given_up ? err_set(err, HARK_ETIME, EINTR, "interrupted")
				: 0;
	}
	munmap(c.board, c.board_size);
	return rc;
}
