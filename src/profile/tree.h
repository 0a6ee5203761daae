/* profile/tree.h - a calling-context tree: every stack that was seen, once.
 *
 * A frame is a module, an address in it as linked, and how that was found. A
 * node is a frame under a parent: so a whole stack, however deep, is the number
 * of the node where it ends. Node 0 is the root, which has no frame; a parent
 * has a smaller number than its children. Frames count from 0.
 *
 * Stacks whose outer end was not reached hang from a frame of their own
 * (TREE_BROKEN), which says why. Hosted. */
#ifndef PROFILE_TREE_H
#define PROFILE_TREE_H

#include "profile/keys.h"
#include "profile/tags.h"

#include <stddef.h>
#include <stdint.h>

enum {			/* flags of a frame */
       TREE_RETURN = 1, /* the address is behind a call */
       TREE_HOW = 6,	/* two bits: ORDER unwind_how */
       TREE_HOW_SHIFT = 1,
       TREE_BROKEN = 8, /* no frame: the address is why. ORDER unwind_end */
       TREE_FLAGS = 15, /* all */
};

struct tree_frame {
	uint64_t address;
	uint32_t module; /* 0: none */
	uint32_t flags;
};

struct tree_node {
	uint32_t parent, frame;
};

enum { /* Of one file; readers refuse more before they allocate. */
       TREE_FRAMES_MAX = 1 << 24,
       TREE_NODES_MAX = 1 << 26,
};

/* Empty if zeroed: then not even the root is there. */
struct tree {
	struct tree_frame *frames; /* owned */
	struct tree_node *nodes;   /* owned */
	uint32_t *first; /* owned: of a node, the first one below it; or 0 */
	size_t n_frames, n_nodes, room_frames, room_nodes, room_first;
	struct keys by_frame;
	struct tags by_node; /* all others */
};
int tree_init(struct tree *t);
void tree_fini(struct tree *t);

enum { TREE_NONE = UINT32_MAX, TREE_FULL = UINT32_MAX - 1 };

/* Its number, new or not; TREE_NONE: no memory; TREE_FULL. */
uint32_t tree_frame(struct tree *t, const struct tree_frame *f);
uint32_t tree_node(struct tree *t, uint32_t parent, uint32_t frame);

#endif
