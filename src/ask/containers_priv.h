/* ask/containers_priv.h - what the printers of containers share. */
#ifndef ASK_CONTAINERS_PRIV_H
#define ASK_CONTAINERS_PRIV_H

#include "ask/containers.h"

/* What a printer is given, and the steps from it to its fields. */
struct box {
	struct shower *w;
	struct type type;
	const struct type_facts *facts;
	const struct show_part *part;
};

enum outcome {
	BOX_OTHER, /* it is no such container: nothing was put */
	BOX_SHOWN,
	BOX_DAMAGED, /* nothing was put */
};

/* A word of a field; what is not known is not an error of the container. */
struct word {
	bool is_known;
	uint64_t u;
	struct type type;
};

/* The field at a path as "_M_impl._M_start", and where it is in its struct. */
bool box_field(struct type t, const char *path, struct type *out,
	       uint64_t *offset);
/* False: it has no such field, or one that is no integer and no pointer. */
bool box_word(const struct box *b, const char *path, struct word *out);
/* The same of a struct in memory. */
bool box_word_at(struct shower *w, struct type t, uint64_t addr,
		 const char *path, struct word *out);

/* " of length 3", " with 1 element"; what is not known is ??. */
void box_put_length(struct shower *w, const struct word *n);
void box_put_count(struct shower *w, const struct word *n);

/* What elements are listed in: "{1, 2, ?? <12 times>, ...}". */
struct box_listing {
	struct shower *w;
	struct type type;
	uint64_t size;	  /* of an element */
	uint64_t n;	  /* that came */
	uint64_t unknown; /* in a row, not yet put */
	uint8_t *room;	  /* owned */
	bool is_map;	  /* pairs are "[first] = second" */
};
/* False: there is no memory, or no element can be read. */
bool box_listing_begin(struct box_listing *l, struct shower *w,
		       struct type type);
/* False: that is enough. */
bool box_listing_add(struct box_listing *l, uint64_t addr);
/* How it ends: "..." if there are more, or why it ends early. */
void box_listing_end(struct box_listing *l, bool is_whole, const char *why);

/* containers_nodes.c: of separate pieces of memory */
enum outcome box_tree(const struct box *b, const char *name, bool is_map);
enum outcome box_hashed(const struct box *b, const char *name, bool is_map);
enum outcome box_list(const struct box *b, const char *name);
enum outcome box_forward_list(const struct box *b, const char *name);
enum outcome box_deque(const struct box *b, const char *name);

#endif
