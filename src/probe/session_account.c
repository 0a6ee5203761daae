/* probe/session_account.c - what became of every hit. */
#include "probe/session_priv.h"

#include "base/fmt.h"
#include "probe/tally.h"

#include <string.h>

/* Of one instruction; false if it has no probe. */
static bool account_of(const struct session *s, const struct insertion *in,
		       const struct listing *l, size_t first, size_t probe,
		       struct session_account *out)
{
	static const char *const providers[] = {[PROVIDER_PID] = "pid",
						[PROVIDER_PLT] = "plt",
						[PROVIDER_USDT] = "usdt"};
	uint32_t site = insert_site(in, first + probe);
	struct probe p;

	listing_get(l, probe, &p);
	if (site == UINT32_MAX || p.provider == PROVIDER_LOADER)
		return false;
	*out = (struct session_account){
	    .text = {providers[p.provider], p.module->name, p.pretty, p.name},
	    .sites = 1,
	};
	board_account(s->board, site, &out->hits);
	return true;
}

struct account_tour {
	const struct session *s;
	const struct insertion *in;
	struct tally tally;
};

static void account_listing(void *ctx, const struct listing *l, size_t first)
{
	struct account_tour *t = ctx;
	struct session_account one;

	for (size_t i = 0; i < listing_count(l); i++)
		if (account_of(t->s, t->in, l, first, i, &one))
			tally_add(&t->tally, &one);
}

/* A program that repeats another is counted there; but not what it loaded. */
static void visit_stage(const struct session *s, const struct stage *st,
			void (*visit)(void *ctx,
				      const struct session_account *a),
			void *ctx)
{
	struct account_tour t = {
	    s, st->insertion, {.visit = visit, .ctx = ctx}};

	if (!st->repeats)
		account_listing(&t, st->draft.listing, 0);
	late_each(st->late, account_listing, &t);
	tally_end(&t.tally);
}

/* What children have loaded is one in the accounts, however many they are. */
static void account_child(void *ctx, const struct stage *st)
{
	struct account_tour *t = ctx;

	t->in = st->insertion;
	late_each(st->late, account_listing, t);
}

void session_accounts(const struct session *s,
		      void (*visit)(void *ctx, const struct session_account *a),
		      void *ctx)
{
	const char *const(*texts)[4] = unbound_texts(s->now.draft.unbound);
	struct account_tour t = {.s = s, .tally = {.visit = visit, .ctx = ctx}};
	struct session_account one;

	for (size_t i = 0; i < unbound_count(s->now.draft.unbound); i++) {
		one = (struct session_account){
		    .is_unbound = unbound_period(s->now.draft.unbound, i) == 0,
		    .sites = 1};
		memcpy(one.text, texts[i], sizeof one.text);
		board_account(s->board, (uint32_t)i, &one.hits);
		visit(ctx, &one);
	}
	for (size_t i = 0; i < s->n_others; i++)
		visit_stage(s, &s->others[i], visit, ctx);
	visit_stage(s, &s->now, visit, ctx);
	session_each_child(s, account_child, &t);
	tally_end(&t.tally);
}

void session_sampled(const struct session *s, struct collect_account *out,
		     struct session_clock *clock)
{
	uint64_t differing;

	board_samples(s->board, out);
	*clock = (struct session_clock){0};
	if (s->ticking != NULL)
		ticking_clock(s->ticking, clock);
	board_checks(s->board, &clock->checked, &differing);
	clock->differing = differing + sampling_differing(s->sampling);
}

void session_waited(const struct session *s, struct session_waits *out)
{
	sampling_waits(s->sampling, out);
}

uint32_t session_missed(const struct session *s)
{
	return board_exec_missed(s->board);
}

struct explain {
	void (*line)(void *ctx, bool is_loss, const char *text);
	void *ctx;
};

static void explain_loss(void *ctx, const char *text)
{
	const struct explain *e = ctx;

	e->line(e->ctx, true, text);
}

/* What profile-N means here; not a loss, but not what one may think either. */
static void explain_clock(const struct session *s,
			  void (*line)(void *ctx, bool is_loss,
				       const char *text),
			  void *ctx)
{
	struct session_clock c;
	char text[128];

	if (s->ticking == NULL || s->sampling != NULL)
		return;
	ticking_clock(s->ticking, &c);
	if (c.no_events != 0) {
		fmt_text(text, sizeof text,
			 "profile-N is by timers of the threads (%s): no more "
			 "often than the kernel's own clock ticks",
			 strerror(c.no_events));
		line(ctx, false, text);
	}
	if (!c.has_kernel)
		line(ctx, false,
		     "profile-N is of time outside the kernel alone "
		     "(/proc/sys/kernel/perf_event_paranoid is above 1)");
}

static void explain_given(const struct session *s,
			  void (*line)(void *ctx, bool is_loss,
				       const char *text),
			  void *ctx)
{
	uint32_t n = board_given(s->board);
	char text[128];

	if (n == 0)
		return;
	fmt_text(text, sizeof text,
		 "the probes of %u place%s were taken out: the program has "
		 "made its code there writable",
		 n, n == 1 ? "" : "s");
	line(ctx, true, text);
}

void session_explain(const struct session *s,
		     void (*line)(void *ctx, bool is_loss, const char *text),
		     void *ctx)
{
	struct output_totals t = output_totals(s->output);
	struct explain e = {line, ctx};
	char text[128];

	board_explain(s->board, explain_loss, &e);
	if (board_exec_missed(s->board) > 0) {
		fmt_text(text, sizeof text,
			 "%u programs were executed without probes: hark was "
			 "too slow",
			 board_exec_missed(s->board));
		line(ctx, true, text);
	}
	explain_given(s, line, ctx);
	if (t.damaged > 0) {
		fmt_text(text, sizeof text,
			 "%lu records are damaged, and not shown",
			 (unsigned long)t.damaged);
		line(ctx, true, text);
	}
	explain_clock(s, line, ctx);
	if (t.late > 0) {
		fmt_text(text, sizeof text,
			 "%lu records came after exit(), and are not shown",
			 (unsigned long)t.late);
		line(ctx, false, text);
	}
}
