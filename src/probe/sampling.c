/* probe/sampling.c - samples put together, and what was mapped then. */
#include "probe/sampling_priv.h"

#include "base/fmt.h"
#include "native/collect_board.h"
#include "outside/proc.h"
#include "outside/tracee.h"
#include "probe/wait_look.h"

#include <stdlib.h>
#include <string.h>

enum { DEEP_ROW = 32 }; /* samples: they stay deep */

/* Of an area: whose samples they were, and parts of one that is not whole
 * yet. */
struct partial {
	uint32_t owner;		      /* 0: nobody's */
	pid_t pid, tid;		      /* as hark numbers them, if it can */
	bool is_strange;	      /* or else as the process does */
	struct session_frame *frames; /* owned; from .kept on */
	size_t room;
	uint32_t kept, depth, n;
	struct whole *whole; /* owned: UNWIND_MAPS of them; NULL: not checked */
};

/* Of a stack: all that was put together, if that is checked. */
struct whole {
	struct session_frame *frames; /* owned; outermost first */
	size_t room;
	uint32_t n;
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "out of memory");
}

int sampling_new(const struct session_samples *p, bool follows,
		 struct image *image, struct sampling **out,
		 struct hark_err *err)
{
	struct sampling *s = calloc(1, sizeof *s);

	if (s == NULL)
		return no_memory(err);
	s->p = p;
	s->follows = follows;
	s->image = image;
	if (sampling_open_waits(s, err) < 0) {
		sampling_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

static void drop_whole(struct partial *p)
{
	for (unsigned i = 0; p->whole != NULL && i < UNWIND_MAPS; i++)
		free(p->whole[i].frames);
	free(p->whole);
	p->whole = NULL;
}

void sampling_free(struct sampling *s)
{
	if (s == NULL)
		return;
	sampling_close_waits(s);
	told_fini(&s->told);
	for (size_t i = 0; i < s->n_known; i++)
		modules_free(s->known[i].modules);
	for (size_t i = 0; i < s->n_partial; i++) {
		free(s->partial[i].frames);
		drop_whole(&s->partial[i]);
	}
	free(s->known);
	free(s->partial);
	free(s);
}

uint64_t sampling_differing(const struct sampling *s)
{
	return s->differing;
}

/* -- What is mapped -- */

/* Or its number is that of somebody else. */
static bool can_ask(const struct sampling *s, pid_t pid)
{
	return pid == s->told.pid || proc_began(pid) >= s->told.began;
}

struct known *sampling_known(const struct sampling *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_known; i++)
		if (s->known[i].pid == pid)
			return &s->known[i];
	return NULL;
}

static struct known *know(struct sampling *s, pid_t pid, struct hark_err *err)
{
	struct known *k = sampling_known(s, pid);

	if (k != NULL)
		return k;
	k = reallocarray(s->known, s->n_known + 1, sizeof *k);
	if (k == NULL) {
		no_memory(err);
		return NULL;
	}
	s->known = k;
	k += s->n_known++;
	*k = (struct known){.pid = pid,
			    .began = proc_began(pid),
			    .is_inside = !proc_same_ids(pid)};
	return k;
}

/* The thread that executes another program goes on as the first of its process,
 * if with another area. */
static void keep_first(struct sampling *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_partial; i++)
		if (s->partial[i].tid == pid && s->partial[i].pid == pid)
			s->partial[i].owner = 0;
}

static int tell_maps(struct sampling *s, pid_t pid, struct modules *modules,
		     struct hark_err *err)
{
	if (s->look != NULL && wait_look_maps(s->look, pid, modules, err) < 0)
		return -1;
	return s->p->maps(s->p->ctx, pid, modules, err);
}

int sampling_maps(struct sampling *s, pid_t pid, bool is_new,
		  struct hark_err *err)
{
	struct known *k = know(s, pid, err);
	struct modules *modules;
	bool changed;

	if (k == NULL)
		return -1;
	if (is_new) {
		keep_first(s, pid);
		k->began = proc_began(pid);
		if (s->told.pid == 0)
			told_init(&s->told, pid);
	}
	if (!is_new && k->modules != NULL) {
		if (modules_refresh(k->modules, &changed, err) < 0)
			return -1;
		changed = changed && modules_count(k->modules) > 0;
		k->has_found |= changed;
		return changed ? tell_maps(s, pid, k->modules, err) : 0;
	}
	if (modules_of_pid(s->image, pid, &modules, err) < 0)
		return -1;
	/* One that is ending has nothing mapped any more: what it had, its
	 * samples still need. */
	if (!is_new && modules_count(modules) == 0) {
		modules_free(modules);
		return 0;
	}
	modules_free(k->modules);
	k->modules = modules;
	k->is_other = false;
	return tell_maps(s, pid, modules, err);
}

