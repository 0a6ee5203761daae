/* unwind/map.c - of the next sample, only what has changed.
 *
 * A map is the last walk of one stack: for each frame its pc, its sp, and how
 * it was found. A quick step (unwind_priv.h) reads one word, the return
 * address right below the new sp; so a frame of the map says all about the
 * step that led to it: if the state before is the same, and that word is the
 * frame's pc still, then the step leads there again. To follow the map is one
 * comparison a frame, and none depends on the one before.
 *
 *	walk anew:  top .. k   until k has pc and sp of a frame in the map
 *	follow:	    k .. e     as long as words are what they were
 *	walk anew:  e .. k'    until there is such a frame again, and so on
 *
 * rbp is part of the state, too, but few steps use it. A span is a range of
 * frames with one rbp, as far out as the last frame whose step uses it, the
 * word that it was loaded from, and its value. Who joins the map within a span
 * must come with that value; who follows the map through the whole of one
 * compares the word. Elsewhere rbp may be what it likes: nobody will look.
 *
 * Where a stack is deep, even that comparison costs: each frame is a cache line
 * that nobody else reads. If it is known that a page was not written since the
 * last look (unwind_calm), and the map was made after that look and before the
 * next, then its words are what they were, and are not read. What else a
 * comparison finds out, that there is no odd step on the way, is remembered
 * (.clean): a range of heights that some comparison has passed through.
 *
 * M1  A frame that was reached by an odd step says so (ENTRY_ODD): that step is
 *     made each time anew. So guesses, signals, leaps, expressions and the end
 *     of the walk need no comparison, and are never believed twice.
 * M2  To follow reads only words of the stack that a walk would read now. (Two
 *     loops, so that not quite: words outside of a span that has changed are
 *     read, too. Steps that could lead to another stack are odd.)
 * M3  Frames of a map lie innermost first, spans outermost first, by height:
 *     the outermost frame has 0. Both stay where they are when only inner
 *     frames change.
 * M4  Until the end, only the spare buffer is written.
 *
 * New frames are gathered in the spare buffer, from its middle on. At the end
 * the shorter part is copied to the longer one, which is then the map's:
 * there is always room before it, since a map that fills its first half has
 * been longer than the second.
 *
 * Freestanding, and hosted too. */
#include "unwind/unwind_priv.h"

/* sp, and in its upper 16 bits how the frame was found. */
struct entry {
	uint64_t pc, at;
};
#define ENTRY_SP    (((uint64_t)1 << 48) - 1)
#define ENTRY_ODD   ((uint64_t)1 << 63)
#define ENTRY_EXACT ((uint64_t)1 << 60)
enum { ENTRY_HOW = 61, ENTRY_SAVED = 56 }; /* shifts, of 2 and 4 bits */
enum { STRIDE = 8 };			   /* entries, of a search */
/* Little is less than one frame in LITTLE, or FEW that are less than half of
 * them. After VAIN such samples in a row, of VAIN only the last two are more
 * than a bare walk: one to be followed, one that tries to. */
enum { LITTLE = 8, FEW = 8, VAIN = 8 };
/* What two frames must have in common to be the same. */
#define ENTRY_SAME (ENTRY_SP | ENTRY_EXACT | (uint64_t)3 << ENTRY_HOW)

/* Frames from .inner to .outer have one rbp. In a map these are heights, in
 * the spare list they count from the innermost frame. */
struct span {
	uint64_t at; /* where it was saved; RBP_HERE: nowhere */
	uint64_t value;
	uint32_t inner, outer;
};

struct map {
	uint64_t base; /* sp of the outermost frame on the same stack */
	uint64_t generation, used;
	uint32_t buffer, first, n, n_spans;
	uint32_t fresh, fresh_before; /* frames of the last two samples that
				       * were new */
	uint16_t vain;		      /* samples in a row that kept little */
	bool is_bare;		      /* it cannot be followed */
	uint64_t look;		      /* the last one before it; 0: none */
	/* Heights: no frame of them was reached by an odd step. */
	uint32_t clean_from, clean_to;
};

