/* present/foreign_speedscope.c - for speedscope.
 *
 * A table of frames, and a sampled profile a thread: for each sample the
 * numbers of its frames from the outermost inwards, and its weight. Each sample
 * names all its frames, so a file is as long as its samples are deep, and the
 * page that reads it holds it several times. Therefore the size is bounded:
 *
 * 1. Samples of one stack in a row become one.
 * 2. If that is not enough, samples of one stack become one wherever they are:
 *    time order is lost, which the profile's name says.
 * 3. If that is not enough, the lightest stacks of a thread become one frame.
 *    Totals stay exact.
 *
 * speedscope walks its trees by calling itself, and gives up between 2,000 and
 * 4,000 frames. So of deeper stacks the middle is left out, and one frame says
 * so. */
#include "present/foreign.h"

#include "present/json.h"
#include "present/sums.h"

#include <stdlib.h>
#include <string.h>

/* How many frames all samples may name; one takes 4 to 8 bytes. */
enum { FRAMES_MAX = 4 << 20 };
/* Frames of one stack; so many of them, one that says so, and the rest. */
enum { DEPTH_MAX = 2000, DEPTH_OUTER = 1000 };
/* Behind all frames of the profile. */
enum { FRAME_SMALL, FRAME_LEFT_OUT };

struct scope {
	const struct stacks *s; /* borrowed */
	struct json j;
	uint32_t *depth; /* owned; how many frames each node's stack names */
	struct stacks_path path;
};

/* -- Frames -----------------------------------------------------------------
 */

static int put_name(struct json *j, const struct stacks_frame *f,
		    struct hark_err *err)
{
	const char *name = stacks_name(f);
	char *marked;

	if (!f->is_guess) {
		json_text(j, "name", name);
		return 0;
	}
	if (asprintf(&marked, "%s [guess]", name) < 0)
		return err_set(err, HARK_ENOMEM, 0, "no memory for a name");
	json_text(j, "name", marked);
	free(marked);
	return 0;
}

/* The last two stand for what is left out. */
static int put_frames(struct scope *c, struct hark_err *err)
{
	const struct stacks_frame *f;
	struct json *j = &c->j;
	size_t i;

	json_object(j, "shared");
	json_array(j, "frames");
	for (i = 0; i < c->s->n_frames; i++) {
		f = &c->s->frames[i];
		json_object(j, NULL);
		if (put_name(j, f, err) < 0)
			return -1;
		/* Without a source, the module is the best that is known. */
		if (f->file != NULL)
			json_text(j, "file", f->file);
		else if (f->module != NULL && f->module[0] != '\0')
			json_text(j, "file", f->module);
		if (f->file != NULL && f->line != 0)
			json_number(j, "line", f->line);
		json_end(j);
	}
	for (i = 0; i < 2; i++) {
		json_object(j, NULL);
		json_text(j, "name",
			  i == FRAME_SMALL ? "[small stacks, merged]"
					   : "[frames left out]");
		json_end(j);
	}
	json_end(j);
	json_end(j);
	return 0;
}

/* -- Profiles ---------------------------------------------------------------
 */

static void begin_profile(struct scope *c, size_t thread, const char *note,
			  uint64_t total)
{
	const struct stacks_thread *t = &c->s->threads[thread];
	char name[256];

	snprintf(name, sizeof name, "%.100s (%d/%d)%s",
		 t->name == NULL ? "" : t->name, t->pid, t->tid, note);
	json_object(&c->j, NULL);
	json_text(&c->j, "type", "sampled");
	json_text(&c->j, "name", name);
	json_text(&c->j, "unit",
		  c->s->unit == STACKS_NS ? "nanoseconds" : "none");
	json_number(&c->j, "startValue", 0);
	json_number(&c->j, "endValue", total);
	json_array(&c->j, "samples");
}

static int put_stack(struct scope *c, uint32_t node, struct hark_err *err)
{
	size_t i;

	if (stacks_path_to(&c->path, c->s, node, err) < 0)
		return -1;
	json_array(&c->j, NULL);
	for (i = 0; i < c->path.n; i++) {
		if (i == DEPTH_OUTER && c->path.n > DEPTH_MAX) {
			json_number(&c->j, NULL,
				    c->s->n_frames + FRAME_LEFT_OUT);
			i = c->path.n - (DEPTH_MAX - DEPTH_OUTER - 1);
		}
		json_number(&c->j, NULL, c->s->nodes[c->path.nodes[i]].frame);
	}
	json_end(&c->j);
	return 0;
}

/* Samples in a row with one stack: the first one behind them. */
static size_t run_end(const struct scope *c, const size_t *order, size_t i,
		      size_t end, uint64_t *weight)
{
	const struct stacks_sample *at = c->s->samples;
	uint32_t node = at[order[i]].node;

	for (*weight = 0; i < end && at[order[i]].node == node; i++)
		*weight += at[order[i]].weight;
	return i;
}

