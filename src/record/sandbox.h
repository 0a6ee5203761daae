/* record/sandbox.h - a process that only computes from here on.
 *
 * Replay never makes a system call for the program that it replays. Should a
 * hostile recording find a way around that, it finds nothing to call: what is
 * left is reading and writing what is open, and memory. Hosted. */
#ifndef RECORD_SANDBOX_H
#define RECORD_SANDBOX_H

/* For this process, for good: no new privileges, no core file, no new files,
 * bounded memory; every other system call kills it (SIGSYS). Where the kernel
 * has no seccomp the limits still hold. Never fails. */
void sandbox_enter(void);

#endif