struct unwind_maps {
	uint64_t clock;
	uint32_t max_depth, spare; /* a buffer that is no map's */
	struct map map[UNWIND_MAPS];
	/* UNWIND_MAPS + 1 times 2 * max_depth entries, then as many times
	 * max_depth spans, the last of them spare. */
};
_Static_assert(sizeof(struct unwind_maps) % 8 == 0, "entries follow");

static struct entry *entries(const struct unwind_maps *m, uint32_t buffer)
{
	return (struct entry *)(m + 1) + (size_t)buffer * 2 * m->max_depth;
}

static struct span *spans(const struct unwind_maps *m, uint32_t map)
{
	return (struct span *)entries(m, UNWIND_MAPS + 1) +
	       (size_t)map * m->max_depth;
}

size_t unwind_maps_size(uint32_t max_depth)
{
	return sizeof(struct unwind_maps) +
	       (size_t)(UNWIND_MAPS + 1) * max_depth *
		   (2 * sizeof(struct entry) + sizeof(struct span));
}

void unwind_maps_init(struct unwind_maps *m, uint32_t max_depth)
{
	m->clock = 0;
	m->max_depth = max_depth;
	m->spare = UNWIND_MAPS;
	for (uint32_t i = 0; i < UNWIND_MAPS; i++)
		m->map[i] = (struct map){.buffer = i};
}

uint32_t unwind_maps_depth(const struct unwind_maps *m)
{
	return m->max_depth;
}

void unwind_maps_forget(struct unwind_maps *m)
{
	for (uint32_t i = 0; i < UNWIND_MAPS; i++)
		m->map[i].n = 0;
}

struct unwind_frame unwind_at(const struct unwind_maps *m, uint32_t map,
			      uint32_t i)
{
	const struct map *a = &m->map[map];
	const struct entry *e = &entries(m, a->buffer)[a->first + a->n - 1 - i];

	return (struct unwind_frame){.pc = e->pc,
				     .how = e->at >> ENTRY_HOW & 3};
}

/* -- A sample that is being taken -- */

struct take {
	struct unwind_work w;
	struct unwind_maps *m;
	uint32_t max_depth;

	const struct entry *old; /* of the map; none: .n_old is 0 */
	const struct span *old_spans;
	uint32_t n_old, n_old_spans;
	uint32_t from; /* the number of the map */

	struct entry *new;
	struct span *new_spans;
	uint32_t n_new_spans;

	/* .c: a frame of the map. If .joined it is the one that w.at is;
	 * .joined_* are the first two that were the same, and the rbp then if
	 * that matters. */
	uint32_t c, joined_c, joined_k;
	uint32_t parted_k, next_try; /* since when, and until when, not */
	bool joined, joined_live, is_bare;
	struct span joined_rbp;
	/* Spans from here on end further in than c; and than joined_c. */
	uint32_t span, joined_span;

	/* RBP_BEHIND: frames of the map that were skipped, .skipped_c is k =
	 * .skipped_k; before them rbp was as here. */
	uint32_t skipped_c, skipped_e, skipped_k;
	uint64_t before_at;
	uint32_t before_since;

	uint32_t skipped; /* steps that were not made */
	uint8_t worst;

	/* Frames of the map whose words nobody has written. */
	const struct unwind_calm *calm;
	struct part {
		uint32_t first, end;
	} calm_part[UNWIND_CALMS];
	uint32_t n_calm, next_calm, trusted;
	uint32_t clean_c, clean_e; /* the longest range that was followed */
};

static uint32_t height(const struct take *t, uint32_t c)
{
	return t->n_old - 1 - c;
}

UNWIND_INLINE uint64_t entry_sp(const struct entry *e)
{
	return e->at & ENTRY_SP;
}

/* -- rbp -- */

/* The state of quick steps is in registers; whoever gets a pointer to it gets
 * one to a copy. */

