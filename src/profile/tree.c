/* profile/tree.c - a calling-context tree. */
#include "profile/tree.h"

#include "profile/grow_priv.h"

#include <stdlib.h>

int tree_init(struct tree *t)
{
	*t = (struct tree){0};
	if (GROW(t->nodes, t->room_nodes, 1) < 0)
		return -1;
	t->nodes[t->n_nodes++] = (struct tree_node){0};
	return 0;
}

void tree_fini(struct tree *t)
{
	keys_fini(&t->by_frame);
	keys_fini(&t->by_node);
	free(t->frames);
	free(t->nodes);
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

uint32_t tree_node(struct tree *t, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint32_t n = keys_find(&t->by_node, key);

	if (n != KEYS_NONE)
		return n;
	if (t->n_nodes >= TREE_NODES_MAX)
		return TREE_FULL;
	n = (uint32_t)t->n_nodes;
	if (GROW(t->nodes, t->room_nodes, t->n_nodes + 1) < 0 ||
	    keys_add(&t->by_node, key, n) < 0)
		return TREE_NONE;
	t->nodes[t->n_nodes++] = (struct tree_node){parent, frame};
	return n;
}
