/* profile/tree.c - a calling-context tree. */
#include "profile/tree.h"

#include "profile/grow_priv.h"

#include <stdlib.h>

static int grow_nodes(struct tree *t)
{
	return GROW(t->nodes, t->room_nodes, t->n_nodes + 1) < 0 ||
		       GROW(t->first, t->room_first, t->n_nodes + 1) < 0
		   ? -1
		   : 0;
}

int tree_init(struct tree *t)
{
	*t = (struct tree){0};
	if (grow_nodes(t) < 0)
		return -1;
	t->first[0] = 0;
	t->nodes[t->n_nodes++] = (struct tree_node){0};
	return 0;
}

void tree_fini(struct tree *t)
{
	keys_fini(&t->by_frame);
	tags_fini(&t->by_node);
	free(t->frames);
	free(t->nodes);
	free(t->first);
	*t = (struct tree){0};
}

/* Good enough: frames are compared, too. */
static uint64_t key_of(const struct tree_frame *f)
{
	return f->address ^ (uint64_t)f->module << 40 ^
	       (uint64_t)f->flags << 60;
}

static bool is_same(const struct tree_frame *a, const struct tree_frame *b)
{
	return a->address == b->address && a->module == b->module &&
	       a->flags == b->flags;
}

uint32_t tree_frame(struct tree *t, const struct tree_frame *f)
{
	uint64_t key = key_of(f);
	size_t at = t->n_frames == 0 ? 0 : keys_first(&t->by_frame, key);
	uint32_t n;

	while ((n = keys_next(&t->by_frame, key, &at)) != KEYS_NONE)
		if (is_same(&t->frames[n], f))
			return n;
	if (t->n_frames >= TREE_FRAMES_MAX)
		return TREE_FULL;
	n = (uint32_t)t->n_frames;
	if (GROW(t->frames, t->room_frames, t->n_frames + 1) < 0 ||
	    keys_add(&t->by_frame, key, n) < 0)
		return TREE_NONE;
	t->frames[t->n_frames++] = *f;
	return n;
}

/* Most nodes are the only one below their parent, which is at hand: those are
 * known by it, and only others by their tag. */
uint32_t tree_node(struct tree *t, uint32_t parent, uint32_t frame)
{
	const uint32_t tag = tags_of((uint64_t)parent << 32 | frame);
	size_t at = tag;
	uint32_t n = t->first[parent];

	if (n != 0 && t->nodes[n].frame == frame)
		return n;
	while (n != 0 && (n = tags_next(&t->by_node, tag, &at)) != TAGS_NONE)
		if (t->nodes[n].parent == parent && t->nodes[n].frame == frame)
			return n;
	if (t->n_nodes >= TREE_NODES_MAX)
		return TREE_FULL;
	n = (uint32_t)t->n_nodes;
	if (grow_nodes(t) < 0 ||
	    (t->first[parent] != 0 && tags_add(&t->by_node, tag, n) < 0))
		return TREE_NONE;
	if (t->first[parent] == 0)
		t->first[parent] = n;
	t->first[n] = 0;
	t->nodes[t->n_nodes++] = (struct tree_node){parent, frame};
	return n;
}
