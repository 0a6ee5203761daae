/* unwind/walk.c - all callers of a frame.
 *
 * Freestanding, and hosted too. */
#include "unwind/unwind_priv.h"

/* Where frames go: of the two, one is not NULL. */
struct sink {
	struct unwind_frame *frames;
	uint64_t *pcs;
};

UNWIND_INLINE void put(const struct sink *to, uint32_t k, uint64_t pc,
		       uint8_t how)
{
	if (to->frames != NULL)
		to->frames[k] = (struct unwind_frame){.pc = pc, .how = how};
	else if (to->pcs != NULL)
		to->pcs[k] = pc;
}

/* One step, quick if it can be. */
UNWIND_INLINE enum unwind_step walk_step(struct unwind_work *w, bool plain,
					 struct unwind_state *a)
{
	uint64_t rule = unwind_find(w, a->pc - !a->exact), cfa, rbp;
	enum unwind_step got;

	if (rule_saved(rule) < SAVED_END) {
		cfa = a->sp + 8 * (rule & RULE_CFA);
		if ((rule & RULE_RBP) == 0)
			return unwind_follow(w, plain, a, rule, cfa);
		if (unwind_rbp(w, plain, a, &rbp) &&
		    unwind_by_rbp(a, rule, rbp, &cfa))
			return unwind_follow(w, plain, a, rule, cfa);
	} else if (rule_saved(rule) == SAVED_END) {
		w->end = UNWIND_OUTERMOST;
		return STEP_END;
	}
	w->at = *a;
	got = unwind_odd_step(w);
	*a = w->at;
	return got;
}

UNWIND_INLINE uint32_t walk_all(struct unwind_work *w, bool plain,
				struct sink to, uint32_t n)
{
	struct unwind_state a = w->at;

	put(&to, 0, a.pc, UNWIND_RULE);
	for (;;) {
		w->how = UNWIND_RULE;
		if (walk_step(w, plain, &a) == STEP_END)
			return a.k + 1;
		if (a.k == n) {
			w->end = UNWIND_DEEP;
			return n;
		}
		put(&to, a.k, a.pc, w->how);
	}
}

static uint32_t walk(const struct unwind_space *s, const struct frame_cpu *cpu,
		     struct sink to, uint32_t n, enum unwind_end *end)
{
	struct unwind_work w;
	uint32_t got = 0;

	unwind_begin(&w, s, cpu);
	if (n == 0)
		w.end = UNWIND_DEEP;
	else if (s->read == NULL)
		got = walk_all(&w, true, to, n);
	else
		got = walk_all(&w, false, to, n);
	*end = w.end;
	return got;
}

uint32_t unwind_walk(const struct unwind_space *s, const struct frame_cpu *cpu,
		     struct unwind_frame *out, uint32_t n, enum unwind_end *end)
{
	return walk(s, cpu, (struct sink){.frames = out}, n, end);
}

uint32_t unwind_pcs(const struct unwind_space *s, const struct frame_cpu *cpu,
		    uint64_t *out, uint32_t n, enum unwind_end *end)
{
	return walk(s, cpu, (struct sink){.pcs = out}, n, end);
}