/* Finds the rbp that was left behind. */
static __attribute__((noinline)) void find_rbp_of(const struct take *t,
						  struct unwind_state *a)
{
	for (uint32_t c = t->skipped_e; c > t->skipped_c; c--) {
		unsigned saved = t->old[c].at >> ENTRY_SAVED & 15;

		if (saved == SAVED_NOT)
			continue;
		a->rbp_at = saved_at(entry_sp(&t->old[c]), saved);
		a->rbp_since = t->skipped_k + (c - t->skipped_c);
		return;
	}
	a->rbp_at = t->before_at;
	a->rbp_since = t->before_since;
}

UNWIND_INLINE void find_rbp(const struct take *t, struct unwind_state *a)
{
	struct unwind_state copy = *a;

	find_rbp_of(t, &copy);
	*a = copy;
}

UNWIND_INLINE bool get_rbp(struct take *t, bool plain, struct unwind_state *a,
			   uint64_t *out)
{
	if (a->rbp_at == RBP_BEHIND)
		find_rbp(t, a);
	return unwind_rbp(&t->w, plain, a, out);
}

/* The step from frame `outer` has used rbp. */
UNWIND_INLINE void note_use(struct take *t, const struct span *s)
{
	uint32_t n = t->n_new_spans;

	if (n > 0 && t->new_spans[n - 1].inner == s->inner)
		t->new_spans[n - 1].outer = s->outer;
	else
		t->new_spans[t->n_new_spans++] = *s;
}

/* The span of the map that frame c is in, or NULL. c only ever grows. */
static const struct span *span_of(struct take *t, uint32_t c)
{
	uint32_t h = height(t, c);

	while (t->span > 0 && t->old_spans[t->span - 1].outer > h)
		t->span--;
	if (t->span == 0 || t->old_spans[t->span - 1].inner < h)
		return NULL;
	return &t->old_spans[t->span - 1];
}

/* -- Joining -- */

UNWIND_INLINE bool is_alike(const struct take *t, const struct unwind_state *a,
			    uint32_t c)
{
	uint64_t at = a->sp | (uint64_t)t->w.how << ENTRY_HOW |
		      (a->exact ? ENTRY_EXACT : 0);

	return t->old[c].pc == a->pc && (t->old[c].at & ENTRY_SAME) == at &&
	       (a->sp & ~ENTRY_SP) == 0;
}

/* Are frame c and this one the same in all that steps from here on use? */
UNWIND_INLINE bool is_same(struct take *t, bool plain, struct unwind_state *a,
			   uint32_t c, const struct span **live, uint64_t *rbp)
{
	if (!is_alike(t, a, c))
		return false;
	*live = span_of(t, c);
	return *live == NULL ||
	       (get_rbp(t, plain, a, rbp) && *rbp == (*live)->value);
}

/* Does the map have a frame of this pc and sp? Then it is .c. To look for it at
 * each step costs as much as the step, if all has changed; so the longer it
 * was in vain, the more steps are made before the next try; and the first try
 * is where half of what was new lately is done. */
static __attribute__((noinline)) bool look_for(struct take *t, uint64_t pc,
					       uint64_t sp, uint32_t k)
{
	const struct entry *old = t->old;
	uint32_t c = t->c, n = t->n_old, passed = 0;

	t->next_try = k + 1 + (k - t->parted_k) / 2;
	for (; c + STRIDE <= n; c += STRIDE) {
		if (entry_sp(&old[c + STRIDE - 1]) < sp)
			continue;
		/* No branch depends on which of them it is. */
		for (uint32_t i = 0; i < STRIDE - 1; i++)
			passed += entry_sp(&old[c + i]) < sp;
		break;
	}
	c += passed;
	while (c < n && entry_sp(&old[c]) < sp)
		c++;
	t->c = c;
	return c < n && old[c].pc == pc && entry_sp(&old[c]) == sp;
}

