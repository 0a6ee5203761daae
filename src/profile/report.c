/* profile/report.c - a profile as text.
 *
 * The tree is printed without recursion of our own: stacks may be a million
 * deep. Where calls repeat in a cycle (a calls b calls a ...), and nothing
 * branches off, the cycle is printed once, and a line says how often it comes
 * again; of other long rows of calls the middle is left out. A function that
 * calls itself is one node already (calls.h). */
#include "profile/report.h"

#include "base/fmt.h"
#include "present/term.h"
#include "present/text.h"
#include "profile/grow_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FUNCTIONS_SHOWN = 25,
	CYCLE_MAX = 16,
	INDENT_MAX = 160, /* columns, where lines are as long as they are */
	ROW_HEAD = 100,	  /* lines of a row of calls, and then ... */
	ROW_TAIL = 30,	  /* ... the last ones */
	ROW_BOTH = 60,	  /* fewer are not worth leaving out */
	CYCLES_LEAST = 3, /* that are worth a line of their own */
	NAME_LEN = 4096,
	COLUMNS = 17,	   /* before the name */
	TIME_COLUMNS = 11, /* before those, if there are times */
	NAME_LEAST = 24,   /* columns of a name, however deep */
};

static const double SELF_LEAST = 0.05; /* percent, of functions in the list */

/* -- Words -- */

/* Not more than width columns of it; 0: all. */
static void put_name(const struct report_plan *p, FILE *out, const char *name,
		     size_t width)
{
	char safe[NAME_LEN];
	size_t columns;

	text_escape(name, strlen(name), safe, sizeof safe);
	columns = text_columns(safe);
	if (p->width == 0 || columns <= width || width < 4) {
		fputs(safe, out);
		return;
	}
	for (char *at = safe; columns > 0 && width > 3; width--) {
		uint32_t c;
		size_t n = text_decode(at, strlen(at), &c);

		fwrite(at, 1, n, out);
		at += n;
	}
	fputs("...", out);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* -- Head -- */

static void put_clock(const struct profile_facts *f, uint64_t weight, FILE *out)
{
	static const char *const clocks[] = {
	    [PROFILE_CPU] = "of CPU time",
	    [PROFILE_WALL] = "of wall-clock time",
	    [PROFILE_OFF_CPU] = "of waiting",
	};

	if (f->clock == PROFILE_OFF_CPU)
		fprintf(out, ", %.3f s %s in all", (double)weight / 1e9,
			clocks[f->clock]);
	else if (profile_rate(f) > 0)
		fprintf(out, ", %.4g a second %s", profile_rate(f),
			clocks[f->clock]);
	else
		fprintf(out, ", %s", clocks[f->clock]);
}

static uint64_t weight_of(const struct stacks *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_samples; i++)
		sum += s->samples[i].weight;
	return sum;
}

static size_t count_threads(const struct stacks *s)
{
	uint8_t *seen = calloc(s->n_threads + 1, 1);
	size_t n = 0;

	for (size_t i = 0; seen != NULL && i < s->n_samples; i++) {
		n += !seen[s->samples[i].thread];
		seen[s->samples[i].thread] = 1;
	}
	free(seen);
	return n;
}

static void put_head(const struct report_plan *p, FILE *out)
{
	const struct profile_facts *f = &p->profile->facts;
	const struct stacks *s = p->stacks;
	size_t threads = count_threads(s);

	fputs(term_on(TERM_STRONG, p->colored), out);
	put_name(p, out, s->title, p->width);
	fprintf(out, "%s\n", term_off(TERM_STRONG, p->colored));
	fprintf(out, "%zu sample%s of %zu thread%s in %.3f s", s->n_samples,
		plural(s->n_samples), threads, plural(threads),
		(double)s->duration_ns / 1e9);
	put_clock(f, weight_of(s), out);
	fprintf(out, "; %lu lost\n", (unsigned long)f->lost);
	if (f->cpu_user_ns != 0 || f->cpu_system_ns != 0)
		fprintf(out,
			"CPU time: %.3f s of the program, %.3f s of the "
			"system for it\n",
			(double)f->cpu_user_ns / 1e9,
			(double)f->cpu_system_ns / 1e9);
	if (s->n_samples < p->profile->n_samples)
		fprintf(out, "chosen from %zu samples\n",
			p->profile->n_samples);
	for (size_t i = 0; i < s->n_notes; i++) {
		fprintf(out, "%snote: ", term_on(TERM_DOUBTFUL, p->colored));
		put_name(p, out, s->notes[i], 0);
		fprintf(out, "%s\n", term_off(TERM_DOUBTFUL, p->colored));
	}
}

