/* unwind/walk.c - all callers of a frame.
 *
 * Freestanding, and hosted too. */
#include "unwind/unwind_priv.h"

/* Where frames go: of the three, one is not NULL. */
struct sink {
	struct unwind_frame *frames;
	uint64_t *pcs;
	struct unwind_check *check;
	const struct unwind_maps *maps; /* of .check */
	const struct unwind_sample *sample;
};

/* Frame k of the sample; 0: it has none. */
static uint64_t word_of(const struct sink *to, uint32_t k)
{
	const struct unwind_sample *s = to->sample;

	if (k >= s->depth)
		return 0;
	return unwind_word(unwind_at(to->maps, s->map, s->depth - 1 - k));
}

static __attribute__((noinline)) void
compare(const struct sink *to, const struct unwind_state *a, uint8_t how)
{
	struct unwind_check *c = to->check;
	uint64_t word = unwind_word((struct unwind_frame){a->pc, how});
	uint64_t has = word_of(to, a->k);

	c->hash = unwind_mix(c->hash, word);
	if (!c->differs && has == word) {
		c->pc = a->pc;
		c->sp = a->sp;
		return;
	}
	if (!c->differs)
		c->at = a->k;
	c->differs = true;
	if (a->k - c->at < UNWIND_SHOWN) {
		c->has[a->k - c->at] = has;
		c->walked[a->k - c->at] = word;
	}
}

UNWIND_INLINE void put(const struct sink *to, const struct unwind_state *a,
		       uint8_t how)
{
	if (to->frames != NULL)
		to->frames[a->k] =
		    (struct unwind_frame){.pc = a->pc, .how = how};
	else if (to->pcs != NULL)
		to->pcs[a->k] = a->pc;
	else if (to->check != NULL && to->sample != NULL)
		compare(to, a, how);
}

UNWIND_INLINE uint32_t walk_all(struct unwind_work *w, bool plain,
				struct sink to, uint32_t n)
{
	struct unwind_state a = w->at;

	put(&to, &a, UNWIND_RULE);
	for (;;) {
		w->how = UNWIND_RULE;
		if (unwind_step(w, plain, &a) == STEP_END)
			return a.k + 1;
		if (a.k == n) {
			w->end = UNWIND_DEEP;
			return n;
		}
		put(&to, &a, w->how);
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

/* The end belongs to it, too. */
void unwind_check(const struct unwind_space *s, const struct unwind_maps *m,
		  const struct unwind_sample *sample,
		  const struct frame_cpu *cpu, struct unwind_check *out)
{
	const struct sink to = {.check = out, .maps = m, .sample = sample};
	enum unwind_end end;

	*out = (struct unwind_check){0};
	out->depth = walk(s, cpu, to, unwind_maps_depth(m), &end);
	out->end = (uint8_t)end;
	out->hash = unwind_mix(out->hash, out->end);
	if (out->differs ||
	    (out->depth == sample->depth && out->end == sample->end))
		return;
	out->differs = true;
	out->at = out->depth;
	for (uint32_t i = 0; i < UNWIND_SHOWN; i++)
		out->has[i] = word_of(&to, out->at + i);
}
