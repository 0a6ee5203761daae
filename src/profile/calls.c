/* profile/calls.c - stacks put together: functions, and who calls whom.
 *
 * Parents have smaller numbers than their children, in the stacks as in what
 * is made of them: sums go up in one pass from the end. */
#include "profile/calls.h"

#include "profile/grow_priv.h"
#include "profile/keys.h"
#include "profile/tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct build {
	struct calls *c;
	const struct stacks *s;
	size_t room_functions, room_nodes;
	struct keys by_name;
	struct tags by_node;
	uint32_t *function; /* owned: of a stacks frame */
	uint32_t *node;	    /* owned: of a stacks node */
	uint32_t *run;	    /* owned: of a stacks node, calls in a row so far */
	uint64_t least;	    /* what is shown weighs that much */
};

/* -- Functions -- */

static bool is_same(const struct calls_function *f, const char *name,
		    const char *module)
{
	return strcmp(f->name, name) == 0 && strcmp(f->module, module) == 0;
}

static uint32_t find_function(struct build *b, const struct stacks_frame *f)
{
	uint64_t key =
	    XXH3_64bits_withSeed(f->name, strlen(f->name),
				 XXH3_64bits(f->module, strlen(f->module)));
	size_t at = b->c->n_functions == 0 ? 0 : keys_first(&b->by_name, key);
	uint32_t i;

	while ((i = keys_next(&b->by_name, key, &at)) != KEYS_NONE)
		if (is_same(&b->c->functions[i], f->name, f->module))
			return i;
	i = (uint32_t)b->c->n_functions;
	if (GROW(b->c->functions, b->room_functions, b->c->n_functions + 1) <
		0 ||
	    keys_add(&b->by_name, key, i) < 0)
		return KEYS_NONE;
	b->c->functions[b->c->n_functions++] =
	    (struct calls_function){.name = f->name,
				    .module = f->module,
				    .file = f->file,
				    .line = f->line,
				    .is_unknown = f->is_unknown};
	return i;
}

static int find_functions(struct build *b)
{
	for (size_t i = 0; i < b->s->n_frames; i++) {
		b->function[i] = find_function(b, &b->s->frames[i]);
		if (b->function[i] == KEYS_NONE)
			return -1;
	}
	return 0;
}

/* -- Nodes -- */

static uint32_t new_node(struct build *b, uint32_t parent, uint32_t function,
			 bool is_guess)
{
	struct calls *c = b->c;

	if (GROW(c->nodes, b->room_nodes, c->n_nodes + 1) < 0)
		return KEYS_NONE;
	c->nodes[c->n_nodes] = (struct calls_node){
	    .parent = parent, .function = function, .is_guess = is_guess};
	return (uint32_t)c->n_nodes++;
}

static bool is_node(const struct calls_node *n, uint32_t parent,
		    uint32_t function, bool is_guess)
{
	return n->parent == parent && n->function == function &&
	       n->is_guess == is_guess;
}

/* The first one below a node is known by it, until they are put in order. */
static uint32_t find_node(struct build *b, uint32_t parent, uint32_t function,
			  bool is_guess)
{
	const uint32_t tag =
	    tags_of((uint64_t)parent << 32 | function << 1 | is_guess);
	size_t at = tag;
	uint32_t i = b->c->nodes[parent].first;
	const bool is_first = i == 0;

	if (!is_first && is_node(&b->c->nodes[i], parent, function, is_guess))
		return i;
	while (!is_first && (i = tags_next(&b->by_node, tag, &at)) != TAGS_NONE)
		if (is_node(&b->c->nodes[i], parent, function, is_guess))
			return i;
	i = new_node(b, parent, function, is_guess);
	if (i == KEYS_NONE || (!is_first && tags_add(&b->by_node, tag, i) < 0))
		return KEYS_NONE;
	if (is_first)
		b->c->nodes[parent].first = i;
	return i;
}

/* A row of calls ends with this many. */
static void end_run(struct calls_node *n, uint32_t run)
{
	if (n->least == 0 || run < n->least)
		n->least = run;
	if (run > n->most)
		n->most = run;
}

static int find_nodes(struct build *b)
{
	for (size_t i = 1; i < b->s->n_nodes; i++) {
		const struct stacks_node *n = &b->s->nodes[i];
		uint32_t function = b->function[n->frame];
		bool is_guess = b->s->frames[n->frame].is_guess;
		uint32_t above = b->node[n->parent];
		struct calls_node *m = &b->c->nodes[above];

		if (above != 0 && m->function == function &&
		    m->is_guess == is_guess) {
			b->node[i] = above;
			b->run[i] = b->run[n->parent] + 1;
			continue;
		}
		end_run(m, b->run[n->parent]);
		b->node[i] = find_node(b, above, function, is_guess);
		b->run[i] = 1;
		if (b->node[i] == KEYS_NONE)
			return -1;
	}
	return 0;
}

