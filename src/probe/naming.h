/* probe/naming.h - addresses of a process as scripts show them.
 *
 *	libc.so.6`malloc+0x1c	PROBE_ADDRESS
 *	libc.so.6`malloc	PROBE_SYMBOL, PROBE_FUNCTION
 *	libc.so.6		PROBE_MODULE
 *
 * What came or went since is looked for while the process lives. Hosted. */
#ifndef PROBE_NAMING_H
#define PROBE_NAMING_H

#include "image/modules.h"
#include "wire/probe.h"

struct naming;

int naming_new(struct image *im, int pid, struct naming **out,
	       struct hark_err *err);
void naming_free(struct naming *n);

/* Asked for the module of an address where none is now; NULL: it does not know
 * either. */
void naming_remember(struct naming *n,
		     const struct module *(*past)(void *ctx, uint64_t addr),
		     void *ctx);

/* Are the modules of the process those that they were? */
bool naming_is_fresh(struct naming *n);

/* For struct show: ctx is the naming. */
void naming_name(void *ctx, enum probe_kind how, uint64_t addr, char *out,
		 size_t size);

#endif
