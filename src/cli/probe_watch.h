/* cli/probe_watch.h - hark beside a program with probes in it: until it ends.
 */
#ifndef CLI_PROBE_WATCH_H
#define CLI_PROBE_WATCH_H

#include "probe/session.h"

#include <sys/resource.h>

/* For struct session_plan. */
void probe_tell(void *ctx, bool is_error, const char *text);

/* Until the program ends, the script does, or somebody says so. A program that
 * hark has started gets the signals that hark gets, but SIGINT from others
 * than the terminal: that is for hark. */
int probe_watch(struct session *s, bool is_child, enum session_status *why,
		struct hark_err *err);

/* The wait status of hark's child, which nothing is attached to, and what it
 * has used (if not NULL). */
int probe_wait_child(pid_t pid, struct rusage *used);

#endif
