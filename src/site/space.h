/* site/space.h - which addresses of a process are free for probes? Hosted. */
#ifndef SITE_SPACE_H
#define SITE_SPACE_H

#include "site/room.h"
#include "wire/collect.h"

/* What hark has mapped there itself: ascending, apart; borrowed. */
struct space_own {
	const struct collect_range *range;
	size_t n;
};

/* Adds what no mapping of the process has, with some distance from what grows,
 * to an empty room; what is hark's own is taken. */
int space_of_pid(int pid, const struct space_own *own, struct room *r,
		 struct hark_err *err);
/* The same of the text of its /proc/PID/maps. */
int space_of_maps(const char *text, const struct space_own *own, struct room *r,
		  struct hark_err *err);

/* Code that the process may write to, ascending; the caller frees it. */
int space_writable(int pid, struct collect_range **out, size_t *n,
		   struct hark_err *err);

#endif