/* -- Functions -- */

static bool is_time(const struct report_plan *p)
{
	return p->stacks->unit == STACKS_NS;
}

/* What stands before a name. */
static size_t columns(const struct report_plan *p)
{
	return COLUMNS + (is_time(p) ? TIME_COLUMNS : 0);
}

/* Of times, the first one is told, too. */
static void put_shares(const struct report_plan *p, FILE *out, uint64_t a,
		       uint64_t b, uint64_t whole)
{
	if (is_time(p))
		fprintf(out, "%10.1f ", (double)a / 1e6);
	fprintf(out, "%6.1f%% %6.1f%%  ", percent(a, whole), percent(b, whole));
}

/* What has no name is named by its module already. */
static void put_function(const struct report_plan *p, const struct calls *c,
			 const struct calls_function *f, FILE *out)
{
	enum term_style style = f->is_unknown ? TERM_DOUBTFUL : TERM_PLAIN;
	size_t module = f->is_unknown ? 0 : strlen(f->module) + 3;
	size_t room = columns(p) + module + NAME_LEAST < p->width
			  ? p->width - columns(p) - module
			  : NAME_LEAST;

	put_shares(p, out, f->self, f->total, c->total);
	fputs(term_on(style, p->colored), out);
	put_name(p, out, f->name, room);
	fputs(term_off(style, p->colored), out);
	if (!f->is_unknown && f->module[0] != '\0') {
		fprintf(out, "%s (", term_on(TERM_FAINT, p->colored));
		put_name(p, out, f->module, 0);
		fprintf(out, ")%s", term_off(TERM_FAINT, p->colored));
	}
	putc('\n', out);
}

static void put_functions(const struct report_plan *p, const struct calls *c,
			  FILE *out)
{
	size_t shown = 0, left = 0;

	fprintf(out, "\n%s   self   total  function (module)\n",
		is_time(p) ? " ms waited " : "");
	for (size_t i = 0; i < c->n_functions; i++) {
		const struct calls_function *f = &c->functions[c->order[i]];

		if (f->self == 0)
			continue;
		if (shown == FUNCTIONS_SHOWN ||
		    percent(f->self, c->total) < SELF_LEAST) {
			left++;
			continue;
		}
		put_function(p, c, f, out);
		shown++;
	}
	if (left > 0)
		fprintf(out, "%*sand %zu more\n", (int)columns(p), "", left);
}

/* -- Calls -- */

struct tree_print {
	const struct report_plan *p;
	const struct calls *c;
	FILE *out;
	/* What is still to be printed: nodes, and how deep. */
	struct pending {
		uint32_t node;
		size_t depth;
	} * stack; /* owned */
	size_t n, room;
	uint32_t *chain; /* owned: a row of calls that nothing branches off */
	size_t n_chain, room_chain;
};

static void put_run(const struct calls_node *n, FILE *out)
{
	if (n->most > 1 && n->least == n->most)
		fprintf(out, " x %u", n->most);
	else if (n->most > 1)
		fprintf(out, " x %u-%u", n->least, n->most);
}

/* No line is longer than it must be: deep ones begin with their depth. */
static void indent(const struct tree_print *t, size_t depth)
{
	size_t width = t->p->width != 0 ? t->p->width : INDENT_MAX,
	       before = columns(t->p);
	size_t room =
	    width > before + NAME_LEAST ? width - before - NAME_LEAST : 0;

	if (2 * depth > room)
		fprintf(t->out, "[%zu] ", depth);
	else
		fprintf(t->out, "%*s", (int)(2 * depth), "");
}

static void put_call(const struct tree_print *t, uint32_t node, size_t depth)
{
	const struct calls_node *n = &t->c->nodes[node];
	const struct calls_function *f = &t->c->functions[n->function];
	enum term_style style = n->is_guess || f->is_unknown ? TERM_DOUBTFUL
				: percent(n->self, t->c->total) >= 5
				    ? TERM_STRONG
				    : TERM_PLAIN;
	size_t room = t->p->width > columns(t->p) + 2 * depth + NAME_LEAST
			  ? t->p->width - columns(t->p) - 2 * depth
			  : NAME_LEAST;

	put_shares(t->p, t->out, n->total, n->self, t->c->total);
	indent(t, depth);
	fputs(term_on(style, t->p->colored), t->out);
	put_name(t->p, t->out, f->name, room);
	fputs(term_off(style, t->p->colored), t->out);
	if (n->is_guess)
		fputs(" [guess]", t->out);
	put_run(n, t->out);
	putc('\n', t->out);
}

/* From node on, as long as each has one heavy callee, and nothing of its own.
 */
