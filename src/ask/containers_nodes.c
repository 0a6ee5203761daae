/* ask/containers_nodes.c - containers of C++ that are made of pieces of memory.
 *
 * B3  What leads from one element to the next is read from memory that may be
 *     damaged: a walk ends after SHOW_ELEMENTS elements, or where it has been
 *     before; a descent in a tree after TREE_DEPTH steps. */
#include "ask/containers_priv.h"

#include <stdlib.h>
#include <string.h>

enum { TREE_DEPTH = 128 };

static const char cycle[] = "<damaged: it comes back to where it was>";
static const char too_deep[] = "<damaged: the tree is too deep>";
static const char too_short[] = "<damaged: there are no more>";
static const char unknown_next[] = "?? <the next one is not known>";

/* A node: where its value is, and what that is. */
struct node {
	struct type type;
	struct type value;
	uint64_t offset;
};

/* The type of nodes that a container calls so; a pointer to them will do. */
static bool node_of(struct type container, const char *name, struct node *out)
{
	struct type_facts f;
	struct type t, of;

	if (!type_nested(container, name, &t))
		return false;
	type_look(t, &f);
	if (f.kind == TYPE_POINTER)
		t = f.target;
	out->type = t;
	if (box_field(t, "_M_storage", &of, &out->offset)) {
		/* Bytes, but they are for its argument. */
		return type_argument(of, &out->value);
	}
	return box_field(t, "_M_value_field", &out->value, &out->offset);
}

/* -- Chains -- */

struct walk {
	const struct node *node;
	const char *next; /* the field that leads on */
	uint64_t at;
	uint64_t end;  /* 0, or the header */
	uint64_t most; /* UINT64_MAX: not known */
	bool is_map;
};

static bool was_seen(const uint64_t *seen, uint64_t n, uint64_t at)
{
	for (uint64_t i = 0; i < n; i++)
		if (seen[i] == at)
			return true;
	return false;
}

/* What ends a chain before it has so many elements; NULL: nothing does. */
static const char *walk_on(struct shower *w, struct walk *c,
			   const uint64_t *seen, size_t n)
{
	struct word next;

	if (!box_word_at(w, c->node->type, c->at, c->next, &next) ||
	    !next.is_known)
		return unknown_next;
	c->at = next.u;
	return c->at != c->end && was_seen(seen, n, c->at) ? cycle : NULL;
}

static void put_chain(struct shower *w, struct walk *c)
{
	uint64_t seen[SHOW_ELEMENTS];
	const char *why = NULL;
	struct box_listing l;
	size_t n = 0;

	prose_put(w->out, " = {");
	if (!box_listing_begin(&l, w, c->node->value)) {
		prose_put(w->out, "...}");
		return;
	}
	l.is_map = c->is_map;
	while (c->at != c->end && n < c->most && n < SHOW_ELEMENTS &&
	       why == NULL) {
		seen[n++] = c->at;
		if (!box_listing_add(&l, c->at + c->node->offset))
			break;
		if (n < c->most)
			why = walk_on(w, c, seen, n);
	}
	if (why == NULL && c->at == c->end && c->most != UINT64_MAX &&
	    n < c->most)
		why = too_short;
	box_listing_end(
	    &l, n == c->most || (c->most == UINT64_MAX && c->at == c->end),
	    why);
	prose_put(w->out, "}");
}

enum outcome box_list(const struct box *b, const char *name)
{
	struct word first, header, n = {0};
	struct node node;
	bool has_size = box_word(b, "_M_impl._M_node._M_size", &n);
	struct walk c = {.node = &node, .next = "_M_next", .most = UINT64_MAX};

	if (!box_word(b, "_M_impl._M_node._M_next", &first) ||
	    !node_of(b->type, "_Node", &node))
		return BOX_OTHER;
	prose_put(b->w->out, "%s", name);
	if (has_size)
		box_put_length(b->w, &n);
	if (!first.is_known || !b->w->s->has_memory)
		return BOX_SHOWN;
	if (has_size && n.is_known)
		c.most = n.u;
	/* The header is before the first element. */
	if (box_word_at(b->w, node.type, first.u, "_M_prev", &header) &&
	    header.is_known)
		c.end = header.u;
	c.at = first.u;
	put_chain(b->w, &c);
	return BOX_SHOWN;
}

