/* outside/attach.h - hold every thread of a running process, and let go.
 * Hosted. */
#ifndef OUTSIDE_ATTACH_H
#define OUTSIDE_ATTACH_H

#include "outside/door.h"

/* A door to running process pid with all its threads stopped. On failure
 * everything that was stopped goes on, and nothing is left to clean up. */
int attach_open(struct door *d, pid_t pid, struct hark_err *err);

/* Detaches every thread and frees the door (door_leave comes first). */
void attach_close(struct door *d);

/* Stops a thread that hark has seized, wherever it is, and lets it go as if it
 * had not been stopped. */
void attach_release(pid_t tid);

/* hark moves to the CPU that pid last ran on: a stop then costs a fifth of
 * what it costs across CPUs. Returns what attach_unpin needs. */
struct attach_pin {
	int pinned;
	unsigned long before[16]; /* a cpu_set_t */
};
struct attach_pin attach_pin(pid_t pid);
void attach_unpin(const struct attach_pin *p);

#endif
