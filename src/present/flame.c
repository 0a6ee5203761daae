/* present/flame.c - the data of a flame graph's page, and the page around it.
 *
 * A profile may be as large as it likes; a page that is opened, mailed and kept
 * may not. It has three parts, each with a bound:
 *
 *	tree	functions and who called whom	the heaviest that fit
 *	course	what ran when, for each thread	as fine as fits
 *	texts	names					cut if very long
 *
 * Frames that differ only in their line are one box: what a person looks for is
 * the function. The line shown is that of the heaviest.
 *
 * F1  Nothing is lost: what weighs too little for a place of its own is put
 *     together in a box below the nearest frame that has one. So every total
 *     on the page is exact, for each thread, too.
 * F2  Whoever has a place has a parent with one: no frame weighs more than its
 *     caller, and of equals the caller comes first.
 * F3  In the course, what ran is exact within each step of time; only the order
 *     inside of a step is lost. The page says how long a step is.
 * F4  Whatever a text holds, it stays text: it is JSON without < > & inside of
 *     a script element that is not run, and is only ever put into text nodes.
 *
 * Nodes are numbered as one meets them from the root, heavier children first:
 * a subtree is a range of numbers, and a tree is told by how many levels to go
 * up before each node. */
#include "present/flame.h"

#include "present/intern.h"
#include "present/json.h"
#include "present/sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	TREE_BYTES = 2500 * 1000, /* of nodes and names */
	NODE_BYTES = 14,	  /* about what one takes */
	ENTRIES_MAX = 150 * 1000, /* of the course; about 14 bytes each */
	STEPS_MAX = 1 << 16,	  /* of time, once there must be any */
	TEXT_MAX = 1000,
	NOTES_MAX = 50,
	THREADS_MAX = 250,
	NONE = UINT32_MAX,
};

/* ORDER: what page.js knows them by. */
enum {
	IS_INLINED = 1,
	IS_GUESS = 2,
	IS_UNKNOWN = 4,
	IS_MERGED = 8, /* stands for many */
};

struct entry {
	uint32_t node;
	uint64_t start, weight;
};

struct flame {
	const struct stacks *s; /* borrowed */
	uint64_t total;
	/* Functions: name, module, file, flags. */
	struct intern texts, functions;
	uint32_t *function_of; /* owned; of each frame */
	/* The tree by function: parent, function. Node 0 is the root. */
	struct intern tree;
	size_t n_nodes;
	uint32_t *node_of; /* owned; of each node of s */
	uint32_t *line_of; /* owned; of each node of the tree */
	uint64_t *weigh;   /* owned; with all below it */
	uint32_t *heavy;   /* owned; nodes, the heaviest first */
	size_t n_kept;	   /* so many of those have a place */
	/* The page's tree. */
	uint32_t *place; /* owned; node -> number on the page */
	uint32_t *rest;	 /* owned; of a kept node: number of its small ones */
	uint32_t *up, *page_function, *page_line; /* owned */
	size_t n_page;
	size_t n_merged; /* nodes without a place, and what they weigh */
	uint64_t merged_weight;
	/* Threads; those too many are one, the last. */
	uint32_t *group_of; /* owned */
	uint32_t *leader;   /* owned; of each group, a thread */
	size_t n_groups;
	/* The course of one thread after the other. */
	struct entry *entries;	  /* owned */
	size_t n_entries, *first; /* owned; of each group */
	uint64_t step_ns;	  /* 0: every sample where it was */
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "no memory for the flame graph");
}

/* -- Functions --------------------------------------------------------------
 */

static int name_function(struct flame *f, const char *name, const char *module,
			 const char *file, uint32_t flags, uint32_t *out)
{
	struct intern_key key = {.n = {[3] = flags}};

	if (intern_text(&f->texts, name, false, &key.n[0]) < 0 ||
	    intern_text(&f->texts, module, false, &key.n[1]) < 0 ||
	    intern_text(&f->texts, file, false, &key.n[2]) < 0)
		return -1;
	return intern_key(&f->functions, key, out);
}

