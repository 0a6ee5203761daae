/* profile/show.c - the tree of addresses becomes a tree of names.
 *
 *	samples --> the nodes that they need --> their frames, sorted
 *	  --> names_of(): a chain of stacks frames each (inlined calls)
 *	  --> nodes again, from the root on: chain by chain, each once
 *
 * A parent is before its children in both trees, so that every step is one
 * pass over an array; no step depends on the depth of a stack. */
#include "profile/show.h"

#include "base/fmt.h"
#include "image/image.h"
#include "image/symbols.h"
#include "profile/grow_priv.h"
#include "profile/names_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NOTES_MAX = 256,
	NOTE_LEN = 512,
	BITS = 64, /* modules that are told apart in notes */
};

struct profile_stacks {
	struct stacks stacks;
	struct names names;
	struct stacks_sample *samples; /* owned */
	struct tree tree;	       /* of stacks frames; its .frames: none */
	char *notes[NOTES_MAX];	       /* owned */
	size_t n_notes;
};

/* What is needed on the way. */
struct work {
	const struct profile *p;
	struct profile_stacks *s;
	uint8_t *node_used;  /* owned */
	uint8_t *frame_used; /* owned */
	uint32_t *sorted;    /* owned: used frames by module and address */
	size_t n_sorted;
	uint32_t *chain_at; /* owned: of a frame, its chain: where, ... */
	uint8_t *chain_n;   /* owned: ... and how long */
	uint32_t *chains;   /* owned */
	size_t n_chains, room_chains;
	uint32_t *now;	 /* owned: of a node, the new one */
	uint64_t *marks; /* owned: of a node, what is to be told of it */
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

/* -- Which samples -- */

static bool is_thread(const struct stacks_thread *t, const char *wish)
{
	char *end;
	long id = strtol(wish, &end, 10);

	if (end != wish && *end == '\0' && id == t->tid)
		return true;
	return strcmp(t->name, wish) == 0;
}

/* A flag for each thread; NULL: no memory. */
static uint8_t *choose_threads(const struct profile *p, const char *wish,
			       bool *any)
{
	uint8_t *chosen = calloc(p->n_threads + 1, 1);

	*any = wish == NULL;
	for (size_t i = 0; chosen != NULL && i < p->n_threads; i++) {
		chosen[i] = wish == NULL || is_thread(&p->threads[i], wish);
		*any = *any || chosen[i];
	}
	return chosen;
}

static uint64_t first_time(const struct profile *p,
			   const struct profile_choice *c)
{
	uint64_t end = p->facts.duration_ns;

	return c->last_ns == 0 || c->last_ns > end ? 0 : end - c->last_ns;
}

/* They are in the order of time. */
static int choose_samples(struct profile_stacks *s, const struct profile *p,
			  const struct profile_choice *c, struct hark_err *err)
{
	uint64_t from = first_time(p, c);
	size_t n = 0, skip;
	bool any;
	uint8_t *chosen = choose_threads(p, c->thread, &any);

	s->samples = calloc(p->n_samples + 1, sizeof *s->samples);
	if (chosen == NULL || s->samples == NULL) {
		free(chosen);
		return no_memory(err);
	}
	for (size_t i = 0; i < p->n_samples; i++)
		if (chosen[p->samples[i].thread] &&
		    p->samples[i].time_ns >= from)
			s->samples[n++] = p->samples[i];
	free(chosen);
	if (!any)
		return err_set(err, HARK_ENOENT, 0,
			       "no thread has the id or name '%s'", c->thread);
	skip = c->last != 0 && c->last < n ? n - c->last : 0;
	memmove(s->samples, s->samples + skip, (n - skip) * sizeof *s->samples);
	s->stacks.samples = s->samples;
	s->stacks.n_samples = n - skip;
	return 0;
}

/* -- Which frames -- */

static void mark_used(struct work *w)
{
	for (size_t i = 0; i < w->s->stacks.n_samples; i++)
		w->node_used[w->s->samples[i].node] = 1;
	for (size_t i = w->p->n_nodes; i-- > 1;)
		if (w->node_used[i]) {
			w->node_used[w->p->nodes[i].parent] = 1;
			w->frame_used[w->p->nodes[i].frame] = 1;
		}
}

static int by_address(const void *a, const void *b, void *frames)
{
	const struct tree_frame *all = frames;
	const struct tree_frame *x = &all[*(const uint32_t *)a];
	const struct tree_frame *y = &all[*(const uint32_t *)b];

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void list_frames(struct work *w)
{
	for (uint32_t i = 0; i < w->p->n_frames; i++)
		if (w->frame_used[i])
			w->sorted[w->n_sorted++] = i;
	if (w->n_sorted > 0)
		qsort_r(w->sorted, w->n_sorted, sizeof w->sorted[0], by_address,
			w->p->frames);
}

static int name_frames(struct work *w)
{
	for (size_t i = 0; i < w->n_sorted; i++) {
		uint32_t frame = w->sorted[i];
		size_t n;

		if (GROW(w->chains, w->room_chains, w->n_chains + NAMES_CHAIN) <
		    0)
			return -1;
		n = names_of(&w->s->names, &w->p->frames[frame],
			     w->chains + w->n_chains);
		if (n == 0)
			return -1;
		w->chain_at[frame] = (uint32_t)w->n_chains;
		w->chain_n[frame] = (uint8_t)n;
		w->n_chains += n;
	}
	return 0;
}

/* -- The new tree -- */

static int build_tree(struct work *w)
{
	struct tree *t = &w->s->tree;

	for (size_t i = 1; i < w->p->n_nodes; i++) {
		const struct tree_node *node = &w->p->nodes[i];
		uint32_t at = w->now[node->parent];

		if (!w->node_used[i])
			continue;
		for (unsigned j = 0; j < w->chain_n[node->frame]; j++) {
			uint32_t frame =
			    w->chains[w->chain_at[node->frame] + j];

			at = tree_node(t, at, frame);
			if (at >= TREE_FULL)
				return -1;
		}
		w->now[i] = at;
	}
	return 0;
}

static void move_samples(struct work *w)
{
	for (size_t i = 0; i < w->s->stacks.n_samples; i++)
		w->s->samples[i].node = w->now[w->s->samples[i].node];
}

/* -- Notes -- */

static void note(struct profile_stacks *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void note(struct profile_stacks *s, const char *format, ...)
{
	char text[NOTE_LEN];
	va_list args;

	va_start(args, format);
	fmt_vtext(text, sizeof text, format, args);
	va_end(args);
	if (s->n_notes == NOTES_MAX)
		return;
	s->notes[s->n_notes] = strdup(text);
	s->n_notes += s->notes[s->n_notes] != NULL;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Why addresses of it have no name. */
static const char *why_of(const struct named_module *m)
{
	const int whole = SYMBOLS_SYMTAB | SYMBOLS_DEBUG;

	if (m->why != NULL)
		return m->why;
	return symbols_sources(m->file, NULL) > 0 &&
		       (symbols_sources(m->file, NULL) & whole) != 0
		   ? "at addresses of no function"
		   : "it is stripped";
}

/* A bit for each module without names, the last one for all beyond. */
static uint64_t *list_lacking(const struct names *n, size_t n_modules,
			      uint32_t modules[BITS], unsigned *out)
{
	uint64_t *bits = calloc(n_modules + 1, sizeof *bits);

	*out = 0;
	for (uint32_t i = 0; bits != NULL && i <= n_modules; i++) {
		if (!n->modules[i].lacks)
			continue;
		bits[i] = 1ull << *out;
		modules[*out] = i;
		if (*out < BITS - 1)
			++*out;
	}
	return bits;
}

/* How many samples pass through a node with each bit. */
static void count_marks(struct work *w, uint64_t out[BITS])
{
	for (size_t i = 0; i < w->s->stacks.n_samples; i++) {
		uint64_t m = w->marks[w->s->samples[i].node];

		for (; m != 0; m &= m - 1)
			out[__builtin_ctzll(m)]++;
	}
}

/* Before samples are moved. A node has what its parent has, and its own. */
static int note_lacking(struct work *w)
{
	uint32_t modules[BITS];
	uint64_t count[BITS] = {0};
	struct names *names = &w->s->names;
	unsigned n;
	uint64_t *bits = list_lacking(names, w->p->n_modules, modules, &n);

	if (bits == NULL)
		return -1;
	for (size_t i = 1; i < w->p->n_nodes && n > 0; i++) {
		const struct tree_node *node = &w->p->nodes[i];
		uint32_t frame = node->frame;
		bool unknown =
		    w->node_used[i] &&
		    names->frames[w->chains[w->chain_at[frame]]].is_unknown;

		w->marks[i] = w->marks[node->parent] |
			      (unknown ? bits[w->p->frames[frame].module] : 0);
	}
	count_marks(w, count);
	for (unsigned i = 0; i < n; i++) {
		const struct named_module *m = &names->modules[modules[i]];

		note(w->s, "no symbols for %s (%s): %lu sample%s",
		     m->name[0] == '\0' ? "some code" : m->name, why_of(m),
		     (unsigned long)count[i], plural(count[i]));
	}
	free(bits);
	return 0;
}

enum { GUESSED = 8 }; /* a bit beyond those of broken ends */

static void note_doubts(struct work *w)
{
	uint64_t count[BITS] = {0};

	for (size_t i = 1; i < w->p->n_nodes; i++) {
		const struct tree_node *node = &w->p->nodes[i];
		const struct tree_frame *f = &w->p->frames[node->frame];
		uint64_t m = w->marks[node->parent];

		if ((f->flags & TREE_BROKEN) != 0)
			m |= 1ull << (f->address < GUESSED ? f->address : 1);
		else if ((f->flags & TREE_HOW) >> TREE_HOW_SHIFT >= 2)
			m |= 1ull << GUESSED;
		w->marks[i] = m;
	}
	count_marks(w, count);
	if (count[GUESSED] > 0)
		note(w->s, "%lu sample%s with guessed frames, marked [guess]",
		     (unsigned long)count[GUESSED], plural(count[GUESSED]));
	for (unsigned i = 1; i < PROFILE_SHORT; i++)
		if (count[i] > 0)
			note(w->s,
			     "%lu sample%s not to the outermost caller: %s",
			     (unsigned long)count[i], plural(count[i]),
			     names_broken(i));
}

static void note_file(struct profile_stacks *s, const struct profile *p)
{
	const struct profile_facts *f = &p->facts;

	if (f->damage != NULL)
		note(s, "%s; what stands before it is shown", f->damage);
	else if (!f->is_complete)
		note(s, "the file was cut off: what is in it is whole");
	for (size_t i = 0; i < f->n_lost_by; i++)
		note(s, "%lu sample%s lost: %s", (unsigned long)f->lost_by[i].n,
		     plural(f->lost_by[i].n), f->lost_by[i].reason);
	for (size_t i = 0; i < p->n_notes; i++)
		note(s, "%s", p->notes[i]);
}

/* -- All of it -- */

static void work_fini(struct work *w)
{
	free(w->node_used);
	free(w->frame_used);
	free(w->sorted);
	free(w->chain_at);
	free(w->chain_n);
	free(w->chains);
	free(w->now);
	free(w->marks);
}

static int work_init(struct work *w)
{
	size_t nodes = w->p->n_nodes, frames = w->p->n_frames + 1;

	w->node_used = calloc(nodes, 1);
	w->frame_used = calloc(frames, 1);
	w->sorted = calloc(frames, sizeof *w->sorted);
	w->chain_at = calloc(frames, sizeof *w->chain_at);
	w->chain_n = calloc(frames, 1);
	w->now = calloc(nodes, sizeof *w->now);
	w->marks = calloc(nodes, sizeof *w->marks);
	return w->node_used == NULL || w->frame_used == NULL ||
		       w->sorted == NULL || w->chain_at == NULL ||
		       w->chain_n == NULL || w->now == NULL || w->marks == NULL
		   ? -1
		   : 0;
}

static int make_names(struct work *w)
{
	mark_used(w);
	list_frames(w);
	if (name_frames(w) < 0 || build_tree(w) < 0)
		return -1;
	note_file(w->s, w->p);
	if (image_trouble(w->s->names.image) != NULL)
		note(w->s, "%s", image_trouble(w->s->names.image));
	if (note_lacking(w) < 0)
		return -1;
	memset(w->marks, 0, w->p->n_nodes * sizeof *w->marks);
	note_doubts(w);
	move_samples(w);
	return 0;
}

/* What it was called: its command, or else its program. */
static const char *title_of(const struct profile *p)
{
	if (p->facts.command[0] != '\0')
		return p->facts.command;
	for (size_t i = 0; i < p->n_modules; i++)
		if (p->modules[i].main)
			return p->modules[i].path;
	return "";
}

static void fill(struct profile_stacks *s, const struct profile *p)
{
	static const char *const events[] = {[PROFILE_CPU] = "cpu-clock",
					     [PROFILE_WALL] = "wall-clock",
					     [PROFILE_OFF_CPU] = "off-cpu"};
	struct stacks *k = &s->stacks;

	k->title = title_of(p);
	k->event = events[p->facts.clock];
	k->unit =
	    p->facts.clock == PROFILE_OFF_CPU ? STACKS_NS : STACKS_SAMPLES;
	k->period_ns = k->unit == STACKS_NS ? 0 : p->facts.period_ns;
	k->duration_ns = p->facts.duration_ns;
	k->frames = s->names.frames;
	k->n_frames = s->names.n_frames;
	/* The same layout, by intent. */
	k->nodes = (const struct stacks_node *)s->tree.nodes;
	k->n_nodes = s->tree.n_nodes;
	k->threads = p->threads;
	k->n_threads = p->n_threads;
	k->notes = (const char *const *)s->notes;
	k->n_notes = s->n_notes;
}
_Static_assert(sizeof(struct stacks_node) == sizeof(struct tree_node) &&
		   offsetof(struct stacks_node, frame) ==
		       offsetof(struct tree_node, frame),
	       "nodes are handed over as they are");

int profile_stacks(const struct profile *p, const struct profile_choice *c,
		   struct profile_stacks **out, struct hark_err *err)
{
	struct profile_stacks *s = calloc(1, sizeof *s);
	struct work w = {.p = p, .s = s};
	int rc = -1;

	if (s == NULL)
		return no_memory(err);
	if (names_init(&s->names, p, err) < 0 ||
	    choose_samples(s, p, c, err) < 0)
		goto out;
	if (tree_init(&s->tree) < 0 || work_init(&w) < 0 ||
	    make_names(&w) < 0) {
		no_memory(err);
		goto out;
	}
	fill(s, p);
	*out = s;
	s = NULL; /* handed over */
	rc = 0;
out:
	work_fini(&w);
	profile_stacks_free(s);
	return rc;
}

const struct stacks *profile_stacks_get(const struct profile_stacks *s)
{
	return &s->stacks;
}

void profile_stacks_free(struct profile_stacks *s)
{
	if (s == NULL)
		return;
	names_fini(&s->names);
	tree_fini(&s->tree);
	free(s->samples);
	for (size_t i = 0; i < s->n_notes; i++)
		free(s->notes[i]);
	free(s);
}
