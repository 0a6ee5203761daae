/* ask/functions.h - which functions are called so?
 *
 * As image/names.h says: "pop" is Queue<int>::pop and Stack::pop. A name that
 * is somewhere the whole one means that alone (with all its overloads), so
 * "open" is the C library's, not File::open; and what the program has means
 * nothing of its libraries. Places at which a function was inlined are found
 * by debug information. */
#ifndef ASK_FUNCTIONS_H
#define ASK_FUNCTIONS_H

#include "ask/space.h"

struct function_place {
	uint64_t addr; /* where it begins */
	char *name;    /* owned: as written, without parameters */
	bool is_inlined;
	const char
	    *caller; /* borrowed from the module, of an inlined one: into */
	const char *file; /* which function, and the line that calls it; or */
	uint32_t line;	  /* NULL, NULL, 0 */
};

struct functions {
	struct function_place *at; /* owned; by address */
	size_t n;
};

/* There may be none. */
int functions_find(struct space *s, const char *wish, struct functions *out,
		   struct hark_err *err);
/* The one that begins at an address, or might. */
int functions_at(uint64_t addr, const char *name, struct functions *out,
		 struct hark_err *err);
void functions_fini(struct functions *f);

#endif