static int name_functions(struct flame *f)
{
	const struct stacks_frame *r;
	uint32_t flags;
	size_t i;

	f->function_of = calloc(f->s->n_frames + 1, sizeof *f->function_of);
	if (f->function_of == NULL)
		return -1;
	for (i = 0; i < f->s->n_frames; i++) {
		r = &f->s->frames[i];
		flags = (r->is_inlined ? IS_INLINED : 0) |
			(r->is_guess ? IS_GUESS : 0) |
			(r->is_unknown ? IS_UNKNOWN : 0);
		if (name_function(f, stacks_name(r), r->module, r->file, flags,
				  &f->function_of[i]) < 0)
			return -1;
	}
	return 0;
}

/* -- The tree by function ---------------------------------------------------
 */

static uint32_t parent_of(const struct flame *f, uint32_t node)
{
	return f->tree.keys[node - 1].n[0];
}

static int add_node(struct flame *f, uint32_t parent, uint32_t function,
		    uint32_t *out)
{
	struct intern_key key = {{parent, function}};
	uint32_t id;

	if (intern_key(&f->tree, key, &id) < 0)
		return -1;
	*out = id + 1;
	return 0;
}

/* What each node of s weighs with all below it. */
static uint64_t *weigh_all(const struct stacks *s)
{
	uint64_t *weigh = calloc(s->n_nodes, sizeof *weigh);
	size_t i;

	if (weigh == NULL)
		return NULL;
	for (i = 0; i < s->n_samples; i++)
		weigh[s->samples[i].node] += s->samples[i].weight;
	for (i = s->n_nodes; --i > 0;)
		weigh[s->nodes[i].parent] += weigh[i];
	return weigh;
}

/* Samples without any frame get one that says so: node_of[0]. */
static int merge_nodes(struct flame *f)
{
	const struct stacks *s = f->s;
	uint32_t nothing;
	size_t i;

	f->node_of = calloc(s->n_nodes, sizeof *f->node_of);
	if (f->node_of == NULL)
		return -1;
	for (i = 1; i < s->n_nodes; i++)
		if (add_node(f, f->node_of[s->nodes[i].parent],
			     f->function_of[s->nodes[i].frame],
			     &f->node_of[i]) < 0)
			return -1;
	if (name_function(f, "[no stack]", "", "", IS_UNKNOWN, &nothing) < 0 ||
	    add_node(f, 0, nothing, &f->node_of[0]) < 0)
		return -1;
	f->n_nodes = f->tree.n + 1;
	return 0;
}

static int weigh_nodes(struct flame *f)
{
	const struct stacks *s = f->s;
	uint64_t *all = weigh_all(s), *best = NULL;
	uint32_t v;
	size_t i;
	int rc = -1;

	f->weigh = calloc(f->n_nodes, sizeof *f->weigh);
	f->line_of = calloc(f->n_nodes, sizeof *f->line_of);
	best = calloc(f->n_nodes, sizeof *best);
	if (all == NULL || best == NULL || f->weigh == NULL ||
	    f->line_of == NULL)
		goto out;
	f->total = all[0];
	for (i = 0; i < s->n_samples; i++)
		f->weigh[f->node_of[s->samples[i].node]] +=
		    s->samples[i].weight;
	for (v = (uint32_t)f->n_nodes; --v > 0;)
		f->weigh[parent_of(f, v)] += f->weigh[v];
	for (i = 1; i < s->n_nodes; i++) {
		v = f->node_of[i];
		if (all[i] <= best[v])
			continue;
		best[v] = all[i];
		f->line_of[v] = s->frames[s->nodes[i].frame].line;
	}
	rc = 0;
out:
	free(all);
	free(best);
	return rc;
}

