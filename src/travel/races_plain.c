/* travel/races_plain.c - plain instructions that touch words that locked ones
 * act on.
 *
 * Whenever a thread stops, such words are looked at: if one is marked, the way
 * since the last stop is run over with windows on it, and the instructions that
 * are found are stopped at from then on. Most are found within the first few
 * turns of a loop; words of which nothing is found (they are initialised in
 * large pieces, say) are given up soon. */
#include "travel/races.h"

#include <stdlib.h>

/* A word's marks of which nothing is found weigh more than those that are of
 * instructions that are known, and hushed. */
enum { FUTILE = 8, KNOWN = 1, FUTILE_MOST = 24, SCANS_MOST = 4096 };

struct second {
	struct races *r;
	struct runner *x;
	struct poll *poll;
	struct region since; /* the last cut */
	struct range found[RACES_AT_ONCE];
	unsigned n_found;
	uint32_t *words;  /* owned: their granules */
	uint32_t *futile; /* behind them: how often nothing was found */
	size_t n_words;
	unsigned scans;
	int is_alone, has_more, has_some;
	uint64_t idle_pc; /* that it has come to again and again */
	unsigned idle;
	struct hark_err *err;
};

static int note_found(void *ctx, uint32_t granule, uint8_t mask)
{
	struct second *s = ctx;

	(void)mask;
	if (s->n_found < RACES_AT_ONCE)
		s->found[s->n_found++] = (struct range){granule, 1};
	return 0;
}

static int note_plain(void *ctx, struct walker *w, const struct touch *touch)
{
	struct second *s = ctx;
	size_t before = s->r->stops.n;

	if (touch->size > GRANULE ||
	    !numbers_have(&s->r->words, races_word(touch->address)))
		return 0;
	if (numbers_add(&s->r->stops, walker_pc(w), s->err) < 0)
		return -1;
	s->has_more |= s->r->stops.n > before;
	s->has_some = 1;
	return 0;
}

/* Those that nothing was found of, again and again, are left alone. */
static int forget_futile(struct second *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_words; i++) {
		for (unsigned k = 0; k < s->n_found; k++)
			if (s->words[i] == s->found[k].granule)
				s->futile[i] += s->has_some ? KNOWN : FUTILE;
		if (s->futile[i] < FUTILE_MOST) {
			s->words[n] = s->words[i];
			s->futile[n++] = s->futile[i];
		}
	}
	if (n == s->n_words)
		return 0;
	s->n_words = n;
	poll_free(s->poll);
	s->poll = NULL;
	return poll_new(s->words, n, &s->poll, s->err);
}

static int second_look(struct second *s)
{
	s->n_found = 0;
	poll_marks(s->poll, s->x, note_found, s);
	if (s->n_found == 0 || s->is_alone || s->scans >= SCANS_MOST)
		return 0;
	s->scans++;
	s->has_more = s->has_some = 0;
	s->since.end_count = runner_count(s->x);
	s->since.end_pc = runner_pc(s->x);
	if (races_scan(s->r->t, &s->since, s->found, s->n_found, note_plain, s,
		       s->err) < 0)
		return -1;
	if (!s->has_more)
		return forget_futile(s);
	return races_list_stops(s->r, s->err) < 0
		   ? -1
		   : runner_stops(s->x, s->r->stop_list,
				  (uint32_t)s->r->n_stops, s->err);
}

static int ignore(void *ctx, uint32_t granule, uint8_t mask)
{
	(void)ctx;
	(void)granule;
	(void)mask;
	return 0;
}

/* What a stop does itself is known. */
static int pass_over(struct second *s)
{
	uint64_t pc = runner_pc(s->x);
	struct races_op op;
	int loads = races_op_at(s->x, &op) && !op.is_locked && !op.stores;

	s->idle = loads && pc == s->idle_pc ? s->idle + 1 : 0;
	s->idle_pc = pc;
	if (s->idle >= RACES_PATIENCE) {
		s->idle = 0;
		if (runner_hush(s->x, s->err) < 0)
			return -1;
	}
	if (runner_over(s->x, s->err) < 0)
		return -1;
	poll_marks(s->poll, s->x, ignore, NULL);
	return 0;
}

static int second_cut(struct second *s, enum runner_cut cut)
{
	struct races_call call;

	if (second_look(s) < 0)
		return -1;
	if (cut == RUNNER_CALL) {
		races_call(s->x, &call);
		s->is_alone &= !races_makes_thread(&call);
	}
	if (cut == RUNNER_STOP && pass_over(s) < 0)
		return -1;
	s->since.count = runner_count(s->x);
	s->since.pc = runner_pc(s->x);
	return 0;
}

static int second_run(struct second *s, const struct lane *l, unsigned kind)
{
	enum runner_cut cut = RUNNER_BORN;
	int rc;

	s->x = NULL;
	rc = races_runner(s->r, l, kind, &s->x, s->err);
	s->is_alone = races_begins_alone(s->r->t, l);
	if (rc == 0)
		s->since =
		    (struct region){.count = runner_count(s->x),
				    .pc = runner_pc(s->x),
				    .lane = (uint32_t)(l - s->r->t->lanes)};
	while (rc == 0 && cut != RUNNER_END) {
		rc = runner_next(s->x, &cut, s->err);
		if (rc == 0)
			rc = second_cut(s, cut);
	}
	races_spare(s->r, kind, s->x);
	return rc;
}

/* Their granules, as a list, with as much room behind it; NULL: no memory. */
static uint32_t *list_words(const struct races *r, size_t *n,
			    struct hark_err *err)
{
	uint64_t *list;
	uint32_t *words;

	if (numbers_list(&r->spoilt, &list, n, err) < 0)
		return NULL;
	words = calloc(2 * *n + 1, sizeof *words);
	for (size_t i = 0; words != NULL && i < *n; i++)
		words[i] = (uint32_t)(list[i] - 1);
	free(list);
	if (words == NULL)
		races_no_memory(err);
	return words;
}

static int prepare(struct second *s)
{
	struct poll *poll = NULL;
	int rc;

	s->words = list_words(s->r, &s->n_words, s->err);
	if (s->words == NULL)
		return -1;
	s->futile = s->words + s->n_words;
	rc = poll_new(s->words, s->n_words, &poll, s->err);
	s->poll = poll;
	return rc;
}

int races_plain(struct races *r, struct hark_err *err)
{
	struct second s = {.r = r, .err = err};
	int rc = prepare(&s);

	for (unsigned i = 0; rc == 0 && i < r->t->n_lanes; i++) {
		for (unsigned k = 0; rc == 0 && k < 2; k++)
			rc =
			    second_run(&s, &r->t->lanes[i],
				       k == 0 ? OBSERVE_LOADS : OBSERVE_STORES);
		r->t->done++;
	}
	poll_free(s.poll);
	free(s.words);
	return rc == 0 ? races_list_stops(r, err) : -1;
}