static void add_samples(struct build *b)
{
	for (size_t i = 0; i < b->s->n_samples; i++) {
		const struct stacks_sample *s = &b->s->samples[i];
		struct calls_node *n = &b->c->nodes[b->node[s->node]];

		n->self += s->weight;
		b->c->total += s->weight;
		end_run(n, b->run[s->node]);
	}
}

static void sum_up(struct calls *c)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		c->nodes[i].total = c->nodes[i].self;
	for (size_t i = c->n_nodes; i-- > 1;)
		c->nodes[c->nodes[i].parent].total += c->nodes[i].total;
}

/* -- Order -- */

static int by_weight(const void *a, const void *b, void *nodes)
{
	const struct calls_node *all = nodes;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (all[i].total != all[j].total)
		return all[i].total < all[j].total ? -1 : 1;
	return i > j ? -1 : i < j;
}

/* Those that weigh enough, linked: the lightest first, each before the last. */
static int link_nodes(struct build *b)
{
	struct calls *c = b->c;
	uint32_t *heavy = reallocarray(NULL, c->n_nodes, sizeof *heavy);
	size_t n = 0;

	if (heavy == NULL)
		return -1;
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		c->nodes[i].first = c->nodes[i].next = 0;
		if (i > 0 && c->nodes[i].total > 0 &&
		    c->nodes[i].total >= b->least)
			heavy[n++] = i;
	}
	qsort_r(heavy, n, sizeof *heavy, by_weight, c->nodes);
	for (size_t i = 0; i < n; i++) {
		struct calls_node *parent =
		    &c->nodes[c->nodes[heavy[i]].parent];

		c->nodes[heavy[i]].next = parent->first;
		parent->first = heavy[i];
	}
	free(heavy);
	return 0;
}

/* -- What functions weigh -- */

/* First child, next sibling, of all nodes; then down and up again. A function
 * that is above a node already has its weight. */
static int weigh_functions(struct calls *c)
{
	uint32_t *first = calloc(c->n_nodes, sizeof *first);
	uint32_t *next = calloc(c->n_nodes, sizeof *next);
	uint32_t *above = calloc(c->n_functions + 1, sizeof *above);
	uint32_t at = 0;
	int rc = first == NULL || next == NULL || above == NULL ? -1 : 0;

	for (size_t i = c->n_nodes; rc == 0 && i-- > 1;) {
		next[i] = first[c->nodes[i].parent];
		first[c->nodes[i].parent] = (uint32_t)i;
	}
	while (rc == 0) {
		if (first[at] != 0) {
			const struct calls_node *n = &c->nodes[first[at]];
			uint32_t child = first[at];

			first[at] = next[child];
			c->functions[n->function].self += n->self;
			if (above[n->function]++ == 0)
				c->functions[n->function].total += n->total;
			at = child;
		} else if (at != 0) {
			above[c->nodes[at].function]--;
			at = c->nodes[at].parent;
		} else {
			break;
		}
	}
	free(first);
	free(next);
	free(above);
	return rc;
}

/* -- The other way round -- */

/* Weight that ended in a function, and how far up its callers were followed. */
struct share {
	uint32_t node; /* of the tree downwards; 0: there are no more callers */
	uint64_t weight;
};

/* A node upwards, and the shares that it is made of. */
struct group {
	uint32_t node;
	size_t from, n;
};

struct upwards {
	struct build *b;
	struct calls_node *down; /* owned */
	size_t n_down;
	struct share *shares; /* owned; slices of it belong to groups */
	size_t n_shares, room_shares;
	struct group *groups; /* owned */
	size_t n_groups, room_groups;
};

static uint64_t key_of(const struct upwards *u, const struct share *s)
{
	const struct calls_node *n = &u->down[s->node];

	return s->node == 0 ? UINT64_MAX
			    : (uint64_t)n->function << 1 | n->is_guess;
}

static int by_function(const void *a, const void *b, void *ctx)
{
	uint64_t x = key_of(ctx, a), y = key_of(ctx, b);

	return x < y ? -1 : x > y;
}

/* Shares of one function become a node under parent. */
static int add_group(struct upwards *u, uint32_t parent, size_t from, size_t n)
{
	struct calls_node *m = &u->down[u->shares[from].node];
	uint32_t node = new_node(u->b, parent, m->function, m->is_guess);
	struct calls_node *up;

	if (node == KEYS_NONE ||
	    GROW(u->groups, u->room_groups, u->n_groups + 1) < 0)
		return -1;
	up = &u->b->c->nodes[node];
	for (size_t i = from; i < from + n; i++) {
		m = &u->down[u->shares[i].node];
		up->total += u->shares[i].weight;
		end_run(up, m->least);
		end_run(up, m->most);
	}
	if (up->total >= u->b->least) /* lighter ones are not looked into */
		u->groups[u->n_groups++] = (struct group){node, from, n};
	return 0;
}

