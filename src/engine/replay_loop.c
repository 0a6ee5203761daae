/* engine/replay_loop.c - the hot part of replay.
 *
 * Between two records a thread runs a few hundred instructions, and what a
 * record does is to put 32 bytes into the shadow. Giving the host its extended
 * registers back for that would take longer than all the rest. So this file is
 * compiled for general registers alone, calls nobody, and leaves the program's
 * in the CPU; whatever is not the rule is left to replay_run.c. */
#include "engine/replay_priv.h"

/* Where to enter for the next fill; 0: not known. */
static uint64_t entry_for(struct replay *r, const struct replay_fill *f,
			  uint64_t now)
{
	uint64_t stop = now == f->count ? f->pc : 0;
	const struct near *n = near_at(r, r->v->pc, stop);

	if (now > f->count || !near_is(r, n, r->v->pc, stop))
		return 0;
	return cache_block(r->e->cache, n->number)->plain;
}

/* What replay_run.c's leave() does, of it what comes all the time. 0: it is
 * something else. */
static int is_seen_to(struct replay *r)
{
	struct vcpu *v = r->v;
	const struct exit *x;

	switch (v->exit_reason) {
	case EXIT_BUDGET:
		v->budget -= v->budget == 0;
		return 1;
	case EXIT_DEAD:
		return 1;
	case EXIT_LINK:
		x = cache_exit(r->e->cache, v->exit_arg);
		if (!r->was_near && !x->lonely)
			return 0;
		v->pc = x->target;
		v->budget -= x->counts != 0;
		return 1;
	default:
		return 0;
	}
}

/* 1: there. 0: somebody must see to it. */
static int run_to(struct replay *r, const struct replay_fill *f)
{
	struct vcpu *v = r->v;
	uint64_t now;

	if (r->observe.n_stops != 0)
		return 0;
	while ((now = vcpu_count(v)) != f->count || v->pc != f->pc) {
		v->enter = entry_for(r, f, now);
		if (v->enter == 0)
			return 0;
		r->was_near = now == f->count;
		vcpu_set_budget(v, r->was_near ? 0
					       : (int64_t)(f->count - now - 1));
		replay_cross(v);
		if (!is_seen_to(r)) {
			r->has_left = 1;
			return 0;
		}
	}
	return 1;
}

static void fill_in(struct replay *r, const struct replay_fill *f)
{
	uint8_t *to = r->slot + SLOT_SIZE + f->index;
	const uint8_t *from = f->bytes;
	uint8_t *mark = r->map + (uint32_t)(f->index + OBSERVE_SKEW);
	uint64_t len = f->len, marks = len;

	if (len == WIRE_GRANULE) { /* nearly always */
		__builtin_memcpy(to, from, WIRE_GRANULE);
		if (r->observe.touches & OBSERVE_LOADS)
			__builtin_memset(mark, 0xff, WIRE_GRANULE);
		return;
	}
	if (r->observe.touches & OBSERVE_LOADS)
		__asm__ volatile("rep stosb"
				 : "+D"(mark), "+c"(marks)
				 : "a"(0xff)
				 : "memory");
	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(len)
			 :
			 : "memory");
}

unsigned replay_loop(struct replay *r, const struct replay_fill *fills,
		     unsigned n)
{
	unsigned i;

	for (i = 0; i < n && run_to(r, &fills[i]); i++)
		fill_in(r, &fills[i]);
	return i;
}