UNWIND_INLINE void join(struct take *t, bool plain, struct unwind_state *a)
{
	const struct span *live;
	uint64_t rbp = 0;

	if (!look_for(t, a->pc, a->sp, a->k) ||
	    !is_same(t, plain, a, t->c, &live, &rbp))
		return;
	t->joined = true;
	t->joined_c = t->c;
	t->joined_k = a->k;
	t->joined_span = t->span;
	t->joined_live = live != NULL;
	t->joined_rbp = (struct span){a->rbp_at, rbp, a->rbp_since, 0};
}

/* The walk has left the map: what was skipped is gathered after all. Frame c
 * was the last that is the same. The first is there already: another step has
 * led to it. */
static void part(struct take *t)
{
	uint32_t shift = t->joined_k - t->joined_c, last = height(t, t->c);
	uint32_t first = height(t, t->joined_c);

	for (uint32_t c = t->joined_c + 1; c <= t->c; c++)
		t->new[c + shift] = t->old[c];
	for (uint32_t i = t->joined_span; i > 0; i--) {
		struct span s = t->old_spans[i - 1];

		if (s.outer <= last)
			break;
		s.outer = t->n_old - 1 - s.outer + shift;
		if (s.inner >= first) {
			t->joined_rbp.outer = s.outer;
			s = t->joined_rbp;
		} else {
			s.inner = t->n_old - 1 - s.inner + shift;
		}
		note_use(t, &s);
	}
	t->joined = false;
	t->parted_k = t->joined_k + (t->c - t->joined_c);
	t->next_try = 0;
}

/* -- What nobody has written -- */

/* The first frame from `first` to `end` with that sp, or a larger one. It is
 * mostly near the beginning, or there is none: what is in between is in no
 * cache. */