/* n shares from `from` on, under parent: group by group. */
static int divide(struct upwards *u, uint32_t parent, size_t from, size_t n)
{
	size_t end = from + n;

	qsort_r(u->shares + from, n, sizeof *u->shares, by_function, u);
	while (from < end && u->shares[from].node != 0) {
		uint64_t key = key_of(u, &u->shares[from]);
		size_t to = from + 1;

		while (to < end && key_of(u, &u->shares[to]) == key)
			to++;
		if (add_group(u, parent, from, to - from) < 0)
			return -1;
		from = to;
	}
	return 0;
}

/* Their callers: shares of the same slice, one step further up. What has no
 * caller any more is the group's own. */
static int step_up(struct upwards *u, struct group g)
{
	for (size_t i = g.from; i < g.from + g.n; i++) {
		struct share *s = &u->shares[i];

		s->node = u->down[s->node].parent;
		if (s->node == 0)
			u->b->c->nodes[g.node].self += s->weight;
	}
	return divide(u, g.node, g.from, g.n);
}

static int list_shares(struct upwards *u)
{
	for (uint32_t i = 1; i < u->n_down; i++) {
		if (u->down[i].self == 0)
			continue;
		if (GROW(u->shares, u->room_shares, u->n_shares + 1) < 0)
			return -1;
		u->shares[u->n_shares++] =
		    (struct share){.node = i, .weight = u->down[i].self};
	}
	return 0;
}

/* The tree downwards gives way to one upwards. Its nodes' self is what has no
 * further caller. */
static int turn_round(struct build *b)
{
	struct upwards u = {
	    .b = b, .down = b->c->nodes, .n_down = b->c->n_nodes};
	int rc;

	b->c->nodes = NULL;
	b->c->n_nodes = b->room_nodes = 0;
	rc = new_node(b, 0, 0, false) == KEYS_NONE || list_shares(&u) < 0 ||
		     (u.n_shares > 0 && divide(&u, 0, 0, u.n_shares) < 0)
		 ? -1
		 : 0;
	while (rc == 0 && u.n_groups > 0)
		rc = step_up(&u, u.groups[--u.n_groups]);
	free(u.down);
	free(u.shares);
	free(u.groups);
	return rc;
}

/* -- All of it -- */

static int by_self(const void *a, const void *b, void *functions)
{
	const struct calls_function *all = functions;
	const struct calls_function *x = &all[*(const uint32_t *)a];
	const struct calls_function *y = &all[*(const uint32_t *)b];

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int sort_functions(struct calls *c)
{
	c->order = reallocarray(NULL, c->n_functions + 1, sizeof *c->order);
	if (c->order == NULL)
		return -1;
	for (uint32_t i = 0; i < c->n_functions; i++)
		c->order[i] = i;
	qsort_r(c->order, c->n_functions, sizeof *c->order, by_self,
		c->functions);
	return 0;
}

static int build_init(struct build *b)
{
	b->function = calloc(b->s->n_frames + 1, sizeof *b->function);
	b->node = calloc(b->s->n_nodes, sizeof *b->node);
	b->run = calloc(b->s->n_nodes, sizeof *b->run);
	return b->function == NULL || b->node == NULL || b->run == NULL ||
		       new_node(b, 0, 0, false) == KEYS_NONE
		   ? -1
		   : 0;
}

static void build_fini(struct build *b)
{
	free(b->function);
	free(b->node);
	free(b->run);
	keys_fini(&b->by_name);
	tags_fini(&b->by_node);
}

static int build(struct build *b, enum calls_view view, double share)
{
	if (build_init(b) < 0 || find_functions(b) < 0 || find_nodes(b) < 0)
		return -1;
	add_samples(b);
	b->least = (uint64_t)((double)b->c->total * share);
	sum_up(b->c);
	if (weigh_functions(b->c) < 0 || sort_functions(b->c) < 0 ||
	    (view == CALLS_UP && turn_round(b) < 0))
		return -1;
	return link_nodes(b);
}

int calls_init(struct calls *c, const struct stacks *s, enum calls_view view,
	       double share, struct hark_err *err)
{
	struct build b = {.c = c, .s = s};
	int rc;

	*c = (struct calls){0};
	rc = build(&b, view, share);
	build_fini(&b);
	if (rc == 0)
		return 0;
	calls_fini(c);
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

void calls_fini(struct calls *c)
{
	free(c->functions);
	free(c->order);
	free(c->nodes);
	*c = (struct calls){0};
}
