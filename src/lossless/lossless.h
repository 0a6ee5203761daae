/* lossless/lossless.h - probes in the program itself, none of whose hits is
 * lost, on machines with a delay slot and on others.
 *
 * A probe is a trap word in the place of an instruction. The thread that
 * meets it executes the original in a scratch space of its own, so the trap
 * never has to go away, and no other thread can slip through. Threads are
 * neither stopped nor made to wait. docs/lossless.md tells how, and for which
 * instructions.
 *
 *	int probe = lossless_entry(work, &err);
 *	lossless_on(probe, &err);
 *	...
 *	printf("%" PRIu64 "\n", lossless_count(probe));
 *
 * Limits:
 * - The trap is a signal (SIGILL on sparc64, SIGTRAP on x86-64). A thread that
 *   meets a probe while it blocks that signal is killed by the kernel; so
 *   code that runs with all signals blocked (parts of pthread_create, handlers
 *   with a full mask) cannot be probed.
 * - The handler needs room for a signal frame on the thread's stack.
 * - The handler stays for the life of the process, whatever is switched off: a
 *   thread may be on its way to it. A program that wants the signal for itself
 *   calls lossless_action() in the place of sigaction().
 * - A system call that is probed, interrupted and restarted by the kernel is
 *   counted again on a sparc64 kernel, which restarts it at its own address.
 * - Memory of a thread that has ended is kept, for its counts.
 *
 * All functions may be called by any thread, but not by signal handlers,
 * apart from those that say so. */
#ifndef LOSSLESS_LOSSLESS_H
#define LOSSLESS_LOSSLESS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Room for so many probes, at so many addresses altogether; once, before all
 * else. A second time it is refused. 0 or -1. */
int lossless_open(unsigned max_probes, unsigned max_sites,
		  struct hark_err *err);

/* A new probe, switched off: its number, or -1 and why not. Several probes may
 * be at one address. What has no instruction that can be moved is refused
 * here, never later. */
int lossless_entry(const void *function, struct hark_err *err);
/* At the instruction so many bytes into a function of len bytes. */
int lossless_offset(const void *function, size_t len, size_t offset,
		    struct hark_err *err);
/* Wherever control leaves the function for good: returns, and jumps to outside
 * of it (tail calls), if they are taken. A jump to itself stays. */
int lossless_return(const void *function, size_t len, struct hark_err *err);

/* 0 or -1. Switching on what is on, or off what is off, changes nothing. */
int lossless_on(int probe, struct hark_err *err);
int lossless_off(int probe, struct hark_err *err);

/* Hits while it was on, of all threads or of one. These may be called by
 * signal handlers. A forked child begins with the counts of its parent. */
uint64_t lossless_count(int probe);
uint64_t lossless_thread_count(int probe, unsigned thread);

/* Threads that have met a probe are numbered from 0 on, as they do so first.
 * How many there are, and which of them the caller is, or -1. */
unsigned lossless_threads(void);
int lossless_self(void);

/* Where the program is, given what a handler of its own got as its third
 * argument in this thread: the address is never one in scratch. 1 if it was
 * caught there, else 0. The context itself stays, so that returning from the
 * handler neither repeats nor loses anything. For signal handlers. */
struct lossless_place {
	uint64_t pc;
	uint64_t npc; /* 0 on machines without */
	uint64_t sp;
};
int lossless_native(const void *context, struct lossless_place *out);

/* As sigaction() for the signal that traps raise: who gets the traps that are
 * not probes. Before the first call it is whoever had the signal when
 * lossless_open() was called. While that handler runs the signal itself is
 * not blocked, so that it may meet probes. */
int lossless_action(const struct sigaction *action, struct sigaction *old,
		    struct hark_err *err);
int lossless_signal(void);

#endif