static uint32_t find_sp(const struct entry *old, uint32_t first, uint32_t end,
			uint64_t sp)
{
	if (first == end || entry_sp(&old[end - 1]) < sp)
		return end;
	for (uint32_t far = STRIDE; end - first > far; far *= 2)
		if (entry_sp(&old[first + far]) >= sp) {
			end = first + far;
			break;
		}
	while (first < end) {
		uint32_t mid = first + (end - first) / 2;

		if (entry_sp(&old[mid]) < sp)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

/* Within the clean part of the map sp rises. */
static void find_calm(struct take *t, const struct map *a)
{
	const struct unwind_calm *calm = t->w.s->calm;
	uint32_t first, end;

	if (calm == NULL || a->look == 0 || a->look + 1 != calm->look ||
	    a->clean_to > t->n_old)
		return;
	t->calm = calm;
	first = t->n_old - a->clean_to;
	end = t->n_old - a->clean_from;
	for (uint32_t i = 0; i < calm->n && first < end; i++) {
		struct part *p = &t->calm_part[t->n_calm];

		p->first = find_sp(t->old, first, end, calm->range[i].from + 8);
		p->end = find_sp(t->old, p->first, end, calm->range[i].to + 1);
		first = p->end;
		t->n_calm += p->first < p->end;
	}
}

static bool is_calm(const struct take *t, uint64_t at)
{
	if (t->calm == NULL)
		return false;
	for (uint32_t i = 0; i < t->calm->n; i++)
		if (at >= t->calm->range[i].from &&
		    at + 8 <= t->calm->range[i].to)
			return true;
	return false;
}

/* The next frames from e on that are trusted; none: behind `end`. */
UNWIND_INLINE struct part next_calm(struct take *t, uint32_t e, uint32_t end)
{
	struct part p = {end, end};

	while (t->next_calm < t->n_calm && t->calm_part[t->next_calm].end <= e)
		t->next_calm++;
	if (t->next_calm == t->n_calm)
		return p;
	p = t->calm_part[t->next_calm];
	p.first = p.first < e ? e : p.first;
	p.end = p.end < end ? p.end : end;
	if (p.first >= end)
		p.first = p.end = end;
	return p;
}

static void note_clean(struct take *t, uint32_t c, uint32_t e)
{
	if (e - c <= t->clean_e - t->clean_c)
		return;
	t->clean_c = c;
	t->clean_e = e;
}

/* -- Following -- */

/* How far out from c are words what they were? */
UNWIND_INLINE uint32_t compare(struct take *t, bool plain, uint32_t c,
			       uint32_t room)
{
	const struct entry *old = t->old;
	uint32_t e = c + 1, end = t->n_old;
	uint64_t word;

	if (end - c > room + (uint64_t)1)
		end = c + room + 1;
	for (;;) {
		struct part calm = next_calm(t, e, end);

		for (; e < calm.first; e++)
			if ((int64_t)old[e].at < 0 ||
			    !unwind_load(&t->w, plain, entry_sp(&old[e]) - 8,
					 &word) ||
			    word != old[e].pc)
				return e - 1;
		if (e >= end)
			return e - 1;
		t->trusted += calm.end - calm.first;
		e = calm.end;
	}
}

/* The same of spans that lie wholly behind c: from e, or from further in. */
UNWIND_INLINE uint32_t compare_spans(struct take *t, bool plain, uint32_t c,
				     uint32_t e)
{
	uint32_t i, first = height(t, c), last = height(t, e);
	uint64_t word;

	span_of(t, c);
	i = t->span;
	if (i > 0 && t->old_spans[i - 1].inner >= first)
		i--;
	for (; i > 0 && t->old_spans[i - 1].outer > last; i--) {
		const struct span *s = &t->old_spans[i - 1];

		if (is_calm(t, s->at))
			continue;
		if (!unwind_load(&t->w, plain, s->at, &word) ||
		    word != s->value)
			return t->n_old - 1 - s->outer;
	}
	return e;
}

/* Goes on with the map, from frame c, as far as it holds. */
UNWIND_INLINE void follow(struct take *t, bool plain, struct unwind_state *a)
{
	uint32_t c = t->c, e = compare(t, plain, c, t->max_depth - 1 - a->k);

	e = compare_spans(t, plain, c, e);
	if (e == c)
		return;
	note_clean(t, c, e);
	if (a->rbp_at == RBP_BEHIND)
		find_rbp(t, a);
	t->before_at = a->rbp_at;
	t->before_since = a->rbp_since;
	t->skipped_c = c;
	t->skipped_e = e;
	t->skipped_k = a->k;
	a->rbp_at = RBP_BEHIND;
	a->pc = t->old[e].pc;
	a->sp = entry_sp(&t->old[e]);
	a->exact = false;
	a->k += e - c;
	t->skipped += e - c;
	t->c = e;
}

/* -- Walking -- */

/* The walk has leapt: in the map, too, frames behind the next leap are meant.
 */
static void leap(struct take *t)
{
	uint32_t c = t->c + 1;

	while (c < t->n_old && entry_sp(&t->old[c]) > entry_sp(&t->old[c - 1]))
		c++;
	t->c = c < t->n_old ? c : t->n_old;
}

/* A frame that was not reached by a quick step. */
UNWIND_INLINE struct entry odd_entry(const struct take *t,
				     const struct unwind_state *a)
{
	struct entry e = {a->pc, a->sp};

	if ((a->sp & ~ENTRY_SP) != 0)
		e.at = ENTRY_SP; /* is_alike() says no */
	e.at |= ENTRY_ODD | (uint64_t)t->w.how << ENTRY_HOW |
		(a->exact ? ENTRY_EXACT : 0);
	return e;
}

static __attribute__((noinline)) enum unwind_step odd_step_at(struct take *t)
{
	struct unwind_work *w = &t->w;
	const struct unwind_state *a = &w->at;
	unsigned leaps = w->leaps;
	enum unwind_step got;

	if (a->rbp_at == RBP_BEHIND)
		find_rbp_of(t, &w->at);
	got = unwind_odd_step(w);
	if (got != STEP_DONE)
		return got;
	if (w->leaps != leaps && !t->joined)
		leap(t);
	if (w->how > t->worst && a->k < t->max_depth)
		t->worst = w->how;
	return STEP_DONE;
}

UNWIND_INLINE enum unwind_step odd_step(struct take *t, struct unwind_state *a,
					struct entry *out)
{
	enum unwind_step got;

	t->w.at = *a;
	got = odd_step_at(t);
	*a = t->w.at;
	*out = odd_entry(t, a);
	return got;
}

/* One step, what to remember of it, and the rbp that it has used. */
UNWIND_INLINE enum unwind_step make_step(struct take *t, bool plain,
					 struct unwind_state *a,
					 struct entry *out, struct span *use)
{
	uint64_t rule = unwind_find(&t->w, a->pc - !a->exact);
	uint64_t cfa = a->sp + 8 * (rule & RULE_CFA), rbp;
	enum unwind_step got;

	t->w.how = UNWIND_RULE;
	if (rule_saved(rule) == SAVED_END) {
		t->w.end = UNWIND_OUTERMOST;
		return STEP_END;
	}
	if (rule_saved(rule) == SAVED_ODD)
		return odd_step(t, a, out);
	if ((rule & RULE_RBP) != 0) {
		if (!get_rbp(t, plain, a, &rbp) ||
		    !unwind_by_rbp(a, rule, rbp, &cfa))
			return odd_step(t, a, out);
		*use = (struct span){a->rbp_at, rbp, a->rbp_since, a->k};
	}
	got = unwind_follow(&t->w, plain, a, rule, cfa);
	out->pc = a->pc;
	out->at = a->sp | (uint64_t)rule_saved(rule) << ENTRY_SAVED;
	return got;
}

/* From the innermost frame to the end. How many frames. */
UNWIND_INLINE uint32_t take_all(struct take *t, bool plain)
{
	struct unwind_state a = t->w.at;
	const struct span *live;
	uint64_t rbp;

	t->new[0] = odd_entry(t, &a);
	for (;;) {
		struct span use = {.outer = UINT32_MAX};
		struct entry next;

		if (!t->joined && a.k >= t->next_try)
			join(t, plain, &a);
		if (t->joined)
			follow(t, plain, &a);
		if (make_step(t, plain, &a, &next, &use) == STEP_END)
			return a.k + 1;
		if (a.k == t->max_depth) {
			t->w.end = UNWIND_DEEP;
			return a.k;
		}
		if (t->joined && t->c + 1 < t->n_old &&
		    is_same(t, plain, &a, t->c + 1, &live, &rbp)) {
			t->c++;
			continue;
		}
		if (t->joined)
			part(t);
		if (use.outer != UINT32_MAX)
			note_use(t, &use);
		t->new[a.k] = next;
	}
}

/* The same where nothing can be hoped for: a walk, and only what unwind_at()
 * and store() need of it. */
UNWIND_INLINE uint32_t take_bare(struct take *t, bool plain)
{
	struct unwind_state a = t->w.at;

	t->new[0] = odd_entry(t, &a);
	for (;;) {
		uint8_t how;

		t->w.how = UNWIND_RULE;
		if (unwind_step(&t->w, plain, &a) == STEP_END)
			return a.k + 1;
		if (a.k == t->max_depth) {
			t->w.end = UNWIND_DEEP;
			return a.k;
		}
		how = t->w.how;
		t->worst = how > t->worst ? how : t->worst;
		t->new[a.k].pc = a.pc;
		t->new[a.k].at = (a.sp & ENTRY_SP) | (uint64_t)how << ENTRY_HOW;
	}
}

/* -- Beginning and end -- */

static bool is_hopeless(const struct map *a)
{
	return a->vain >= VAIN && a->vain % VAIN < VAIN - 2;
}

/* The map whose stack this is: its base is the next above. */
static void choose(struct take *t, uint64_t sp)
{
	/* cppcheck-suppress ctuuninitvar; it is set a line before */
	const struct unwind_maps *m = t->m;
	const struct map *best = NULL;

	t->from = UNWIND_MAPS;
	t->n_old = 0;
	t->n_old_spans = 0;
	t->next_try = UINT32_MAX;
	t->is_bare = false;
	t->calm = NULL;
	t->n_calm = t->next_calm = t->trusted = 0;
	t->clean_c = t->clean_e = 0;
	for (uint32_t i = 0; i < UNWIND_MAPS; i++) {
		const struct map *a = &m->map[i];

		if (a->n == 0 || a->generation != t->w.s->generation ||
		    a->base < sp || (best != NULL && best->base <= a->base))
			continue;
		best = a;
		t->from = i;
	}
	if (best == NULL)
		return;
	t->is_bare = is_hopeless(best);
	if (t->is_bare || best->is_bare)
		return;
	t->old = entries(m, best->buffer) + best->first;
	t->n_old = best->n;
	t->old_spans = spans(m, t->from);
	t->n_old_spans = best->n_spans;
	t->next_try = best->fresh < best->fresh_before ? best->fresh / 2
						       : best->fresh_before / 2;
	find_calm(t, best);
}

/* Where the sample goes: the map of its stack, or the least used one. */
static uint32_t find_home(const struct unwind_maps *m, uint64_t base)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < UNWIND_MAPS; i++) {
		if (m->map[i].n > 0 && m->map[i].base == base)
			return i;
		if (m->map[i].used < m->map[least].used)
			least = i;
	}
	return least;
}

