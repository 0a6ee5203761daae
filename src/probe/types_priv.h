/* probe/types_priv.h - types of a program on their way into a script. */
#ifndef PROBE_TYPES_PRIV_H
#define PROBE_TYPES_PRIV_H

#include "image/types.h"
#include "probe/types.h"

enum { TYPES_ARGUMENTS = 64 }; /* of one function */

/* What a script may know of one parameter. */
struct types_argument {
	char *name;  /* owned; or NULL */
	bool hidden; /* no probe can read it */
	unsigned number;
	struct script_type type;
};

/* What a description stands for, found once. */
struct types_function {
	char *module, *function; /* owned: of the description */
	bool found;
	struct types_argument argument[TYPES_ARGUMENTS];
	unsigned n;
	bool returns; /* something */
	struct types_argument result;
	struct types_function *next; /* owned */
};

/* A type that scripts know by its address. */
struct types_kept {
	struct type type;
	struct types_kept *next; /* owned */
};

/* An answer that was given. */
struct types_name {
	char *name; /* owned */
	bool found;
	struct script_type type;
	struct types_name *next; /* owned */
};

struct types {
	struct modules *modules; /* borrowed */
	struct script_types face;
	struct types_kept *kept;	  /* owned */
	struct types_name *names;	  /* owned */
	struct types_function *functions; /* owned */
	char lacks[256];
};

/* Visits files with debug information, the program's first, until visit
 * returns not 0, which is returned. */
int types_each_file(struct types *t,
		    int (*visit)(void *ctx, const struct module *m), void *ctx);

/* As scripts see it; -1 if there is no memory. */
int types_convert(struct types *t, struct type type, struct script_type *out);

/* struct script_types.argument */
int types_argument(void *ctx, const char *const parts[4], const char *name,
		   unsigned *index, struct script_type *out);
void types_forget_functions(struct types *t);

#endif