static int put_in_time(struct scope *c, const struct stacks_order *o,
		       size_t thread, struct hark_err *err)
{
	size_t begin = o->first[thread], end = o->first[thread + 1], i;
	uint64_t weight, total = 0;

	for (i = begin; i < end; i++)
		total += c->s->samples[o->order[i]].weight;
	begin_profile(c, thread, "", total);
	for (i = begin; i < end; i = run_end(c, o->order, i, end, &weight))
		if (put_stack(c, c->s->samples[o->order[i]].node, err) < 0)
			return -1;
	json_end(&c->j);
	json_array(&c->j, "weights");
	for (i = begin; i < end;) {
		i = run_end(c, o->order, i, end, &weight);
		json_number(&c->j, NULL, weight);
	}
	json_end(&c->j);
	json_end(&c->j);
	return 0;
}

static int compare_sums(const void *a, const void *b)
{
	const struct stacks_sum *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* The heaviest first, as long as there is room; the rest is one frame. */
static int put_summed(struct scope *c, struct stacks_sum *sums, size_t n,
		      uint64_t budget, struct hark_err *err)
{
	uint64_t total = 0, rest = 0;
	size_t i, n_put;

	qsort(sums, n, sizeof *sums, compare_sums);
	for (i = 0; i < n; i++)
		total += sums[i].weight;
	begin_profile(c, sums[0].thread, ", not in order of time", total);
	for (n_put = 0; n_put < n; n_put++) {
		if (c->depth[sums[n_put].node] >= budget)
			break;
		budget -= c->depth[sums[n_put].node] + 1;
		if (put_stack(c, sums[n_put].node, err) < 0)
			return -1;
	}
	for (i = n_put; i < n; i++)
		rest += sums[i].weight;
	if (n_put < n) {
		json_array(&c->j, NULL);
		json_number(&c->j, NULL, c->s->n_frames + FRAME_SMALL);
		json_end(&c->j);
	}
	json_end(&c->j);
	json_array(&c->j, "weights");
	for (i = 0; i < n_put; i++)
		json_number(&c->j, NULL, sums[i].weight);
	if (n_put < n)
		json_number(&c->j, NULL, rest);
	json_end(&c->j);
	json_end(&c->j);
	return 0;
}

/* -- How much is it? --------------------------------------------------------
 */

static int measure_depths(struct scope *c, struct hark_err *err)
{
	size_t i;

	c->depth = calloc(c->s->n_nodes, sizeof *c->depth);
	if (c->depth == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory for %zu stacks",
			       c->s->n_nodes);
	for (i = 1; i < c->s->n_nodes; i++) {
		c->depth[i] = c->depth[c->s->nodes[i].parent];
		c->depth[i] += c->depth[i] < DEPTH_MAX;
	}
	return 0;
}

static bool fits_in_time(const struct scope *c, const struct stacks_order *o)
{
	uint64_t n = 0, weight;
	size_t t, i;

	for (t = 0; t < c->s->n_threads; t++)
		for (i = o->first[t]; i < o->first[t + 1];) {
			n += c->depth[c->s->samples[o->order[i]].node] + 1;
			i = run_end(c, o->order, i, o->first[t + 1], &weight);
		}
	return n <= FRAMES_MAX;
}

/* Each thread's share is that of the frames it would need. */
static int put_all_summed(struct scope *c, struct hark_err *err)
{
	struct stacks_sums sums = {0};
	uint64_t all = 0, need, budget;
	size_t i, begin;
	int rc = -1;

	if (stacks_sums_init(&sums, c->s, NULL, err) < 0)
		return -1;
	for (i = 0; i < sums.n; i++)
		all += c->depth[sums.at[i].node] + 1;
	for (begin = i = 0; begin < sums.n; begin = i) {
		need = 0;
		for (; i < sums.n && sums.at[i].thread == sums.at[begin].thread;
		     i++)
			need += c->depth[sums.at[i].node] + 1;
		budget =
		    all <= FRAMES_MAX
			? need
			: (uint64_t)((double)need / (double)all * FRAMES_MAX);
		if (put_summed(c, sums.at + begin, i - begin, budget, err) < 0)
			goto out;
	}
	rc = 0;
out:
	stacks_sums_fini(&sums);
	return rc;
}

static int put_profiles(struct scope *c, struct hark_err *err)
{
	struct stacks_order o = {0};
	int rc = 0;
	size_t t;

	if (stacks_order_init(&o, c->s, NULL, err) < 0)
		return -1;
	json_array(&c->j, "profiles");
	if (!fits_in_time(c, &o))
		rc = put_all_summed(c, err);
	else
		for (t = 0; rc == 0 && t < c->s->n_threads; t++)
			if (o.first[t] < o.first[t + 1])
				rc = put_in_time(c, &o, t, err);
	json_end(&c->j);
	stacks_order_fini(&o);
	return rc;
}

int present_speedscope(const struct stacks *s, FILE *out, struct hark_err *err)
{
	struct scope c = {.s = s};
	int rc = -1;

	if (stacks_check(s, err) < 0 || measure_depths(&c, err) < 0)
		return -1;
	json_init(&c.j, out);
	json_object(&c.j, NULL);
	json_text(&c.j, "$schema",
		  "https://www.speedscope.app/file-format-schema.json");
	json_text(&c.j, "exporter", "hark " HARK_VERSION);
	json_text(&c.j, "name", s->title == NULL ? "" : s->title);
	if (put_frames(&c, err) < 0 || put_profiles(&c, err) < 0)
		goto out;
	json_end(&c.j);
	rc = stacks_written(out, err);
out:
	free(c.depth);
	stacks_path_fini(&c.path);
	return rc;
}