static void copy(struct entry *to, const struct entry *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = from[i];
}

/* Spans of `kept` frames stay, of the new ones they are added. */
static void store_spans(const struct take *t, struct map *a, uint32_t kept,
			uint32_t depth)
{
	struct span *to = spans(t->m, (uint32_t)(a - t->m->map));
	uint32_t n = 0, n_new = t->n_new_spans;

	/* Those before lie further out, wholly. */
	if (kept > 0) {
		n = t->joined_span > 0 ? t->joined_span - 1 : 0;
		while (n < t->n_old_spans && t->old_spans[n].inner < kept - 1)
			n++;
	}
	if (kept > 0 && t->joined_live) {
		to[n].at = t->joined_rbp.at;
		to[n].value = t->joined_rbp.value;
		to[n++].inner = depth - 1 - t->joined_rbp.inner;
		if (n_new > 0 &&
		    t->new_spans[n_new - 1].inner == t->joined_rbp.inner)
			n_new--; /* it goes on */
	}
	while (n_new-- > 0) {
		to[n] = t->new_spans[n_new];
		to[n].inner = depth - 1 - to[n].inner;
		to[n].outer = depth - 1 - to[n].outer;
		n++;
	}
	a->n_spans = n;
}

/* The innermost of the kept frames is new, too: another step has led to it. */
static void store_entries(const struct take *t, struct map *a, uint32_t kept,
			  uint32_t depth)
{
	struct unwind_maps *m = t->m;
	uint32_t rest = kept > 0 ? kept - 1 : 0, fresh = depth - rest;
	uint32_t spare = m->spare;

	if (fresh < rest) {
		a->first += t->joined_c + 1 - fresh;
		copy(entries(m, a->buffer) + a->first, t->new, fresh);
		return;
	}
	if (rest > 0)
		copy(t->new + fresh, t->old + t->joined_c + 1, rest);
	m->spare = a->buffer;
	a->buffer = spare;
	a->first = m->max_depth;
}

