/* outside/proc.h - what /proc tells of a process. Hosted. */
#ifndef OUTSIDE_PROC_H
#define OUTSIDE_PROC_H

#include <stdint.h>
#include <sys/types.h>

/* Opens /proc/PID/NAME (or /proc/PID/task/TID/NAME if tid is not 0); -1 and
 * errno if that fails. */
int proc_open(pid_t pid, pid_t tid, const char *name, int flags);

/* One line of /proc/PID/task/TID/status, as a number in the given base. */
int proc_status(pid_t pid, pid_t tid, const char *key, int base, uint64_t *out);
/* Its state letter (R S D T t Z X ...), or 0 if there is no such thread. */
char proc_state(pid_t pid, pid_t tid);

/* The CPU that a thread last ran on, or -1. */
int proc_cpu(pid_t pid);

/* The value of one auxv entry, or 0. */
uint64_t proc_auxv(pid_t pid, uint64_t type);

/* Bounds of the mapping that contains address; -1 if none does. */
int proc_mapping(pid_t pid, uint64_t address, uint64_t *start, uint64_t *end);

/* Thread ids of a process, ascending as /proc lists them, into out (at most
 * max); returns how many there are, or -1. */
int proc_threads(pid_t pid, pid_t *out, int max);

/* A number from a one-line file such as /proc/sys/...; -1 if unreadable. */
long proc_number(const char *path);

#endif