static int follow_chain(struct tree_print *t, uint32_t node)
{
	t->n_chain = 0;
	for (;;) {
		const struct calls_node *n = &t->c->nodes[node];

		if (GROW(t->chain, t->room_chain, t->n_chain + 1) < 0)
			return -1;
		t->chain[t->n_chain++] = node;
		if (n->first == 0 || t->c->nodes[n->first].next != 0 ||
		    percent(n->self, t->c->total) >= 100 * t->p->share)
			return 0;
		node = n->first;
	}
}

static bool is_same_call(const struct tree_print *t, size_t i, size_t j)
{
	const struct calls_node *a = &t->c->nodes[t->chain[i]];
	const struct calls_node *b = &t->c->nodes[t->chain[j]];

	return a->function == b->function && a->is_guess == b->is_guess;
}

/* A cycle that begins at i: its length, or 0; and how often it is there. */
static size_t find_cycle(const struct tree_print *t, size_t i, size_t *times)
{
	for (size_t len = 2; len <= CYCLE_MAX; len++) {
		size_t end = i + len;

		while (end < t->n_chain && is_same_call(t, end, end - len))
			end++;
		*times = (end - i) / len;
		if (*times >= CYCLES_LEAST)
			return len;
	}
	return 0;
}

static size_t put_cycle(const struct tree_print *t, size_t i, size_t len,
			size_t times, size_t *depth)
{
	uint32_t last = t->chain[i + len * times - 1];

	for (size_t j = 0; j < len; j++)
		put_call(t, t->chain[i + j], (*depth)++);
	put_shares(t->p, t->out, t->c->nodes[last].total,
		   t->c->nodes[last].self, t->c->total);
	indent(t, *depth);
	fprintf(t->out, "(these %zu again and again: x %zu)\n", len, times);
	return i + len * times;
}

static size_t leave_out(const struct tree_print *t, size_t i, size_t n,
			size_t *depth)
{
	const struct calls_node *last = &t->c->nodes[t->chain[i + n - 1]];

	put_shares(t->p, t->out, last->total, last->self, t->c->total);
	indent(t, *depth);
	fprintf(t->out, "(%zu calls are left out)\n", n);
	*depth += n;
	return i + n;
}

static int put_chain(struct tree_print *t, uint32_t node, size_t depth)
{
	size_t i = 0, times;
	uint32_t last;

	if (follow_chain(t, node) < 0)
		return -1;
	for (size_t lines = 0; i < t->n_chain; lines++) {
		size_t len = find_cycle(t, i, &times);

		if (lines >= ROW_HEAD && t->n_chain - i > ROW_BOTH)
			i = leave_out(t, i, t->n_chain - i - ROW_TAIL, &depth);
		else if (len > 0)
			i = put_cycle(t, i, len, times, &depth);
		else
			put_call(t, t->chain[i++], depth++);
	}
	last = t->chain[t->n_chain - 1];
	/* Those that are to come first are put on top. */
	node = t->c->nodes[last].first;
	for (size_t at = t->n; node != 0; node = t->c->nodes[node].next) {
		if (GROW(t->stack, t->room, t->n + 1) < 0)
			return -1;
		memmove(t->stack + at + 1, t->stack + at,
			(t->n - at) * sizeof *t->stack);
		t->stack[at] = (struct pending){node, depth};
		t->n++;
	}
	return 0;
}

static int put_tree(const struct report_plan *p, const struct calls *c,
		    FILE *out)
{
	struct tree_print t = {.p = p, .c = c, .out = out};
	int rc = 0;

	fprintf(out, "\n%s  total    self  %s\n",
		is_time(p) ? " ms waited " : "",
		p->view == CALLS_UP ? "function, and who called it below it"
				    : "calls");
	for (uint32_t i = c->nodes[0].first; rc == 0 && i != 0;
	     i = c->nodes[i].next) {
		rc = put_chain(&t, i, 0);
		while (rc == 0 && t.n > 0) {
			t.n--;
			rc = put_chain(&t, t.stack[t.n].node,
				       t.stack[t.n].depth);
		}
	}
	free(t.stack);
	free(t.chain);
	return rc;
}

int report_text(const struct report_plan *p, FILE *out, struct hark_err *err)
{
	struct calls c;
	int rc = 0;

	if (calls_init(&c, p->stacks, p->view, p->share, err) < 0)
		return -1;
	put_head(p, out);
	if (c.total > 0) {
		put_functions(p, &c, out);
		rc = put_tree(p, &c, out);
	}
	calls_fini(&c);
	return rc < 0 ? err_set(err, HARK_ENOMEM, ENOMEM, "out of memory") : 0;
}