/* It may have executed something else by now, so that itself is not asked. */
int sampling_inherit(struct sampling *s, pid_t pid, struct hark_err *err)
{
	const struct known *from;
	struct known *k = know(s, pid, err);
	uint64_t parent = 0;

	if (k == NULL)
		return -1;
	if (can_ask(s, pid))
		proc_status(pid, pid, "PPid", 10, &parent);
	from = sampling_known(s, (pid_t)parent);
	if (from == NULL || from->modules == NULL)
		from = &s->known[0];
	k->plan = from->plan;
	if (s->look != NULL && wait_look_like(s->look, pid, from->pid, err) < 0)
		return -1;
	return from->modules == NULL
		   ? 0
		   : s->p->maps(s->p->ctx, pid, from->modules, err);
}

/* Where code is strange, not too often. */
static void look(struct sampling *s, int64_t now_ns)
{
	enum { SELDOM_NS = 100000000 };
	struct hark_err ignored;
	pid_t pid = s->strange;

	if (pid == 0 || !can_ask(s, pid) || now_ns - s->looked_ns < SELDOM_NS)
		return;
	s->strange = 0;
	s->looked_ns = now_ns;
	sampling_maps(s, pid, false, &ignored); /* it may be gone */
}

/* -- Threads -- */

static void leave(struct sampling *s, struct partial *p)
{
	if (p->owner != 0 && s->p->gone != NULL) {
		s->p->gone(s->p->ctx, p->pid, p->tid);
		if (s->waits != NULL)
			waits_forget(s->waits, p->pid, p->tid);
	}
	p->owner = 0;
}

/* Another process has its number. The maps that are known are not its own. */
static int renew_process(struct sampling *s, pid_t pid, struct hark_err *err)
{
	struct known *k = sampling_known(s, pid);
	uint64_t began = can_ask(s, pid) ? proc_began(pid) : 0;

	if (k == NULL || began == 0 || k->began == began)
		return 0;
	modules_free(k->modules);
	k->modules = NULL;
	k->began = began;
	return sampling_inherit(s, pid, err);
}

/* Another thread has the area. If it has the number of one that was elsewhere,
 * that one has ended, too: records come by time. */
static int change_owner(struct sampling *s, struct partial *p,
			const struct board_record *r, uint32_t owner,
			struct hark_err *err)
{
	leave(s, p);
	for (size_t i = 0; i < s->n_partial; i++)
		if (s->partial[i].tid == (pid_t)r->tid &&
		    s->partial[i].pid == (pid_t)r->pid)
			leave(s, &s->partial[i]);
	p->owner = owner;
	p->pid = (pid_t)r->pid;
	p->tid = (pid_t)r->tid;
	p->n = p->kept = p->depth = 0;
	drop_whole(p);
	return renew_process(s, p->pid, err);
}

/* It has said all, and waits for nothing. */
static bool has_ended(const struct sampling *s, const struct board *b,
		      uint32_t area)
{
	const struct partial *p = &s->partial[area];

	return p->owner != 0 && board_is_left(b, area, p->owner) &&
	       (s->waits == NULL || !waits_has(s->waits, p->pid, p->tid));
}

int sampling_pause(struct sampling *s, const struct board *b,
		   struct hark_err *err)
{
	for (uint32_t i = 0; i < s->n_partial; i++)
		if (has_ended(s, b, i))
			leave(s, &s->partial[i]);
	look(s, tracee_now_ns());
	return s->p->pause != NULL ? s->p->pause(s->p->ctx, err) : 0;
}

/* -- Samples -- */

static struct partial *partial_of(struct sampling *s, uint32_t area)
{
	if (area >= s->n_partial) {
		struct partial *more =
		    reallocarray(s->partial, area + 1, sizeof *more);

		if (more == NULL)
			return NULL;
		memset(more + s->n_partial, 0,
		       (area + 1 - s->n_partial) * sizeof *more);
		s->partial = more;
		s->n_partial = area + 1;
	}
	return &s->partial[area];
}

static int make_room(struct session_frame **frames, size_t *room, size_t n,
		     struct hark_err *err)
{
	struct session_frame *more;

