/* present/foreign_folded.c - stacks as lines of text.
 *
 *	thread;main;work;inner 42		folded
 *
 *	thread 12/13 0.001000: 1000000 cpu-clock:	perf script
 *	        0 inner (module)
 *	        0 main (module)
 *
 * Both are read by scripts that split at `;`, at spaces before a number, at
 * parentheses, and at line ends. So whatever would break a line is escaped, and
 * `;` becomes `:`. The innermost frame is last in the one, first in the other.
 */
#include "present/foreign.h"

#include "present/intern.h"
#include "present/sums.h"
#include "present/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* -- Names ------------------------------------------------------------------
 */

/* Every frame's text, made once. */
struct lines {
	struct line_text {
		char *text; /* owned */
		size_t len;
	} * frames; /* owned */
	size_t n;
};

static char *escaped(const char *text, const char *mark, size_t *len)
{
	size_t in = strlen(text), n = text_escape(text, in, NULL, 0), i;
	size_t mark_len = strlen(mark);
	char *out = malloc(n + mark_len + 1);

	if (out == NULL)
		return NULL;
	text_escape(text, in, out, n + 1);
	for (i = 0; i < n; i++)
		if (out[i] == ';')
			out[i] = ':';
	memcpy(out + n, mark, mark_len + 1);
	*len = n + mark_len;
	return out;
}

static void lines_fini(struct lines *l)
{
	size_t i;

	for (i = 0; i < l->n && l->frames != NULL; i++)
		free(l->frames[i].text);
	free(l->frames);
	*l = (struct lines){0};
}

static int lines_init(struct lines *l, const struct stacks *s,
		      struct hark_err *err)
{
	const struct stacks_frame *f = s->frames;
	struct line_text *t = calloc(s->n_frames + 1, sizeof *t);

	l->frames = t;
	if (t == NULL)
		goto out;
	for (; l->n < s->n_frames; f++, t++, l->n++) {
		t->text = escaped(stacks_name(f), f->is_guess ? " [guess]" : "",
				  &t->len);
		if (t->text == NULL)
			goto out;
	}
	return 0;
out:
	lines_fini(l);
	return err_set(err, HARK_ENOMEM, 0, "no memory for %zu names",
		       s->n_frames);
}

static void put(FILE *out, const struct line_text *t)
{
	fwrite_unlocked(t->text, 1, t->len, out);
}

/* A name that is empty would make the first frame take its place. */
static const char *thread_name(const struct stacks_thread *t)
{
	return t->name == NULL || t->name[0] == '\0' ? "[unknown]" : t->name;
}

/* -- Folded -----------------------------------------------------------------
 */

/* Threads of one name are one: a pool's stacks are told once. */
static uint32_t *groups_by_name(const struct stacks *s)
{
	uint32_t *groups = calloc(s->n_threads + 1, sizeof *groups), id;
	uint32_t *first = calloc(s->n_threads + 1, sizeof *first);
	struct intern names = {0};
	size_t i, n;

	for (i = 0; groups != NULL && first != NULL && i < s->n_threads; i++) {
		n = names.n;
		if (intern_text(&names, thread_name(&s->threads[i]), false,
				&id) < 0)
			break;
		if (id == n)
			first[id] = (uint32_t)i;
		groups[i] = first[id];
	}
	if (first == NULL || i < s->n_threads) {
		free(groups);
		groups = NULL;
	}
	free(first);
	intern_fini(&names);
	return groups;
}

static int put_sums(const struct stacks *s, const struct stacks_sums *sums,
		    const struct lines *l, FILE *out, struct hark_err *err)
{
	struct stacks_path path = {0};
	struct line_text name = {0};
	size_t i, k;
	int rc = -1;

	for (i = 0; i < sums->n; i++) {
		const struct stacks_sum *sum = &sums->at[i];

		if (i == 0 || sum->thread != sum[-1].thread) {
			free(name.text);
			name.text =
			    escaped(thread_name(&s->threads[sum->thread]), "",
				    &name.len);
		}
		if (name.text == NULL) {
			err_set(err, HARK_ENOMEM, 0, "no memory for a name");
			goto out;
		}
		if (stacks_path_to(&path, s, sum->node, err) < 0)
			goto out;
		put(out, &name);
		for (k = 0; k < path.n; k++) {
			putc_unlocked(';', out);
			put(out, &l->frames[s->nodes[path.nodes[k]].frame]);
		}
		fprintf(out, " %" PRIu64 "\n", sum->weight);
	}
	rc = 0;
out:
	free(name.text);
	stacks_path_fini(&path);
	return rc;
}

