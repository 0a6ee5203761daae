/* probe/draft.h - a script and a process, before anything is touched.
 *
 * Which modules the process has, the script compiled for it, the probes that
 * its clauses mean and the form of each: what `hark probe -l` shows, and what
 * a session begins with. Hosted. */
#ifndef PROBE_DRAFT_H
#define PROBE_DRAFT_H

#include "probe/compile.h"
#include "probe/naming.h"
#include "probe/types.h"
#include "probe/unbound.h"
#include "site/listing.h"
#include "site/match.h"

/* All owned. Empty is all zero. */
struct draft {
	struct modules *modules;
	struct types *types;
	struct script *script;
	const struct probe_program *program; /* the script's */
	struct unbound *unbound;
	struct listing *listing; /* made */
	struct match *match;
	struct naming *naming;
	/* The loader is watched (probe/late.h): probe .loader tells, of a list
	 * that is whole if the word there is 0. */
	bool watches, samples;
	size_t loader;
	uint64_t loader_state;
	char *missing; /* what is not there yet: lines; or NULL */
};

/* Of a process that does not change meanwhile, or will be compared again. To
 * be inserted it needs hooks, too. */
enum draft_use {
	DRAFT_LISTED,
	DRAFT_INSERTED, /* it needs hooks, too */
	DRAFT_FOLLOWED, /* the same; what nothing matches is no mistake */
};
/* target: who $target is; pid itself, or the one it descends from. */
int draft_init(struct draft *d, struct image *im, int pid, int target,
	       const struct compile *script, const struct options *options,
	       enum draft_use use, struct hark_err *err);
void draft_fini(struct draft *d);

/* Does a clause read memory that may not be there, or a sample? */
bool draft_reads(const struct draft *d);
/* Does one ask for errno? */
bool draft_wants_errno(const struct draft *d);

#endif