enum outcome box_forward_list(const struct box *b, const char *name)
{
	struct node node;
	struct word first;
	struct walk c = {.node = &node, .next = "_M_next", .most = UINT64_MAX};

	if (!box_word(b, "_M_impl._M_head._M_next", &first) ||
	    !node_of(b->type, "_Node", &node))
		return BOX_OTHER;
	prose_put(b->w->out, "%s", name);
	if (!first.is_known || !b->w->s->has_memory) {
		prose_put(b->w->out, " of length ??");
		return BOX_SHOWN;
	}
	c.at = first.u;
	put_chain(b->w, &c);
	return BOX_SHOWN;
}

enum outcome box_hashed(const struct box *b, const char *name, bool is_map)
{
	struct type table;
	uint64_t offset;
	struct node node;
	struct word first, n;
	struct walk c = {.node = &node, .next = "_M_nxt", .is_map = is_map};

	if (!box_field(b->type, "_M_h", &table, &offset) ||
	    !box_word(b, "_M_h._M_before_begin._M_nxt", &first) ||
	    !box_word(b, "_M_h._M_element_count", &n) ||
	    !node_of(table, "__node_type", &node))
		return BOX_OTHER;
	prose_put(b->w->out, "%s", name);
	box_put_count(b->w, &n);
	if (!first.is_known || !n.is_known || !b->w->s->has_memory)
		return BOX_SHOWN;
	c.at = first.u;
	c.most = n.u;
	put_chain(b->w, &c);
	return BOX_SHOWN;
}

/* -- Trees -- */

struct tree {
	struct shower *w;
	struct node node;
	uint64_t stack[TREE_DEPTH]; /* whose left side was gone to */
	unsigned n;
	uint64_t seen[SHOW_ELEMENTS];
	const char *why; /* the walk cannot go on */
};

/* From a node to the left as far as it goes. */
static void go_left(struct tree *t, uint64_t at)
{
	struct word left;

	while (at != 0 && t->why == NULL) {
		if (t->n == TREE_DEPTH) {
			t->why = too_deep;
			return;
		}
		t->stack[t->n++] = at;
		if (!box_word_at(t->w, t->node.type, at, "_M_left", &left) ||
		    !left.is_known)
			t->why = unknown_next;
		at = left.u;
	}
}

static void put_tree(struct tree *t, uint64_t root, uint64_t count, bool is_map)
{
	struct word right;
	struct box_listing l;
	uint64_t at;

	prose_put(t->w->out, " = {");
	if (!box_listing_begin(&l, t->w, t->node.value)) {
		prose_put(t->w->out, "...}");
		return;
	}
	l.is_map = is_map;
	go_left(t, root);
	while (t->why == NULL && t->n > 0 && l.n < count &&
	       l.n < SHOW_ELEMENTS) {
		at = t->stack[--t->n];
		if (was_seen(t->seen, l.n, at)) {
			t->why = cycle;
			break;
		}
		t->seen[l.n] = at;
		if (!box_listing_add(&l, at + t->node.offset))
			break;
		if (!box_word_at(t->w, t->node.type, at, "_M_right", &right) ||
		    !right.is_known)
			t->why = unknown_next;
		else
			go_left(t, right.u);
	}
	if (t->why == NULL && t->n == 0 && l.n < count && l.n < SHOW_ELEMENTS)
		t->why = too_short;
	box_listing_end(&l, l.n == count, l.n == count ? NULL : t->why);
	prose_put(t->w->out, "}");
}

enum outcome box_tree(const struct box *b, const char *name, bool is_map)
{
	struct tree t = {.w = b->w};
	struct type tree;
	uint64_t offset;
	struct word root, n;

	if (!box_field(b->type, "_M_t", &tree, &offset) ||
	    !box_word(b, "_M_t._M_impl._M_header._M_parent", &root) ||
	    !box_word(b, "_M_t._M_impl._M_node_count", &n) ||
	    !node_of(tree, "_Link_type", &t.node))
		return BOX_OTHER;
	prose_put(b->w->out, "%s", name);
	box_put_count(b->w, &n);
	if (root.is_known && n.is_known && b->w->s->has_memory)
		put_tree(&t, root.u, n.u, is_map);
	return BOX_SHOWN;
}

