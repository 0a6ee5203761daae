/* probe/stack_tables.h - the call-frame rules of a process's modules, for the
 * plan of its probes.
 *
 * A module's table is put into the plan once, when the module is first seen,
 * and used there for good: a process whose libraries come and go gets a new
 * list each time, and new tables for new files only. Hosted. */
#ifndef PROBE_STACK_TABLES_H
#define PROBE_STACK_TABLES_H

#include "image/modules.h"
#include "wire/collect.h"

struct stack_tables;

/* Where tables go. */
struct stack_store {
	/* Room for len bytes, which the caller fills in before it takes more;
	 * *offset, a multiple of 8 and not 0, is where in the plan it is. NULL
	 * with the reason. */
	void *(*take)(void *ctx, size_t len, uint64_t *offset,
		      struct hark_err *err);
	void *ctx; /* borrowed */
};

int stack_tables_new(const struct stack_store *store, struct stack_tables **out,
		     struct hark_err *err);
void stack_tables_free(struct stack_tables *s);

/* All code of the modules as they are now, by ascending address; .table is 0
 * where there are no rules (or none that can be read). The list belongs to s
 * until the next call. */
int stack_tables_list(struct stack_tables *s, struct modules *modules,
		      const struct collect_frames **out, size_t *n,
		      struct hark_err *err);

#endif
