/* probe/clock.h - how the processor's counter becomes nanoseconds.
 *
 * A probe's time-stamp is one rdtsc and a multiplication. hark finds the
 * factor by looking at both clocks twice, some milliseconds apart. Where the
 * kernel itself does not trust the counter, the kernel is asked for the time.
 * Hosted. */
#ifndef PROBE_CLOCK_H
#define PROBE_CLOCK_H

#include "wire/collect.h"

/* One look at both. */
struct clock_look {
	uint64_t tsc, ns;
};
void clock_look(struct clock_look *out);

/* From a look that was taken before and one that is taken now; waits until
 * they are far enough apart. */
void clock_calibrate(const struct clock_look *first, struct collect_clock *out);

#endif