/* Frames from the outermost on that are those of the map before; of a bare
 * walk, which has not looked. */
static uint32_t count_same(const struct take *t, const struct map *a,
			   uint32_t depth)
{
	const uint64_t how = (uint64_t)3 << ENTRY_HOW;
	const struct entry *was = entries(t->m, a->buffer) + a->first + a->n;
	const struct entry *is = t->new + depth;
	uint32_t n = 0, most = a->n < depth ? a->n : depth;

	while (n < most) {
		was--;
		is--;
		if (was->pc != is->pc || ((was->at ^ is->at) & how) != 0)
			break;
		n++;
	}
	return n;
}

/* Of frames that are kept, heights stay. */
static void store_clean(const struct take *t, struct map *a, uint32_t kept)
{
	a->look = t->w.s->calm != NULL && !t->is_bare ? t->w.s->calm->look : 0;
	a->clean_from = a->clean_to = 0;
	if (kept == 0 || t->clean_e == t->clean_c)
		return;
	a->clean_from = t->n_old - 1 - t->clean_e;
	a->clean_to = t->n_old - 1 - t->clean_c;
	if (a->clean_to > kept - 1)
		a->clean_to = kept - 1;
	if (a->clean_from > a->clean_to)
		a->clean_from = a->clean_to;
}