	if (n <= *room)
		return 0;
	n += n / 2 + 64;
	more = reallocarray(*frames, n, sizeof *more);
	if (more == NULL)
		return no_memory(err);
	*frames = more;
	*room = n;
	return 0;
}

/* The top is where the thread was; so is a frame that a signal has
 * interrupted. All others are behind a call. */
static void add_frames(struct partial *p, const struct collect_sample *s)
{
	const uint64_t *word = (const uint64_t *)(const void *)(s + 1);

	for (uint32_t i = 0; i < s->n; i++) {
		uint8_t how = (uint8_t)(word[i] >> UNWIND_HOW);
		bool is_top = s->from + i + 1 == s->depth;

		p->frames[p->n++] = (struct session_frame){
		    .pc = word[i] & ((1ull << UNWIND_HOW) - 1),
		    .how = how < UNWIND_HOWS ? how : UNWIND_SCAN,
		    .is_return = !is_top && how != UNWIND_SIGNAL,
		};
	}
}

/* Code that nobody has told of: it may be new. Whoever looked a moment ago does
 * so later (sampling_pause): the next samples may have kept such frames. */
static void look_for(struct sampling *s, pid_t pid, const struct partial *p,
		     int64_t now_ns)
{
	const struct known *k = sampling_known(s, pid);
	bool is_strange = false;

	if (k == NULL || s->strange == pid || !can_ask(s, pid))
		return;
	for (uint32_t i = 0; i < p->n && !is_strange; i++)
		is_strange = k->modules == NULL ||
			     modules_find(k->modules, p->frames[i].pc) == NULL;
	if (!is_strange)
		return;
	s->strange = pid;
	look(s, now_ns);
}

/* -- Checks -- */

static int tell(const struct sampling *s, const char *text,
		struct hark_err *err)
{
	return s->p->differs != NULL ? s->p->differs(s->p->ctx, text, err) : 0;
}

/* As unwind_check() has it. */
static uint64_t hash_of(const struct session_frame *frames, uint32_t n,
			uint8_t end)
{
	uint64_t hash = 0;

	while (n-- > 0)
		hash = unwind_mix(hash, unwind_word((struct unwind_frame){
					    frames[n].pc, frames[n].how}));
	return unwind_mix(hash, end);
}

/* The stack that comes of it: is it what the thread has walked? */
static int check_whole(struct sampling *s, const struct board_record *r,
		       const struct collect_sample *in, struct partial *p,
		       struct hark_err *err)
{
	struct whole *w;
	bool is_right;
	char text[128];

	if (p->whole == NULL)
		p->whole = calloc(UNWIND_MAPS, sizeof *p->whole);
	if (p->whole == NULL)
		return no_memory(err);
	w = &p->whole[in->map];
	if (make_room(&w->frames, &w->room, in->depth, err) < 0)
		return -1;
	if (w->frames == NULL || p->frames == NULL)
		return 0; /* there are none */
	memcpy(w->frames + in->kept, p->frames, p->n * sizeof *p->frames);
	is_right = in->kept <= w->n &&
		   (in->check == 0 ||
		    hash_of(w->frames, in->depth, in->end) == in->check);
	w->n = in->depth;
	if (is_right)
		return 0;
	s->differing++;
	fmt_text(text, sizeof text,
		 "thread %u: a stack of %u frames, %u of them kept, was put "
		 "together wrong",
		 r->tid, in->depth, in->kept);
	return tell(s, text, err);
}

static size_t add_words(char *text, size_t at, size_t size, const char *name,
			const uint64_t *words, size_t n)
{
	at += fmt_text(text + at, size - at, "; %s", name);
	for (size_t i = 0; i < n && at < size; i++)
		at += fmt_text(text + at, size - at, " %lx",
			       (unsigned long)words[i]);
	return at < size ? at : size;
}

static int tell_difference(const struct sampling *s,
			   const struct board_record *r, struct hark_err *err)
{
	struct collect_difference d;
	char text[1600];
	size_t at;

	memcpy(&d, r->entries, sizeof d);
	at = fmt_text(
	    text, sizeof text,
	    "thread %u: frame %u: pc %lx, sp %lx, rbp %lx; the map has %u "
	    "frames (end %u), %u kept, a walk %u (end %u); before it pc %lx, "
	    "sp %lx",
	    r->tid, d.check.at, (unsigned long)d.pc, (unsigned long)d.sp,
	    (unsigned long)d.rbp, d.depth, d.end, d.kept, d.check.depth,
	    d.check.end, (unsigned long)d.check.pc, (unsigned long)d.check.sp);
	at = add_words(text, at, sizeof text, "map", d.check.has, UNWIND_SHOWN);
	at = add_words(text, at, sizeof text, "walk", d.check.walked,
		       UNWIND_SHOWN);
	add_words(text, at, sizeof text, "stack", d.words, COLLECT_WORDS);
	return tell(s, text, err);
}

