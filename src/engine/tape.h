/* engine/tape.h - what a recorded thread tells, and when.
 *
 * The engine calls these; the recorder (record/collect.c) defines them. All of
 * them are for threads whose vcpu.tape is not NULL, and run in the thread that
 * they are about, outside of the cache.
 *
 * Positions, records and what replay does with them: wire/record.h.
 *
 * E1  A thread that enters the cache has told all that changed its state
 *     otherwise than by its own instructions.
 * E2  A block whose code differs from what was ever told before, at any of
 *     its addresses, is entered only by threads whose epoch is not older: they
 *     compare vcpu.epoch with the block's. The dispatcher brings it up to
 *     date (tape_ready), for whoever is there is in no old block. */
#ifndef ENGINE_TAPE_H
#define ENGINE_TAPE_H

#include "engine/engine.h"
#include "wire/record.h"

/* The process is to be recorded: before its first thread is. 0, or an errno. */
int tape_start_process(struct engine *e);
/* The slot's thread is new: it will tell of its birth when it is first ready.
 * parent may be NULL. */
void tape_new_thread(struct vcpu *v, const struct vcpu *parent,
		     enum wire_start why);
/* The process is about to fork, under the engine's lock: what it records from
 * here on is not of the child. */
void tape_fork(struct vcpu *v);
/* This is the only thread of a new process: the child of a fork, for which
 * tape_fork was called, or not. */
void tape_forked(struct vcpu *v, int was_marked);

/* A load that was not foreseen, at site vcpu.exit_arg; registers are in the
 * vcpu. 0: goes on at .resume. 1: the memory is gone; at .pc again. */
int tape_miss(struct vcpu *v);

/* The locked instruction at site vcpu.exit_arg has met somebody, perhaps:
 * vcpu.seen is what its line said at vcpu.time. Goes on at .resume. */
void tape_locked(struct vcpu *v);

/* EXIT_RESULT, EXIT_STATE: the instruction at .pc was executed. .pc is then
 * behind it. */
void tape_result(struct vcpu *v);
void tape_state(struct vcpu *v);

/* The state of the thread, which was at pc, changes otherwise than by its own
 * instructions: from now until the thread is ready again, whatever happens is
 * one STATE. why: WIRE_STATE_*; info: a siginfo_t, or NULL. */
void tape_note(struct vcpu *v, unsigned why, uint64_t pc, const void *info);

/* The system call at .pc is about to be made. */
void tape_calling(struct vcpu *v);
/* The system call at .pc, number in rax, was answered; before .pc moves. */
void tape_call(struct vcpu *v, int64_t answer);

/* In the dispatcher, before anything else is done: writes what is pending, a
 * key frame if one is due. */
void tape_ready(struct vcpu *v);

/* The end of the thread; WIRE_END_*. info: the siginfo_t that ended it, or
 * NULL. fp: its extended registers as xsave stores them; NULL: they are in the
 * CPU. */
void tape_end(struct vcpu *v, unsigned why, const void *info, const void *fp,
	      uint32_t fp_len);

/* It left without a word: by execve, out of a memory that it shared. */
void tape_gone(struct vcpu *v);

/* A locked instruction has drawn a ticket, and faulted. */
void tape_unordered(struct vcpu *v);

/* The shadow of memory that the instruction at .pc stores to may be ahead of
 * it, for it has faulted: as it is, so shall replay have it. */
void tape_shadow(struct vcpu *v, uint64_t address, uint32_t len);

/* Code that is about to be executed: the caller holds the lock. What the epoch
 * of those who execute it must be at least; 0: any. *changed: it is not what
 * was told of it before. */
uint64_t tape_code(struct engine *e, uint64_t pc, const uint8_t *bytes,
		   unsigned len, int *changed);

/* A range of memory as the instruction at .pc is about to read it (fs: what is
 * added to the address in memory): what the shadow does not foresee is told,
 * and it is corrected. -1: it cannot be read. */
int tape_read(struct vcpu *v, uint64_t address, uint64_t fs, uint64_t len);

/* A file was mapped (fd: of it; the range is mapped), or memory unmapped. */
void tape_map(struct vcpu *v, uint64_t start, uint64_t len, uint64_t prot,
	      uint64_t flags, uint64_t fd, uint64_t offset);
void tape_unmap(struct vcpu *v, uint64_t start, uint64_t len);

#endif
