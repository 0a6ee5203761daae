/* outside/told.h - whom does a process mean by the number that it tells?
 *
 * A process tells the number that it sees itself. One in a pid namespace of
 * its own (a container) tells one that here may be somebody else's: that of
 * init, as a rule. Hosted. */
#ifndef OUTSIDE_TOLD_H
#define OUTSIDE_TOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The one that hark knows, as hark numbers it, and when it began (proc_began);
 * all others come from it. */
struct told_first {
	pid_t pid;
	uint64_t began;
	int64_t missed_ns; /* when somebody was looked for in vain; or 0 */
};

/* hark's number of the process that calls itself `told`; 0: it is gone, or
 * cannot be told. One that waits for hark is looked for everywhere; others,
 * most of whom have ended, not again and again. */
pid_t told_process(struct told_first *first, pid_t told, bool waits);
/* The same of a thread of a process, which hark numbers pid. */
pid_t told_thread(pid_t pid, pid_t told);

#endif
