/* probe/waits.c - threads by their records, and looks at those that wait.
 *
 *		 OUT			  IN
 *	running ----> waiting, not seen ----> running	counts for no stack
 *			  | look
 *			  v	      IN, later than the look was over
 *		      waiting, seen ------> running	counts for the stack
 *			  |		  IN, earlier
 *			  +---------------> running	counts for no stack
 *
 * READY is like OUT, but nobody looks: where a thread was interrupted cannot
 * be seen from outside. */
#include "probe/waits.h"

#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

enum {
	BUCKETS = 1024,
	/* Stacks of a thread that samples of its own have not. */
	MAP_SEEN = UNWIND_MAPS,
	MAP_BARE,
	LOOK_NS = 2000000, /* time for looks, at once */
	TRIES = 4,
	HOLDS = 16,	     /* the last ones */
	LONG_NS = 250000000, /* a wait that goes on is counted now and then */
	/* From its record a thread has this far to go before it is itself
	 * again, and clocks of two processors may differ by less. */
	MARGIN_NS = 500,
};

enum state { UNKNOWN, RUNS, WAITS, READY };

struct thread {
	struct thread *next, *more; /* owned: of the bucket; of all */
	pid_t pid, tid;
	uint8_t state; /* enum state */
	uint8_t tries; /* looks in this wait */
	bool is_seen;  /* .seen is the stack of this wait, if it lasted */
	bool is_gone;
	uint64_t since_ns;	     /* not counted before */
	uint64_t looked_ns;	     /* when the look was over */
	struct wait_stack seen, put; /* owned; .put: the last one counted */
	/* What counts for no stack, and is not told yet: there may be many. */
	uint64_t bare[2], told_ns;
};

/* hark held a process. */
struct hold {
	pid_t pid;
	uint64_t from, to;
};

struct waits {
	struct waits_plan p;
	struct hold holds[HOLDS];
	unsigned next_hold;
	struct thread *bucket[BUCKETS]; /* borrowed: of .all */
	struct thread *all;		/* owned */
	struct thread *next_look;	/* borrowed; or NULL */
	struct session_waits account;
};

int waits_new(const struct waits_plan *p, struct waits **out,
	      struct hark_err *err)
{
	struct waits *w = calloc(1, sizeof *w);

	if (w == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	w->p = *p;
	*out = w;
	return 0;
}

static void free_thread(struct thread *t)
{
	free(t->seen.frames);
	free(t->put.frames);
	free(t);
}

void waits_free(struct waits *w)
{
	if (w == NULL)
		return;
	while (w->all != NULL) {
		struct thread *t = w->all;

		w->all = t->more;
		free_thread(t);
	}
	free(w);
}

/* -- Threads -- */

static struct thread **bucket_of(struct waits *w, pid_t tid)
{
	return &w->bucket[(uint32_t)tid % BUCKETS];
}

static struct thread *find(struct waits *w, pid_t pid, pid_t tid)
{
	struct thread *t = *bucket_of(w, tid);

	while (t != NULL && (t->tid != tid || t->pid != pid))
		t = t->next;
	return t;
}

static struct thread *make(struct waits *w, pid_t pid, pid_t tid)
{
	struct thread **bucket = bucket_of(w, tid), *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->pid = pid;
	t->tid = tid;
	t->next = *bucket;
	*bucket = t;
	t->more = w->all;
	w->all = t;
	return t;
}

/* Out of the bucket at once; waits_look() frees it. */
static void end_thread(struct waits *w, struct thread *t)
{
	struct thread **at = bucket_of(w, t->tid);

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->is_gone = true;
}

static void free_gone(struct waits *w)
{
	for (struct thread **at = &w->all; *at != NULL;) {
		struct thread *t = *at;

		if (!t->is_gone) {
			at = &t->more;
			continue;
		}
		*at = t->more;
		if (w->next_look == t)
			w->next_look = t->more;
		free_thread(t);
	}
}

/* -- Counting -- */

static bool is_same(const struct session_frame *a,
		    const struct session_frame *b)
{
	return a->pc == b->pc && a->how == b->how &&
	       a->is_return == b->is_return;
}

/* Frames, from the outermost on, that were there when it was last counted. */
static uint32_t kept_of(const struct wait_stack *a, const struct wait_stack *b)
{
	uint32_t n = 0;

	while (n < a->n && n < b->n && is_same(&a->frames[n], &b->frames[n]))
		n++;
	return n;
}

bool waits_has(struct waits *w, pid_t pid, pid_t tid)
{
	return find(w, pid, tid) != NULL;
}

void waits_forget(struct waits *w, pid_t pid, pid_t tid)
{
	struct thread *t = find(w, pid, tid);

	if (t != NULL)
		t->put.n = 0;
}

void waits_held(struct waits *w, pid_t pid, uint64_t from_ns, uint64_t to_ns)
{
	w->holds[w->next_hold++ % HOLDS] = (struct hold){pid, from_ns, to_ns};
}

static uint64_t ticks_of(uint64_t period, uint64_t from, uint64_t to)
{
	return to <= from ? 0 : to / period - from / period;
}

/* From one moment to another, in periods, without what was hark's. Holds come
 * one after the other. */
static uint64_t weight_of(const struct waits *w, const struct thread *t,
			  uint64_t to, uint64_t period)
{
	uint64_t n = ticks_of(period, t->since_ns, to);

	for (unsigned i = 0; i < HOLDS; i++) {
		const struct hold *h = &w->holds[i];

		if (h->pid == t->pid)
			n -= ticks_of(period,
				      h->from > t->since_ns ? h->from
							    : t->since_ns,
				      h->to < to ? h->to : to);
	}
	return n;
}

static int put_seen(struct waits *w, struct thread *t, uint64_t now,
		    uint64_t weight, struct hark_err *err)
{
	uint32_t kept = kept_of(&t->seen, &t->put);
	const struct session_sample s = {
	    .pid = t->pid,
	    .tid = t->tid,
	    .time_ns = now,
	    .ticks = weight,
	    .map = MAP_SEEN,
	    .kept = kept,
	    .n = t->seen.n - kept,
	    .frames = t->seen.frames + kept,
	    .end = t->seen.end,
	};
	size_t n = t->seen.n;

	if (t->put.room < n) {
		struct session_frame *more =
		    reallocarray(t->put.frames, n, sizeof *more);

		if (more == NULL)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
		t->put.frames = more;
		t->put.room = n;
	}
	if (n > 0)
		memcpy(t->put.frames, t->seen.frames,
		       n * sizeof *t->put.frames);
	t->put.n = t->seen.n;
	return w->p.put(w->p.ctx, &s, err);
}

static int put_bare(struct waits *w, struct thread *t, uint64_t now,
		    struct hark_err *err)
{
	static const uint8_t why[2] = {SESSION_SHORT, SESSION_READY};