int present_folded(const struct stacks *s, FILE *out, struct hark_err *err)
{
	struct stacks_sums sums = {0};
	struct lines lines = {0};
	uint32_t *groups = NULL;
	int rc = -1;

	if (stacks_check(s, err) < 0)
		return -1;
	groups = groups_by_name(s);
	if (groups == NULL) {
		err_set(err, HARK_ENOMEM, 0, "no memory for %zu threads",
			s->n_threads);
		goto out;
	}
	if (lines_init(&lines, s, err) < 0 ||
	    stacks_sums_init(&sums, s, groups, err) < 0 ||
	    put_sums(s, &sums, &lines, out, err) < 0)
		goto out;
	rc = stacks_written(out, err);
out:
	stacks_sums_fini(&sums);
	lines_fini(&lines);
	free(groups);
	return rc;
}

/* -- perf script ------------------------------------------------------------
 */

/* Its readers end the name at the first word that is a number. */
static void put_comm(const struct stacks_thread *t, FILE *out)
{
	const char *name = thread_name(t);
	char buffer[64];
	size_t i;

	text_escape(name, strlen(name), buffer, sizeof buffer);
	for (i = 0; buffer[i] != '\0'; i++)
		if (buffer[i] == ' ')
			buffer[i] = '_';
	fputs(buffer, out);
}

static void put_module(const struct stacks_frame *f, FILE *out)
{
	const char *m =
	    f->module == NULL || f->module[0] == '\0' ? "[unknown]" : f->module;
	char buffer[4096];
	size_t i;

	/* A reader takes what is between the last parentheses. */
	text_escape(m, strlen(m), buffer, sizeof buffer);
	for (i = 0; buffer[i] != '\0'; i++)
		if (strchr(" ()", buffer[i]) != NULL)
			buffer[i] = '_';
	fprintf(out, " (%s)\n", f->is_inlined ? "inlined" : buffer);
}

static void put_sample(const struct stacks *s, const struct stacks_sample *m,
		       const struct lines *l, FILE *out)
{
	const struct stacks_thread *t = &s->threads[m->thread];
	const struct stacks_frame *f;
	uint64_t period = m->weight;
	uint32_t v;

	if (s->unit == STACKS_SAMPLES && s->period_ns != 0 &&
	    __builtin_mul_overflow(period, s->period_ns, &period))
		period = UINT64_MAX;
	put_comm(t, out);
	fprintf(out, " %d/%d %" PRIu64 ".%06" PRIu64 ": %" PRIu64 " %s:\n",
		t->pid, t->tid, m->time_ns / 1000000000,
		m->time_ns % 1000000000 / 1000, period,
		s->event != NULL ? s->event : "cpu-clock");
	for (v = m->node; v != 0; v = s->nodes[v].parent) {
		f = &s->frames[s->nodes[v].frame];
		fputs("\t               0 ", out);
		put(out, &l->frames[s->nodes[v].frame]);
		put_module(f, out);
	}
	putc_unlocked('\n', out);
}

int present_perf_script(const struct stacks *s, FILE *out, struct hark_err *err)
{
	struct lines lines = {0};
	size_t i;
	int rc;

	if (stacks_check(s, err) < 0 || lines_init(&lines, s, err) < 0)
		return -1;
	for (i = 0; i < s->n_samples; i++)
		put_sample(s, &s->samples[i], &lines, out);
	rc = stacks_written(out, err);
	lines_fini(&lines);
	return rc;
}
