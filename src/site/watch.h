/* site/watch.h - may a description mean a library that is not there yet?
 *
 * One whose module is a pattern, or any, or a library's file name (with .so in
 * it) that none of those there has; or the name of one that is there and may
 * go. Only for such is the loader watched (probe/late.h). Hosted. */
#ifndef SITE_WATCH_H
#define SITE_WATCH_H

#include "site/names.h"
#include "wire/probe.h"

/* Does any description of the script? */
bool watch_wanted(const struct probe_program *p, int pid,
		  const struct modules *modules);
/* It names nothing now: may it be for that reason? A name of a function that is
 * sought in all modules is more likely a mistake. */
bool watch_forgives(const struct description *d, const struct modules *modules);

#endif