static bool is_little(uint32_t kept, uint32_t depth)
{
	return kept < depth / LITTLE || (kept <= FEW && kept < depth / 2);
}

static uint16_t next_vain(uint16_t n)
{
	return n < 2 * VAIN - 1 ? n + 1 : VAIN;
}

static void store(struct take *t, uint32_t depth, struct unwind_sample *out)
{
	struct unwind_maps *m = t->m;
	bool is_whole =
	    t->w.end != UNWIND_DEEP && t->joined && t->c == t->n_old - 1;
	const struct entry *last =
	    t->joined ? &t->old[t->c] : &t->new[depth - 1];
	uint64_t base = t->w.base != 0 ? t->w.base : entry_sp(last);
	uint32_t home = t->from, kept = 0, same = 0;
	uint64_t kept_sp = 0;

	if (t->from == UNWIND_MAPS ||
	    (m->map[t->from].base != base && t->w.end != UNWIND_DEEP))
		home = find_home(m, base);
	if (is_whole && home == t->from) {
		kept = t->n_old - t->joined_c;
		kept_sp = entry_sp(&t->old[t->joined_c]);
	} else if (t->joined) {
		part(t);
	}
	/* A base that this stack has passed is none: whatever was there, it
	 * would be chosen again and again. */
	if (home != t->from && t->from != UNWIND_MAPS &&
	    m->map[t->from].base < base) {
		m->map[t->from].n = 0;
		m->map[t->from].used = 0;
	}
	if (t->is_bare && home == t->from)
		same = count_same(t, &m->map[home], depth);
	store_spans(t, &m->map[home], kept, depth);
	store_clean(t, &m->map[home], kept);
	store_entries(t, &m->map[home], kept, depth);
	m->map[home].n = depth;
	m->map[home].base = base;
	m->map[home].generation = t->w.s->generation;
	m->map[home].used = ++m->clock;
	m->map[home].fresh_before = m->map[home].fresh;
	m->map[home].fresh = depth - kept;
	m->map[home].vain = home == t->from && is_little(kept, depth)
				? next_vain(m->map[home].vain)
				: 0;
	m->map[home].is_bare = t->is_bare;
	*out = (struct unwind_sample){.map = home,
				      .depth = depth,
				      .kept = kept > same ? kept : same,
				      .walked = depth - t->skipped,
				      .trusted = t->trusted,
				      .kept_sp = kept_sp,
				      .base = base,
				      .end = t->w.end,
				      .worst = t->worst};
}

void unwind_sample(const struct unwind_space *s, struct unwind_maps *m,
		   const struct frame_cpu *cpu, struct unwind_sample *out)
{
	struct take t;
	uint32_t depth;

	unwind_begin(&t.w, s, cpu);
	t.m = m;
	t.max_depth = m->max_depth;
	choose(&t, t.w.at.sp);
	t.new = entries(m, m->spare) + m->max_depth;
	t.new_spans = spans(m, UNWIND_MAPS);
	t.n_new_spans = 0;
	t.c = 0;
	t.span = t.n_old_spans;
	t.joined = false;
	t.parted_k = 0;
	t.skipped = 0;
	t.worst = UNWIND_RULE;
	if (t.is_bare)
		depth = s->read == NULL ? take_bare(&t, true)
					: take_bare(&t, false);
	else
		depth =
		    s->read == NULL ? take_all(&t, true) : take_all(&t, false);
	store(&t, depth, out);
}
