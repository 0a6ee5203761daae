/* profile/show.h - a profile with names: what presenters take.
 *
 * Each address that a sample needs is looked up once, in the order of modules
 * and addresses: function, inlined calls, lines, by whatever symbols and debug
 * information are found here. A module's file is used only if it proves to be
 * the one that ran: by its build-id, or, if it has none, by the time it was
 * written. What has no name is "module+0x12", and a note says which modules
 * had none, and how many samples that concerns. Hosted. */
#ifndef PROFILE_SHOW_H
#define PROFILE_SHOW_H

#include "base/err.h"
#include "present/stacks.h"
#include "profile/reader.h"

/* Which samples. */
struct profile_choice {
	const char *thread; /* its id, or its name; NULL: all threads */
	uint64_t last;	    /* so many of the last ones; 0: all */
	uint64_t last_ns;   /* those of the last so much time; 0: all */
};

struct profile_stacks; /* opaque */

/* The profile must stay. HARK_ENOENT: there is no such thread. */
int profile_stacks(const struct profile *p, const struct profile_choice *c,
		   struct profile_stacks **out, struct hark_err *err);
const struct stacks *profile_stacks_get(const struct profile_stacks *s);
void profile_stacks_free(struct profile_stacks *s);

#endif
