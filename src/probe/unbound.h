/* probe/unbound.h - clauses that belong to no instruction: BEGIN, END, ERROR,
 * tick-N, profile-N.
 *
 * hark itself runs them, but for profile-N, which threads run when their clock
 * interrupts them. Each distinct one is a site, in the order in which the
 * script has them; a tick that hark was too busy for is not made up for.
 * Hosted, no I/O. */
#ifndef PROBE_UNBOUND_H
#define PROBE_UNBOUND_H

#include "base/err.h"
#include "wire/probe.h"

#include <stdbool.h>
#include <stddef.h>

struct unbound;

/* The program is borrowed. */
int unbound_new(const struct probe_program *p, struct unbound **out,
		struct hark_err *err);
void unbound_free(struct unbound *u);

/* Provider, module, function, name of each site. */
const char *const (*unbound_texts(const struct unbound *u))[4];
size_t unbound_count(const struct unbound *u);
/* Of a tick-N or profile-N: ns from one time to the next. 0: it is none. */
uint64_t unbound_every(const struct unbound *u, size_t site);
/* Of a profile-N: ns of CPU time from one time to the next. 0: it is none. */
uint64_t unbound_period(const struct unbound *u, size_t site);
/* The shortest; 0: there is none. */
uint64_t unbound_shortest(const struct unbound *u);
/* Its clauses, in the script's order: at most max numbers go to out; how many
 * there are. */
size_t unbound_clauses(const struct unbound *u, size_t site, uint32_t *out,
		       size_t max);

/* goes_on: it is not the first clause of this hit. Not 0 ends the tour, and is
 * returned. */
typedef int unbound_run(void *ctx, uint32_t site, uint32_t clause,
			bool goes_on);

/* Runs the clauses of all BEGIN, END or ERROR sites, in the script's order. */
int unbound_each(const struct unbound *u, enum probe_when when,
		 unbound_run *run, void *ctx);
bool unbound_has(const struct unbound *u, enum probe_when when);

/* Ticks are counted from now on; those that are due run; when is the next?
 * INT64_MAX if there are none. */
void unbound_start(struct unbound *u, int64_t now_ns);
int unbound_due(struct unbound *u, int64_t now_ns, unbound_run *run, void *ctx);
int64_t unbound_next(const struct unbound *u);

#endif
