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
/* The same line as text, cut to size bytes, without the blanks before it. */
int proc_status_text(pid_t pid, const char *key, char *out, size_t size);
/* Its state letter (R S D T t Z X ...), or 0 if there is no such thread. */
char proc_state(pid_t pid, pid_t tid);

/* Its id in the innermost pid namespace that it lives in, or 0. */
pid_t proc_inner_id(pid_t pid, pid_t tid);

/* Does it number processes as hark does? */
int proc_same_ids(pid_t pid);

/* The CPU that a thread last ran on, or -1. */
int proc_cpu(pid_t pid);
/* When a process began, in ticks since boot: with its number, that tells it
 * from all others. 0: there is none, or it has ended. */
uint64_t proc_began(pid_t pid);
/* Which pid namespace hark lives in: a number for it, or 0. */
uint64_t proc_space(void);
/* Is it one of the kernel's own? */
int proc_is_kernel(pid_t pid);

struct proc_map {
	uint64_t start, end;
	uint8_t executable, writable, shared;
	uint8_t stack; /* the first thread's */
	uint8_t readable;
	uint64_t offset, dev, ino;
	const char *name; /* borrowed, only while it is seen; "": none */
};
/* The first mapping of that name ("[vdso]", a path) from an address on; -1 if
 * there is none. */
int proc_mapping(pid_t pid, pid_t tid, const char *name, uint64_t from,
		 struct proc_map *out);
/* Every mapping, in ascending order; -1 if they cannot be read. */
int proc_mappings(pid_t pid, pid_t tid,
		  void (*see)(void *ctx, const struct proc_map *m), void *ctx);
/* Where a process has that file mapped shared, as its device and inode tell it;
 * 0: nowhere, or its mappings cannot be read. */
uint64_t proc_shares(pid_t pid, uint64_t dev, uint64_t ino);
/* A descriptor that is open on that name, or -1. */
int proc_descriptor(pid_t pid, pid_t tid, const char *name);

/* Thread ids of a process, the first one first as /proc lists them, into out
 * (at most max); returns how many there are, or -1. The kernel ends its list
 * where a thread ends while it is read: some may be missing. */
int proc_threads(pid_t pid, pid_t *out, int max);
/* How many there are, with the first if it has ended; -1: no such process. */
int proc_count(pid_t pid);
/* All processes that can be seen. Not 0 from visit ends it, and is returned;
 * -1: there is no list. */
int proc_each(int (*visit)(void *ctx, pid_t pid), void *ctx);
/* A thread of it that has not ended (the first may have, and the others go
 * on), or 0. */
pid_t proc_living(pid_t pid);

/* A number from a one-line file such as /proc/sys/...; -1 if unreadable. */
long proc_number(const char *path);

#endif
