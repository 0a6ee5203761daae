/* profile/calls.h - stacks put together for a person: functions, and who calls
 * whom.
 *
 * Lines do not matter here: a function is a name in a module. Where a function
 * calls itself, the calls are one node, which knows how many they were: a
 * recursion of any depth is one line. Hosted. */
#ifndef PROFILE_CALLS_H
#define PROFILE_CALLS_H

#include "base/err.h"
#include "present/stacks.h"

/* Of weights: self is what ended there, total what passed through; once a
 * sample, however often the function is in it. */
struct calls_function {
	const char *name, *module; /* borrowed */
	const char *file;	   /* a line of it, or NULL */
	uint32_t line;
	bool is_unknown;
	uint64_t self, total;
};

/* Node 0 is the root, of no function. */
struct calls_node {
	uint32_t parent, function;
	uint64_t self, total;
	uint32_t least, most; /* how many calls of it in a row; 1 */
	bool is_guess;
	/* The nodes below it that weigh enough, the heaviest first: 0: none. */
	uint32_t first, next;
};

struct calls {
	struct calls_function *functions; /* owned */
	uint32_t *order;		  /* owned: of them, most self first */
	struct calls_node *nodes;	  /* owned */
	size_t n_functions, n_nodes;
	uint64_t total;
};

enum calls_view {
	CALLS_DOWN, /* who is called */
	CALLS_UP,   /* callers of each function that samples ended in */
};

/* Nodes lighter than share (of 0 to 1) of the total hang from no .first. */
int calls_init(struct calls *c, const struct stacks *s, enum calls_view view,
	       double share, struct hark_err *err);
void calls_fini(struct calls *c);

#endif
