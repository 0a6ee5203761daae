/* probe/space.h - which addresses of a process are free for probes? Hosted. */
#ifndef PROBE_SPACE_H
#define PROBE_SPACE_H

#include "probe/room.h"

/* Adds what no mapping of the process has, with some distance from what grows,
 * to an empty room. */
int space_of_pid(int pid, struct room *r, struct hark_err *err);
/* The same of the text of its /proc/PID/maps. */
int space_of_maps(const char *text, struct room *r, struct hark_err *err);

#endif
