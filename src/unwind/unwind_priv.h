/* unwind/unwind_priv.h - one step outwards; the quick way, and the way to the
 * slow one.
 *
 * Nearly all rules are of one shape: the CFA is rsp or rbp plus a constant, the
 * return address is right below it, rbp is kept or saved a little further
 * down. Such a rule is 19 bits, which the cache has with the pc in one word,
 * and its step is one load of memory. Everything else is an odd step: it goes
 * through image/frame_rows, with registers as that wants them.
 *
 * S1  rbp is not read before someone wants it: .rbp_at says where it is. Of the
 *     other registers nothing is kept at all; a rule that needs them makes
 *     the walk be done again from .anchor on, with all registers.
 * S2  rsp rises with each step. Stacks may be switched (signals, code that
 *     calls on another stack), and code on its way to another frame (longjmp)
 *     is in that already, so it may fall or stay, but UNWIND_LEAPS times only;
 *     such a step is odd; one by rbp that goes far is, too, since it could
 *     lead to another stack.
 *
 * Freestanding, and hosted too. */
#ifndef UNWIND_UNWIND_PRIV_H
#define UNWIND_UNWIND_PRIV_H

#include "unwind/unwind.h"

#define UNWIND_INLINE static inline __attribute__((always_inline))

enum {
	UNWIND_LEAPS = 8,
	UNWIND_FAR = 1 << 16, /* bytes; a quick step by rbp is shorter */
	UNWIND_ALL = (1u << FRAME_REGS) - 1,
};

/* -- A rule in 19 bits; 0 is none -- */

enum {
	RULE_CFA = (1 << 14) - 1, /* its distance, in words */
	RULE_RBP = 1 << 14,	  /* counts from rbp, not from rsp */
	RULE_SAVED = 15,	  /* shift of: where rbp is */
	RULE_BITS = 19,
};
/* Where rbp is: kept; or at CFA - 8 * (n + 1). */
enum { SAVED_NOT, SAVED_MAX = 13, SAVED_END = 14, SAVED_ODD = 15 };

UNWIND_INLINE unsigned rule_saved(uint64_t rule)
{
	return rule >> RULE_SAVED & 15;
}

UNWIND_INLINE uint64_t saved_at(uint64_t cfa, unsigned saved)
{
	return cfa - 8ul * (saved + 1);
}

/* -- The cache: a pc and its rule in one word, so nothing can be torn -- */

/* ORDER unwind_cache */
enum { CACHE_SLOTS = 1 << 14, CACHE_GENERATIONS = 1 << 12 };

struct unwind_cache {
	uint64_t generation; /* the last one that was seen */
	uint64_t slot[CACHE_SLOTS];
};

/* Of a pc below 2^47: with the number of its slot it is the whole pc. */
UNWIND_INLINE uint64_t cache_tag(uint64_t pc, uint64_t generation)
{
	return pc >> 16 << 33 | (pc & 3) << 31 |
	       (generation % CACHE_GENERATIONS) << RULE_BITS;
}

UNWIND_INLINE unsigned cache_slot(uint64_t pc)
{
	return (pc >> 2 ^ pc >> 16) % CACHE_SLOTS;
}

/* -- A walk -- */

enum { RBP_HERE = 0, RBP_BEHIND = 1 };

/* A frame, as far as quick steps know it. */
struct unwind_state {
	uint64_t pc, sp;
	/* Where rbp was saved; RBP_HERE: .rbp is its value; RBP_BEHIND: in
	 * what was skipped (map.c). */
	uint64_t rbp_at;
	uint32_t rbp_since; /* the first frame that has this rbp */
	uint32_t k;	    /* 0 is the innermost frame */
	bool exact, rbp_known;
};

struct unwind_work {
	const struct unwind_space *s;
	struct unwind_cache *cache;	   /* or NULL */
	const struct collect_frames *last; /* that some pc was in */
	struct unwind_state at;
	uint64_t rbp; /* of RBP_HERE */
	const struct frame_cpu *anchor;
	uint32_t anchor_k;
	struct frame_cpu anchor_own; /* what .anchor points to after the top */
	unsigned leaps;
	uint64_t base; /* sp before the first leap; 0: there was none */
	uint8_t how;   /* enum unwind_how: of .at */
	uint8_t end;   /* enum unwind_end */
};

enum unwind_step {
	STEP_DONE,
	STEP_END, /* .end says why */
	STEP_ODD, /* nothing has happened: take the other way */
};

void unwind_begin(struct unwind_work *w, const struct unwind_space *s,
		  const struct frame_cpu *cpu);
/* Into the cache. pc is a place in the code, no return address. */
uint64_t unwind_rule(struct unwind_work *w, uint64_t pc);
/* Any step from w->at; rbp is not RBP_BEHIND. Not STEP_ODD. */
enum unwind_step unwind_odd_step(struct unwind_work *w);

/* -- Quick steps -- */

UNWIND_INLINE bool unwind_load(const struct unwind_work *w, bool plain,
			       uint64_t at, uint64_t *out)
{
	if (!plain)
		return w->s->read(w->s->ctx, at, out, sizeof *out);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): U2 */
	*out = *(const volatile uint64_t *)(uintptr_t)at;
	return true;
}

/* The value of rbp, which is not RBP_BEHIND. */
UNWIND_INLINE bool unwind_rbp(const struct unwind_work *w, bool plain,
			      const struct unwind_state *a, uint64_t *out)
{
	if (a->rbp_at != RBP_HERE)
		return unwind_load(w, plain, a->rbp_at, out);
	*out = w->rbp;
	return a->rbp_known;
}

UNWIND_INLINE uint64_t unwind_find(struct unwind_work *w, uint64_t pc)
{
	uint64_t found;

	if (w->cache == NULL || pc >> 47 != 0)
		return unwind_rule(w, pc);
	found =
	    __atomic_load_n(&w->cache->slot[cache_slot(pc)], __ATOMIC_RELAXED) ^
	    cache_tag(pc, w->s->generation);
	/* An empty slot may look like one of a pc that is nearly 0; but 0 is
	 * no rule. */
	return found - 1 < (1u << RULE_BITS) - 1 ? found : unwind_rule(w, pc);
}

/* The CFA of a rule that counts from rbp; false: the step is odd. */
UNWIND_INLINE bool unwind_by_rbp(const struct unwind_state *a, uint64_t rule,
				 uint64_t rbp, uint64_t *cfa)
{
	*cfa = rbp + 8 * (rule & RULE_CFA);
	return *cfa - a->sp - 1 < UNWIND_FAR;
}

/* A step by `rule`, which was found for *a; cfa is its CFA. */
UNWIND_INLINE enum unwind_step unwind_follow(struct unwind_work *w, bool plain,
					     struct unwind_state *a,
					     uint64_t rule, uint64_t cfa)
{
	unsigned saved = rule_saved(rule);
	uint64_t pc;

	if (!unwind_load(w, plain, cfa - 8, &pc)) {
		w->end = UNWIND_UNREADABLE;
		return STEP_END;
	}
	if (pc == 0) {
		w->end = UNWIND_OUTERMOST;
		return STEP_END;
	}
	a->k++;
	a->rbp_at = saved != SAVED_NOT ? saved_at(cfa, saved) : a->rbp_at;
	a->rbp_since = saved != SAVED_NOT ? a->k : a->rbp_since;
	a->pc = pc;
	a->sp = cfa;
	a->exact = false;
	return STEP_DONE;
}

/* One step, quick if it can be. */
UNWIND_INLINE enum unwind_step unwind_step(struct unwind_work *w, bool plain,
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

#endif
