/* record/sandbox.h - a process that only computes from here on.
 *
 * Replay never makes a system call for the program that it replays. Should a
 * hostile recording find a way around that, it finds nothing to call: what is
 * left is reading and writing what is open, and memory. Hosted. */
#ifndef RECORD_SANDBOX_H
#define RECORD_SANDBOX_H

/* Replaying one thread takes a shadow and a map of 4 GiB of address space each,
 * and the code of a process 1 GiB at most. */
enum { SANDBOX_GIGABYTES = 16 };

/* For this process, for good: no new privileges, no core file, no new files, so
 * much more address space, a day of CPU time; nothing can be opened (EACCES),
 * and every other system call kills it (SIGSYS). Where the kernel has no
 * seccomp the limits still hold. Never fails. */
void sandbox_enter(unsigned gigabytes);

/* Before that: closes all files but these n, in ascending order; -1 among them
 * is none. */
void sandbox_close_files(const int *keep, unsigned n);

/* And it takes no signal but those of its own faults, whatever handlers the
 * program has that it was forked from. */
void sandbox_deafen(void);

#endif