	for (unsigned i = 0; i < 2; i++) {
		const struct session_sample s = {
		    .pid = t->pid,
		    .tid = t->tid,
		    .time_ns = now,
		    .ticks = t->bare[i],
		    .map = MAP_BARE,
		    .end = why[i],
		};

		t->bare[i] = 0;
		if (s.ticks > 0 && w->p.put(w->p.ctx, &s, err) < 0)
			return -1;
	}
	t->told_ns = now;
	return 0;
}

/* From .since_ns to now; the look was good if it was over before `ran_ns`. */
static int count(struct waits *w, struct thread *t, uint64_t now,
		 uint64_t ran_ns, struct hark_err *err)
{
	uint64_t ns = weight_of(w, t, now, 1),
		 weight = w->p.period_ns == 0
			      ? ns
			      : weight_of(w, t, now, w->p.period_ns);
	bool is_seen = t->is_seen && t->looked_ns + MARGIN_NS < ran_ns;

	t->since_ns = now;
	if (t->state == READY) {
		w->account.ready_ns += ns;
		t->bare[1] += w->p.counts_ready ? weight : 0;
		return 0;
	}
	w->account.wait_ns += ns;
	if (!is_seen) {
		w->account.short_ns += ns;
		t->bare[0] += weight;
		return 0;
	}
	return weight == 0 ? 0 : put_seen(w, t, now, weight, err);
}

/* A wait that goes on, and is to count now? */
static bool is_due(const struct thread *t, uint64_t until_ns, bool last)
{
	if ((t->state != WAITS && t->state != READY) || until_ns <= t->since_ns)
		return false;
	return last || (until_ns - t->since_ns >= LONG_NS &&
			(t->state == READY || t->is_seen) &&
			t->looked_ns + MARGIN_NS < until_ns);
}

int waits_count(struct waits *w, uint64_t until_ns, bool last,
		struct hark_err *err)
{
	for (struct thread *t = w->all; t != NULL; t = t->more) {
		if (t->is_gone)
			continue;
		if (is_due(t, until_ns, last) &&
		    count(w, t, until_ns, until_ns, err) < 0)
			return -1;
		if ((last || until_ns > t->told_ns + LONG_NS) &&
		    put_bare(w, t, until_ns, err) < 0)
			return -1;
	}
	return 0;
}

/* -- What happens -- */

static void begin(struct thread *t, enum state state, uint64_t now)
{
	t->state = (uint8_t)state;
	t->since_ns = now;
	t->is_seen = false;
	t->tries = 0;
	t->looked_ns = 0;
}

/* A gap in the records: who waits now is known when it is heard of again. */
static void forget_all(struct waits *w)
{
	for (struct thread *t = w->all; t != NULL; t = t->more)
		t->state = UNKNOWN;
}

int waits_event(struct waits *w, const struct switch_event *e,
		struct hark_err *err)
{
	struct thread *t;
	int rc = 0;

	if (e->kind == SWITCH_LOST) {
		w->account.lost += e->n;
		forget_all(w);
		return 0;
	}
	t = find(w, e->pid, e->tid);
	if (e->kind == SWITCH_EXIT || e->kind == SWITCH_EXEC) {
		if (t == NULL || e->kind == SWITCH_EXEC)
			return 0;
		end_thread(w, t);
		return put_bare(w, t, e->time_ns, err);
	}
	if (t == NULL)
		t = make(w, e->pid, e->tid);
	if (t == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (t->state == WAITS || t->state == READY)
		rc = count(w, t, e->time_ns, e->time_ns, err);
	if (e->kind == SWITCH_OUT)
		w->account.waits++;
	begin(t,
	      e->kind == SWITCH_IN    ? RUNS
	      : e->kind == SWITCH_OUT ? WAITS
				      : READY,
	      e->time_ns);
	return rc;
}

/* -- Looks -- */

static void look_at(struct waits *w, struct thread *t)
{
	t->tries++;
	t->is_seen = w->p.look(w->p.ctx, t->pid, t->tid, &t->seen);
	t->looked_ns = w->p.now();
}

void waits_look(struct waits *w)
{
	uint64_t began = w->p.now();
	struct thread *t;

	free_gone(w);
	t = w->next_look != NULL ? w->next_look : w->all;
	w->next_look = NULL;
	for (; t != NULL; t = t->more) {
		if (t->state != WAITS || t->is_seen || t->tries == TRIES)
			continue;
		look_at(w, t);
		if (t->looked_ns - began > LOOK_NS) {
			w->next_look = t->more;
			return;
		}
	}
}

void waits_account(const struct waits *w, struct session_waits *out)
{
	*out = w->account;
}