/* -- Deques -- */

/* Both ends, each in a buffer. */
struct ends {
	struct word cur, first, last, node;
};

static bool read_end(const struct box *b, const char *const path[4],
		     struct ends *out)
{
	return box_word(b, path[0], &out->cur) &&
	       box_word(b, path[1], &out->first) &&
	       box_word(b, path[2], &out->last) &&
	       box_word(b, path[3], &out->node);
}

static bool is_end_known(const struct ends *e)
{
	return e->cur.is_known && e->first.is_known && e->last.is_known &&
	       e->node.is_known;
}

/* Is it in its buffer, at the begin of an element? */
static bool is_end_sane(const struct ends *e, uint64_t size)
{
	return e->first.u <= e->cur.u && e->cur.u <= e->last.u &&
	       e->last.u - e->first.u < (uint64_t)1 << 32 &&
	       (e->cur.u - e->first.u) % size == 0;
}

static bool count_deque(const struct ends *a, const struct ends *z,
			uint64_t size, uint64_t *out)
{
	uint64_t buffer = a->last.u - a->first.u;
	uint64_t nodes = z->node.u - a->node.u;

	if (!is_end_sane(a, size) || !is_end_sane(z, size) || buffer == 0 ||
	    buffer % size != 0 || z->node.u < a->node.u || nodes % 8 != 0 ||
	    nodes >> 40 != 0)
		return false;
	if (nodes == 0 && z->cur.u < a->cur.u)
		return false;
	*out = nodes == 0 ? (z->cur.u - a->cur.u) / size
			  : (nodes / 8 - 1) * (buffer / size) +
				(z->cur.u - z->first.u) / size +
				(a->last.u - a->cur.u) / size;
	return true;
}

static void put_deque(struct shower *w, const struct ends *a, struct type value,
		      uint64_t size, uint64_t n)
{
	uint64_t at = a->cur.u, end = a->last.u, node = a->node.u, i = 0;
	uint64_t buffer = a->last.u - a->first.u;
	const char *why = NULL;
	struct type_facts f;
	struct word next;
	struct box_listing l;

	type_look(a->node.type, &f);
	prose_put(w->out, " = {");
	if (!box_listing_begin(&l, w, value)) {
		prose_put(w->out, "...}");
		return;
	}
	for (; i < n && why == NULL; i++) {
		if (at == end) { /* the next buffer */
			node += 8;
			if (!box_word_at(w, f.target, node, "", &next) ||
			    !next.is_known) {
				why = unknown_next;
				break;
			}
			at = next.u;
			end = at + buffer;
		}
		if (!box_listing_add(&l, at))
			break;
		at += size;
	}
	box_listing_end(&l, l.n == n, why);
	prose_put(w->out, "}");
}

enum outcome box_deque(const struct box *b, const char *name)
{
	static const char *const start[4] = {
	    "_M_impl._M_start._M_cur", "_M_impl._M_start._M_first",
	    "_M_impl._M_start._M_last", "_M_impl._M_start._M_node"};
	static const char *const finish[4] = {
	    "_M_impl._M_finish._M_cur", "_M_impl._M_finish._M_first",
	    "_M_impl._M_finish._M_last", "_M_impl._M_finish._M_node"};
	struct word n = {.is_known = true};
	struct type_facts f, of;
	struct ends a, z;

	if (!read_end(b, start, &a) || !read_end(b, finish, &z))
		return BOX_OTHER;
	type_look(a.cur.type, &f);
	type_look(f.target, &of);
	if (f.kind != TYPE_POINTER || of.size == 0)
		return BOX_OTHER;
	n.is_known = is_end_known(&a) && is_end_known(&z);
	if (n.is_known && !count_deque(&a, &z, of.size, &n.u))
		return BOX_DAMAGED;
	prose_put(b->w->out, "%s", name);
	box_put_length(b->w, &n);
	if (n.is_known && b->w->s->has_memory)
		put_deque(b->w, &a, f.target, of.size, n.u);
	return BOX_SHOWN;
}
