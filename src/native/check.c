/* native/check.c - is a sample what a walk gives?
 *
 * With COLLECT_CHECKS each sample is walked twice: once as always, and then
 * without a map and without the cache of rules, from the same registers, in the
 * same stop of the thread. Nothing of the second walk is kept but where it
 * differs, and a hash of its frames: hark, which puts stacks together from
 * what samples have kept and what is new, gets that, too.
 *
 * The second walk may fault where the first one did not: that is a difference.
 * (A signal that somebody sends looks like a fault, so it is tried twice.) */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"
#include "native/numbers.h"

enum { PAGE = 4096, TRIES = 2 };

struct again {
	const struct native_check *c;
	struct collect_difference out;
};

/* What lies on the stack where the two part, to the end of the page. */
static void keep_words(struct collect_difference *d)
{
	const volatile uint64_t *at =
	    (const volatile uint64_t *)(d->check.sp & ~7ull);
	uint64_t left = (PAGE - (uint64_t)at % PAGE) / sizeof *at;

	if (d->check.sp == 0)
		return;
	for (uint64_t i = 0; i < COLLECT_WORDS && i < left; i++)
		d->words[i] = at[i];
}

static void walk_again(void *ctx)
{
	struct again *a = ctx;
	struct unwind_space plain = *a->c->space;

	plain.cache = NULL;
	native_set_mask(SIG_ALL & ~(SIG_BIT(SIG_SEGV) | SIG_BIT(SIG_BUS)));
	unwind_check(&plain, a->c->maps, a->c->sample, a->c->cpu,
		     &a->out.check);
	if (a->out.check.differs)
		keep_words(&a->out);
	native_set_mask(SIG_ALL);
}

uint64_t native_check(struct native_thread *t, struct collect_area *area,
		      uint64_t time_ns, const struct native_check *c)
{
	struct again a = {.c = c};
	const struct unwind_sample *s = c->sample;
	struct collect_difference *d = &a.out;
	bool is_done = false;

	for (int i = 0; i < TRIES && !is_done; i++)
		is_done = native_guarded(walk_again, &a, &t->guard);
	if (!is_done)
		d->check.differs = true;
	if (!d->check.differs) {
		collect_checked(area, time_ns, NULL);
		return d->check.hash;
	}
	d->map = s->map;
	d->kept = s->kept;
	d->depth = s->depth;
	d->end = s->end;
	d->pc = c->cpu->reg[FRAME_RIP];
	d->sp = c->cpu->reg[FRAME_RSP];
	d->rbp = c->cpu->reg[FRAME_RBP];
	collect_checked(area, time_ns, d);
	return 0;
}
