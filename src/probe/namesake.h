/* probe/namesake.h - addresses that are shown by one name.
 *
 * @[ufunc(arg1)] asks for functions, but its keys are addresses. All that have
 * one name are one key, so that there is one row for each function, and trunc()
 * keeps functions. What an address was called when it was first seen it is
 * called for good.
 *
 * Hosted. */
#ifndef PROBE_NAMESAKE_H
#define PROBE_NAMESAKE_H

#include "base/err.h"
#include "wire/probe.h"

#include <stddef.h>

struct namesake;

/* As struct show has it. */
typedef void namesake_name(void *ctx, enum probe_kind how, uint64_t addr,
			   char *out, size_t size);

int namesake_new(namesake_name *name, void *ctx, struct namesake **out,
		 struct hark_err *err);
void namesake_free(struct namesake *n);

/* The address of that name that was seen first: *addr itself, or another. */
int namesake_find(struct namesake *n, enum probe_kind how, uint64_t *addr,
		  struct hark_err *err);

#endif
