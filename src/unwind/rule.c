/* unwind/rule.c - which rule has a pc?
 *
 * First the cache (unwind_priv.h), then here: the code that the pc is in, the
 * block of it, and the few rows of that. The cache is shared by all threads and
 * has no lock: a slot is one word, with pc, generation and rule in it.
 *
 * Slots of another generation are not believed. A generation has only 12 bits
 * there; so before 2^11 of them have passed all slots are emptied. (A thread
 * that sleeps in the middle of a walk for 2^12 generations could put a rule
 * there that is too old: the last line of unwind_rule() looks once more.)
 *
 * Freestanding, and hosted too. */
#include "unwind/rule_priv.h"

size_t unwind_cache_size(void)
{
	return sizeof(struct unwind_cache);
}

static bool is_within(const struct collect_frames *f, uint64_t pc)
{
	return pc - f->start < f->end - f->start;
}

const struct collect_frames *unwind_code(struct unwind_work *w, uint64_t pc)
{
	const struct collect_frames *code = w->s->code;
	uint64_t low = 0, high = w->s->n_code;

	if (w->last != NULL && is_within(w->last, pc))
		return w->last;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (code[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !is_within(&code[low - 1], pc))
		return NULL;
	w->last = &code[low - 1];
	return w->last;
}

const struct frame_rule *unwind_look_up(struct unwind_work *w, uint64_t pc,
					const struct frame_table **table)
{
	const struct collect_frames *f = unwind_code(w, pc);
	const struct frame_row *row;
	const struct frame_table *t;
	const uint32_t *block;
	uint32_t n;

	if (f == NULL || f->table == 0)
		return NULL;
	t = (const struct frame_table *)(w->s->base + f->table);
	block = (const uint32_t *)(w->s->base + f->blocks) +
		(pc - f->start) / COLLECT_BLOCK;
	row = frame_rows(t);
	n = frame_rows_among(row, block[0], block[1], (uint16_t)(pc - f->bias));
	*table = t;
	return n > 0 ? &frame_rules(t)[row[n - 1].rule] : NULL;
}

static bool is_common(const struct frame_rule *r)
{
	int saved = r->saved[FRAME_SAVED_RBP];

	return r->kind == FRAME_REG && r->flags == 0 &&
	       (r->reg == FRAME_RSP || r->reg == FRAME_RBP) &&
	       r->saved[FRAME_SAVED_RIP] == -1 && r->cfa % 8 == 0 &&
	       r->cfa >= 8 && r->cfa / 8 <= RULE_CFA &&
	       (saved == FRAME_KEPT ||
		(saved <= -2 && saved >= -(SAVED_MAX + 1)));
}

static uint64_t pack(const struct frame_rule *r)
{
	int saved;

	if (r == NULL || r->kind == FRAME_NONE)
		return 1 | (uint64_t)SAVED_ODD << RULE_SAVED;
	if ((r->flags & FRAME_END) != 0)
		return 1 | (uint64_t)SAVED_END << RULE_SAVED;
	if (!is_common(r))
		return 1 | (uint64_t)SAVED_ODD << RULE_SAVED;
	saved = r->saved[FRAME_SAVED_RBP];
	return (uint64_t)r->cfa / 8 | (r->reg == FRAME_RBP ? RULE_RBP : 0) |
	       (saved == FRAME_KEPT ? 0 : (uint64_t)(-saved - 1) << RULE_SAVED);
}

uint64_t unwind_rule(struct unwind_work *w, uint64_t pc)
{
	const struct frame_table *t;
	uint64_t rule = pack(unwind_look_up(w, pc, &t));
	uint64_t generation = w->s->generation;

	if (w->cache != NULL && pc >> 47 == 0 &&
	    __atomic_load_n(&w->cache->generation, __ATOMIC_RELAXED) ==
		generation)
		__atomic_store_n(&w->cache->slot[cache_slot(pc)],
				 cache_tag(pc, generation) ^ rule,
				 __ATOMIC_RELAXED);
	return rule;
}

/* The cache is to be of this generation, or is not used. */
static void renew(struct unwind_cache *c, uint64_t generation)
{
	uint64_t last = __atomic_load_n(&c->generation, __ATOMIC_RELAXED);

	if (last == generation)
		return;
	if (last / (CACHE_GENERATIONS / 2) !=
	    generation / (CACHE_GENERATIONS / 2))
		for (unsigned i = 0; i < CACHE_SLOTS; i++)
			__atomic_store_n(&c->slot[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->generation, generation, __ATOMIC_RELEASE);
}

void unwind_begin(struct unwind_work *w, const struct unwind_space *s,
		  const struct frame_cpu *cpu)
{
	w->s = s;
	w->cache = s->cache;
	if (s->cache != NULL)
		renew(s->cache, s->generation);
	w->last = NULL;
	w->at.pc = cpu->reg[FRAME_RIP];
	w->at.sp = cpu->reg[FRAME_RSP];
	w->at.rbp_at = RBP_HERE;
	w->at.rbp_since = 0;
	w->at.k = 0;
	w->at.exact = cpu->exact;
	w->at.rbp_known = (cpu->known >> FRAME_RBP & 1) != 0;
	w->rbp = cpu->reg[FRAME_RBP];
	w->anchor = cpu;
	w->anchor_k = 0;
	w->leaps = 0;
	w->base = 0;
	w->how = UNWIND_RULE;
	w->end = UNWIND_LOST;
}