static int compare_weights(const void *a, const void *b, void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *weigh = ctx;

	if (weigh[x] != weigh[y])
		return weigh[x] < weigh[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

static int sort_nodes(struct flame *f)
{
	uint32_t i;

	f->heavy = calloc(f->n_nodes, sizeof *f->heavy);
	if (f->heavy == NULL)
		return -1;
	for (i = 0; i < f->n_nodes; i++)
		f->heavy[i] = i;
	/* The root first, whatever is as heavy. */
	qsort_r(f->heavy + 1, f->n_nodes - 1, sizeof *f->heavy, compare_weights,
		f->weigh);
	return 0;
}

/* -- Who has a place --------------------------------------------------------
 */

static size_t cut_text(const struct intern_text *t)
{
	size_t n = t->len;

	if (n > TEXT_MAX)
		for (n = TEXT_MAX; (t->text[n] & 0xc0) == 0x80; n--)
			;
	return n;
}

/* At most: what is escaped takes six. */
static size_t text_bytes(const struct intern_text *t)
{
	size_t n = 8, i, end = cut_text(t);

	for (i = 0; i < end; i++)
		n += t->text[i] < 0x20 || strchr("<>&\"\\\x7f", t->text[i]) ? 6
									    : 1;
	return n;
}

static size_t first_use(const struct flame *f, bool *is_used, uint32_t function)
{
	const struct intern_key *key = &f->functions.keys[function];
	bool *texts = is_used + f->functions.n;
	size_t n = 0, i;

	if (is_used[function])
		return 0;
	is_used[function] = true;
	for (i = 0; i < 3; i++)
		if (!texts[key->n[i]]) {
			texts[key->n[i]] = true;
			n += text_bytes(&f->texts.texts[key->n[i]]);
		}
	return n + 20;
}

/* The heaviest that fit into so many bytes. Each may need a box for its small
 * ones; what weighs nothing needs no place. */
static int choose_nodes(struct flame *f, size_t budget)
{
	bool *is_used = calloc(f->functions.n + f->texts.n, sizeof *is_used);
	size_t n, bytes = 0;

	if (is_used == NULL)
		return -1;
	for (n = 1; n < f->n_nodes && f->weigh[f->heavy[n]] > 0; n++) {
		bytes +=
		    (size_t)2 * NODE_BYTES +
		    first_use(f, is_used, f->tree.keys[f->heavy[n] - 1].n[1]);
		if (bytes > budget)
			break;
	}
	f->n_kept = n;
	f->n_merged = 0;
	for (; n < f->n_nodes && f->weigh[f->heavy[n]] > 0; n++)
		f->n_merged++;
	free(is_used);
	return 0;
}

/* -- The page's tree --------------------------------------------------------
 */

struct kin {
	uint32_t child, next; /* the heaviest; of the same parent */
};

static void put_node(struct flame *f, uint32_t up, uint32_t function,
		     uint32_t line)
{
	f->up[f->n_page] = up;
	f->page_function[f->n_page] = function;
	f->page_line[f->n_page] = line;
	f->n_page++;
}

/* How many nodes each kept one has taken in; itself is not counted. */
static void count_small(const struct flame *f, uint32_t *n_small)
{
	uint32_t *home = f->place, v; /* its numbers come later */
	size_t i;

	for (i = 0; i < f->n_kept; i++)
		home[f->heavy[i]] = f->heavy[i];
	for (; i < f->n_nodes; i++) {
		v = f->heavy[i];
		home[v] = home[parent_of(f, v)];
		n_small[home[v]] += f->weigh[v] > 0;
	}
}

/* From the root down, heavier children first, and its small ones last. */
static void number_nodes(struct flame *f, const struct kin *kin,
			 const uint32_t *n_small, uint32_t merged)
{
	uint32_t v = 0, up = 0, depth_up;

	for (;;) {
		f->place[v] = (uint32_t)f->n_page;
		put_node(f, up, v == 0 ? 0 : f->tree.keys[v - 1].n[1],
			 f->line_of[v]);
		up = 0;
		if (kin[v].child != NONE) {
			v = kin[v].child;
			continue;
		}
		/* Up to whoever has another child. */
		for (depth_up = 0;; v = parent_of(f, v), depth_up++) {
			if (n_small[v] > 0) {
				f->rest[v] = (uint32_t)f->n_page;
				put_node(f, depth_up, merged, n_small[v]);
				depth_up = 1;
			}
			if (v == 0)
				return;
			if (kin[v].next != NONE)
				break;
		}
		up = depth_up + 1;
		v = kin[v].next;
	}
}

/* The small ones' numbers are those of the box that they are in. */
static void place_small(struct flame *f)
{
	uint32_t v, p;
	size_t i;

	f->merged_weight = 0;
	for (i = f->n_kept; i < f->n_nodes; i++) {
		v = f->heavy[i];
		p = parent_of(f, v);
		/* Its parent, if it has no place, was here before. */
		if (f->rest[p] != NONE) {
			f->place[v] = f->rest[p];
			f->merged_weight += f->weigh[v];
		} else {
			f->place[v] = f->place[p];
		}
		f->rest[v] = NONE;
	}
}

static int build_page(struct flame *f, uint32_t merged)
{
	struct kin *kin = malloc(f->n_nodes * sizeof *kin);
	uint32_t *n_small = calloc(f->n_nodes, sizeof *n_small), v;
	size_t i;

	if (kin == NULL || n_small == NULL) {
		free(kin);
		free(n_small);
		return -1;
	}
	for (i = 0; i < f->n_nodes; i++) {
		kin[i] = (struct kin){NONE, NONE};
		f->rest[i] = NONE;
	}
	for (i = f->n_kept; --i > 0;) {
		v = f->heavy[i];
		kin[v].next = kin[parent_of(f, v)].child;
		kin[parent_of(f, v)].child = v;
	}
	count_small(f, n_small);
	f->n_page = 0;
	number_nodes(f, kin, n_small, merged);
	place_small(f);
	free(kin);
	free(n_small);
	return 0;
}

static int make_room(struct flame *f)
{
	size_t n = 2 * f->n_nodes; /* each with a box for small ones */

	f->place = calloc(f->n_nodes, sizeof *f->place);
	f->rest = calloc(f->n_nodes, sizeof *f->rest);
	f->up = calloc(n, sizeof *f->up);
	f->page_function = calloc(n, sizeof *f->page_function);
	f->page_line = calloc(n, sizeof *f->page_line);
	return f->place == NULL || f->rest == NULL || f->up == NULL ||
		       f->page_function == NULL || f->page_line == NULL
		   ? -1
		   : 0;
}

/* -- Threads ----------------------------------------------------------------
 */

static int group_threads(struct flame *f)
{
	size_t n = f->s->n_threads, i;
	uint64_t *weigh = calloc(n + 1, sizeof *weigh);
	uint32_t *order = calloc(n + 1, sizeof *order);
	int rc = -1;

	f->group_of = calloc(n + 1, sizeof *f->group_of);
	f->leader = calloc(n + 1, sizeof *f->leader);
	if (weigh == NULL || order == NULL || f->group_of == NULL ||
	    f->leader == NULL)
		goto out;
	for (i = 0; i < f->s->n_samples; i++)
		weigh[f->s->samples[i].thread] += f->s->samples[i].weight;
	for (i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof *order, compare_weights, weigh);
	f->n_groups = n < THREADS_MAX ? n : THREADS_MAX;
	for (i = 0; i < n; i++) {
		uint32_t g = (uint32_t)(i < f->n_groups ? i : f->n_groups - 1);

		f->group_of[order[i]] = g;
		if (i == g)
			f->leader[g] = order[i];
	}
	rc = 0;
out:
	free(weigh);
	free(order);
	return rc;
}

/* -- The course -------------------------------------------------------------
 */

/* How long a weight lasts; without any clock, one unit each. */
static uint64_t lasts(const struct stacks *s, uint64_t weight)
{
	uint64_t ns = weight;

	if (s->unit == STACKS_SAMPLES && s->period_ns != 0 &&
	    __builtin_mul_overflow(weight, s->period_ns, &ns))
		ns = UINT64_MAX / 4;
	return ns;
}

static bool has_clock(const struct stacks *s)
{
	return s->unit == STACKS_NS || s->period_ns != 0;
}

/* A sample ends when it is taken, and begins where the one before ended if
 * that is about when it should. */
static uint64_t starts(const struct stacks *s, uint64_t end, uint64_t time,
		       uint64_t ns)
{
	uint64_t start = time < ns ? 0 : time - ns;

	if (!has_clock(s) || start < end || start - end < ns / 2 + 1)
		return end;
	return start;
}

/* Every sample where it was; equal ones in a row are one. How many there are,
 * and, with room for them, they. */
static size_t course_fine(const struct flame *f, const struct stacks_order *o,
			  struct entry *out, size_t *first)
{
	const struct stacks_sample *m;
	struct entry last = {.node = NONE};
	uint64_t end = 0, start, ns;
	size_t n = 0, g, i;

	for (g = 0; g < f->n_groups; g++, end = 0, last.node = NONE) {
		first[g] = n;
		for (i = o->first[g]; i < o->first[g + 1]; i++) {
			m = &f->s->samples[o->order[i]];
			if (m->weight == 0)
				continue;
			ns = lasts(f->s, m->weight);
			start = starts(f->s, end, m->time_ns, ns);
			if (f->place[f->node_of[m->node]] != last.node ||
			    start != end) {
				last = (struct entry){
				    .node = f->place[f->node_of[m->node]],
				    .start = start};
				n++;
			}
			last.weight += m->weight;
			if (out != NULL)
				out[n - 1] = last;
			end = start + ns;
		}
	}
	first[g] = n;
	return n;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* One after the other from where the step begins. */
static void lay_step(const struct flame *f, struct entry *at, size_t n,
		     uint64_t begin, uint64_t *end)
{
	size_t i;

	qsort(at, n, sizeof *at, compare_entries);
	*end = !has_clock(f->s) || *end > begin ? *end : begin;
	for (i = 0; i < n; i++) {
		at[i].start = *end;
		*end += lasts(f->s, at[i].weight);
	}
}

/* In each step of time every stack once. seen: for each node where it is in
 * this step, plus one. */
static size_t course_steps(const struct flame *f, const struct stacks_order *o,
			   uint64_t step, size_t *seen, struct entry *out,
			   size_t *first)
{
	const struct stacks_sample *m;
	size_t n = 0, g, i, begin;
	uint64_t end, now;
	uint32_t v;

	memset(seen, 0, f->n_page * sizeof *seen);
	for (g = 0; g < f->n_groups; g++) {
		first[g] = begin = n;
		now = end = 0;
		for (i = o->first[g]; i < o->first[g + 1]; i++) {
			m = &f->s->samples[o->order[i]];
			if (m->weight == 0)
				continue;
			if (m->time_ns / step != now && out != NULL)
				lay_step(f, out + begin, n - begin, now * step,
					 &end);
			if (m->time_ns / step != now)
				begin = n;
			now = m->time_ns / step;
			v = f->place[f->node_of[m->node]];
			if (seen[v] <= begin) {
				seen[v] = ++n;
				if (out != NULL)
					out[n - 1] = (struct entry){.node = v};
			}
			if (out != NULL)
				out[seen[v] - 1].weight += m->weight;
		}
		if (out != NULL)
			lay_step(f, out + begin, n - begin, now * step, &end);
	}
	first[g] = n;
	return n;
}

/* The finest that fits: 0, or 1 if none does, or -1 without memory. */
static int make_course(struct flame *f, const struct stacks_order *o)
{
	size_t *seen = calloc(f->n_page, sizeof *seen), n;
	uint64_t n_steps;
	int rc = -1;

	if (seen == NULL)
		return -1;
	f->step_ns = 0;
	n = course_fine(f, o, NULL, f->first);
	for (n_steps = STEPS_MAX; n > ENTRIES_MAX && n_steps > 0;
	     n_steps /= 4) {
		f->step_ns = f->s->duration_ns / n_steps + 1;
		if (n_steps == 1) /* one for all, whenever it was */
			f->step_ns = UINT64_MAX;
		n = course_steps(f, o, f->step_ns, seen, NULL, f->first);
	}
	if (n > ENTRIES_MAX) {
		rc = 1;
		goto out;
	}
	free(f->entries);
	f->entries = calloc(n + 1, sizeof *f->entries);
	if (f->entries == NULL)
		goto out;
	f->n_entries = n;
	if (f->step_ns == 0)
		course_fine(f, o, f->entries, f->first);
	else
		course_steps(f, o, f->step_ns, seen, f->entries, f->first);
	rc = 0;
out:
	free(seen);
	return rc;
}

/* -- All of it --------------------------------------------------------------
 */

static void flame_fini(struct flame *f)
{
	intern_fini(&f->texts);
	intern_fini(&f->functions);
	intern_fini(&f->tree);
	free(f->function_of);
	free(f->node_of);
	free(f->line_of);
	free(f->weigh);
	free(f->heavy);
	free(f->place);
	free(f->rest);
	free(f->up);
	free(f->page_function);
	free(f->page_line);
	free(f->group_of);
	free(f->leader);
	free(f->entries);
	free(f->first);
}

/* Many threads with many stacks each: a smaller tree has fewer of them. */
static int fit_page(struct flame *f, const struct stacks_order *o,
		    uint32_t merged)
{
	size_t budget = TREE_BYTES;
	int rc;

	do {
		if (choose_nodes(f, budget) < 0 || build_page(f, merged) < 0)
			return -1;
		rc = make_course(f, o);
		budget /= 2;
	} while (rc > 0);
	return rc;
}

static int flame_init(struct flame *f, const struct stacks *s,
		      struct hark_err *err)
{
	struct stacks_order o = {0};
	uint32_t merged;
	int rc = -1;

	f->s = s;
	if (name_functions(f) < 0 || merge_nodes(f) < 0 || weigh_nodes(f) < 0 ||
	    sort_nodes(f) < 0 || group_threads(f) < 0 || make_room(f) < 0 ||
	    name_function(f, "[merged]", "", "", IS_MERGED, &merged) < 0)
		return no_memory(err);
	f->first = calloc(f->n_groups + 2, sizeof *f->first);
	if (f->first == NULL)
		return no_memory(err);
	if (stacks_order_init(&o, s, f->group_of, err) < 0)
		return -1;
	rc = fit_page(f, &o, merged);
	stacks_order_fini(&o);
	return rc < 0 ? no_memory(err) : 0;
}

/* -- Writing ----------------------------------------------------------------
 */

/* Functions and texts that are on the page get new numbers. */
struct numbers {
	struct intern functions, texts;
};

static void put_text(struct json *j, const struct intern_text *t)
{
	static const char more[] = {'\xe2', '\x80', '\xa6'}; /* an ellipsis */
	char cut[TEXT_MAX + sizeof more];
	size_t n = cut_text(t);

	if (n == t->len) {
		json_bytes(j, NULL, t->text, n);
		return;
	}
	memcpy(cut, t->text, n);
	memcpy(cut + n, more, sizeof more);
	json_bytes(j, NULL, cut, n + sizeof more);
}

static void put_threads(struct json *j, const struct flame *f)
{
	const struct stacks_thread *t;
	size_t i;

	json_array(j, "threads");
	for (i = 0; i < f->n_groups; i++) {
		t = &f->s->threads[f->leader[i]];
		json_array(j, NULL);
		json_signed(j, NULL, t->pid);
		json_signed(j, NULL, t->tid);
		put_text(j, &(struct intern_text){
				.text = t->name == NULL ? "" : t->name,
				.len = t->name == NULL ? 0 : strlen(t->name)});
		json_number(j, NULL,
			    i + 1 < f->n_groups ? 1 : f->s->n_threads - i);
		json_end(j);
	}
	json_end(j);
}

/* Columns of the tree; numbers of functions are given on the way. */
static int put_tree(struct json *j, const struct flame *f, struct numbers *x)
{
	uint32_t id;
	size_t i;

	json_array(j, "up");
	for (i = 1; i < f->n_page; i++)
		json_number(j, NULL, f->up[i]);
	json_end(j);
	json_array(j, "func");
	for (i = 1; i < f->n_page; i++) {
		if (intern_key(&x->functions,
			       (struct intern_key){{f->page_function[i]}},
			       &id) < 0)
			return -1;
		json_number(j, NULL, id);
	}
	json_end(j);
	json_array(j, "line");
	for (i = 1; i < f->n_page; i++)
		json_number(j, NULL, f->page_line[i]);
	json_end(j);
	return 0;
}

/* Four numbers each: three texts and the flags. */
static int put_functions(struct json *j, const struct flame *f,
			 struct numbers *x)
{
	const struct intern_key *key;
	uint32_t id;
	size_t i, k;

	json_array(j, "funcs");
	for (i = 0; i < x->functions.n; i++) {
		key = &f->functions.keys[x->functions.keys[i].n[0]];
		for (k = 0; k < 3; k++) {
			if (intern_key(&x->texts,
				       (struct intern_key){{key->n[k]}},
				       &id) < 0)
				return -1;
			json_number(j, NULL, id);
		}
		json_number(j, NULL, key->n[3]);
	}
	json_end(j);
	json_array(j, "texts");
	for (i = 0; i < x->texts.n; i++)
		put_text(j, &f->texts.texts[x->texts.keys[i].n[0]]);
	json_end(j);
	return 0;
}

/* For each thread, three numbers an entry: node (from the one before), ticks
 * that nothing ran, weight. What rounding leaves is made good at the next. */
static void put_course(struct json *j, const struct flame *f, uint64_t tick)
{
	const struct entry *e;
	uint64_t at, gap;
	int64_t node;
	size_t g, i;

	json_array(j, "course");
	for (g = 0; g < f->n_groups; g++) {
		json_array(j, NULL);
		at = 0;
		node = 0;
		for (i = f->first[g]; i < f->first[g + 1]; i++) {
			e = &f->entries[i];
			gap = e->start > at ? (e->start - at + tick / 2) / tick
					    : 0;
			json_signed(j, NULL, (int64_t)e->node - node);
			json_number(j, NULL, gap);
			json_number(j, NULL, e->weight);
			at += gap * tick + lasts(f->s, e->weight);
			node = e->node;
		}
		json_end(j);
	}
	json_end(j);
}

static void put_notes(struct json *j, const struct stacks *s)
{
	size_t i, n = s->n_notes < NOTES_MAX ? s->n_notes : NOTES_MAX;

	json_array(j, "notes");
	for (i = 0; i < n; i++)
		put_text(j, &(struct intern_text){.text = s->notes[i],
						  .len = strlen(s->notes[i])});
	json_end(j);
	json_number(j, "notes_left", s->n_notes - n);
}

static int put_data(FILE *out, const struct flame *f)
{
	const struct stacks *s = f->s;
	uint64_t tick = s->duration_ns / 10000000 + 1;
	struct numbers x = {0};
	struct json j;
	int rc = -1;

	json_init(&j, out);
	j.is_in_page = true;
	json_object(&j, NULL);
	json_number(&j, "version", 1);
	json_text(&j, "hark", HARK_VERSION);
	json_array(&j, "title");
	put_text(&j, &(struct intern_text){
			 .text = s->title == NULL ? "" : s->title,
			 .len = s->title == NULL ? 0 : strlen(s->title)});
	json_end(&j);
	json_text(&j, "unit", s->unit == STACKS_NS ? "ns" : "samples");
	json_number(&j, "period", s->period_ns);
	json_number(&j, "duration", s->duration_ns);
	json_number(&j, "samples", s->n_samples);
	json_number(&j, "total", f->total);
	json_number(&j, "tick", has_clock(s) ? tick : 1);
	json_number(&j, "step", f->step_ns);
	json_number(&j, "merged", f->n_merged);
	json_number(&j, "merged_weight", f->merged_weight);
	put_notes(&j, s);
	put_threads(&j, f);
	if (put_tree(&j, f, &x) == 0 && put_functions(&j, f, &x) == 0) {
		put_course(&j, f, has_clock(s) ? tick : 1);
		json_end(&j);
		rc = 0;
	}
	intern_fini(&x.functions);
	intern_fini(&x.texts);
	return rc;
}

/* src/present/page.S */
extern const char flame_page[], flame_page_end[];
extern const char flame_style[], flame_style_end[];
extern const char flame_script[], flame_script_end[];

static void put_piece(FILE *out, const char *at, const char *end)
{
	fwrite(at, 1, (size_t)(end - at), out);
}

/* The page up to a mark; returns what is behind it. */
static const char *put_until(FILE *out, const char *at, const char *mark)
{
	size_t left = (size_t)(flame_page_end - at), len = strlen(mark);
	const char *found = memmem(at, left, mark, len);

	assert(found != NULL);
	put_piece(out, at, found);
	return found + len;
}

int present_flame(const struct stacks *s, FILE *out, struct hark_err *err)
{
	struct flame f = {0};
	const char *at = flame_page;
	int rc = -1;

	if (stacks_check(s, err) < 0)
		return -1;
	if (flame_init(&f, s, err) < 0)
		goto out;
	at = put_until(out, at, "/*STYLE*/");
	put_piece(out, flame_style, flame_style_end);
	at = put_until(out, at, "/*DATA*/");
	if (put_data(out, &f) < 0) {
		no_memory(err);
		goto out;
	}
	at = put_until(out, at, "/*SCRIPT*/");
	put_piece(out, flame_script, flame_script_end);
	put_piece(out, at, flame_page_end);
	rc = stacks_written(out, err);
out:
	flame_fini(&f);
	return rc;
}