/* -- All together -- */

/* A virtual machine makes code all the time, and each list of it takes memory
 * in the process: it is told at ever longer intervals, and not for ever. */
struct modules *sampling_found(struct sampling *s, pid_t pid)
{
	enum { FIRST_NS = 100000000, DOUBLINGS = 6, MOST = 64 };
	struct known *k = sampling_known(s, pid);
	unsigned n = s->n_found < DOUBLINGS ? s->n_found : DOUBLINGS;
	int64_t now_ns = tracee_now_ns();

	if (k == NULL || !k->has_found || s->n_found == MOST ||
	    now_ns - s->found_ns < (int64_t)FIRST_NS << n)
		return NULL;
	k->has_found = false;
	s->found_ns = now_ns;
	s->n_found++;
	return k->modules;
}

static void note_depth(struct sampling *s, const struct session_sample *in)
{
	if (s->n_known == 0 || in->pid != s->known[0].pid || in->tid != in->pid)
		return;
	if (in->kept < COLLECT_DEEP || in->kept < in->n)
		s->n_deep = 0;
	else if (s->n_deep < DEEP_ROW)
		s->n_deep++;
}

bool sampling_is_deep(const struct sampling *s)
{
	return s->n_deep == DEEP_ROW;
}

static int hand_out(struct sampling *s, const struct board_record *r,
		    const struct collect_sample *in, struct partial *p,
		    struct hark_err *err)
{
	const struct session_sample sample = {
	    .pid = (pid_t)r->pid,
	    .tid = (pid_t)r->tid,
	    .time_ns = r->time_ns,
	    .ticks = in->ticks > 0 ? in->ticks : 1,
	    .map = in->map,
	    .kept = in->kept,
	    .frames = p->frames,
	    .n = p->n,
	    .end = in->end,
	    .is_strange = p->is_strange,
	};

	if (sampling_known(s, sample.pid) == NULL &&
	    sampling_inherit(s, sample.pid, err) < 0)
		return -1;
	look_for(s, sample.pid, p, (int64_t)r->time_ns);
	note_depth(s, &sample);
	if (s->p->checks && check_whole(s, r, in, p, err) < 0)
		return -1;
	return s->p->put(s->p->ctx, &sample, err);
}

/* A part that does not go with those before it is the first, or nothing comes
 * of it: the thread had to give up, and has counted it. */
static int take(struct sampling *s, const struct board_record *r,
		const struct collect_sample *in, struct partial *p,
		struct hark_err *err)
{
	if (in->owner != p->owner && change_owner(s, p, r, in->owner, err) < 0)
		return -1;
	if (in->from == in->kept) {
		p->kept = in->kept;
		p->depth = in->depth;
		p->n = 0;
	} else if (in->kept != p->kept || in->depth != p->depth ||
		   in->from != p->kept + p->n) {
		return 0;
	}
	if (make_room(&p->frames, &p->room, p->n + in->n, err) < 0)
		return -1;
	add_frames(p, in);
	return p->kept + p->n == p->depth ? hand_out(s, r, in, p, err) : 0;
}

/* As hark numbers it, if it can. */
static void number(struct sampling *s, struct board_record *r,
		   struct partial *p)
{
	pid_t pid = told_number(&s->told, (pid_t)r->pid);
	pid_t tid = pid != 0 ? told_thread(pid, (pid_t)r->tid) : 0;

	p->is_strange = pid == 0;
	if (pid != 0)
		r->pid = (uint32_t)pid;
	if (tid != 0)
		r->tid = (uint32_t)tid;
}

int sampling_record(struct sampling *s, const struct board_record *r,
		    struct hark_err *err)
{
	const struct collect_sample *in =
	    (const struct collect_sample *)(const void *)r->entries;
	struct board_record here = *r;
	struct partial *p = partial_of(s, r->area);

	if (p == NULL)
		return no_memory(err);
	if (p->owner != 0 && (r->is_difference || in->owner == p->owner)) {
		here.pid = (uint32_t)p->pid;
		here.tid = (uint32_t)p->tid;
	} else if (!r->is_difference) {
		number(s, &here, p);
	}
	return here.is_difference ? tell_difference(s, &here, err)
				  : take(s, &here, in, p, err);
}
