/* lossless/machine.h - all that differs from machine to machine.
 *
 * machine_x86_64.c and machine_sparc64.c answer; the Makefile picks one. What
 * is marked (handler) runs with all signals blocked in the middle of anything,
 * and so calls nothing of libc, which may be full of probes itself. */
#ifndef LOSSLESS_MACHINE_H
#define LOSSLESS_MACHINE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "lossless/lossless.h"

extern const struct machine {
	int signal;	   /* that the trap word raises */
	unsigned trap_len; /* bytes that it takes */
	unsigned max_len;  /* of an instruction */
	unsigned slot_len; /* scratch that one instruction needs */
	/* How far scratch may be from the instruction, or 0: anywhere. */
	uint64_t reach;
} machine;

/* An original instruction. */
struct machine_insn {
	uint64_t at;
	uint8_t bytes[16];
	uint8_t len;
};

/* What arrived at the handler. */
struct machine_trap {
	siginfo_t *info;
	void *context;
	uint64_t *window; /* registers that the context does not hold */
};

/* -- Instructions, before they are probed ---------------------------------- */

/* The instruction at this address, of whose bytes so many are readable. NULL,
 * or what it is instead of an instruction. */
const char *machine_decode(const uint8_t *bytes, size_t readable, uint64_t at,
			   struct machine_insn *out);

/* NULL, or why it cannot be probed. */
const char *machine_refuses(const struct machine_insn *insn);

/* Does control leave [start, end) for good by it? next is the instruction
 * behind it, or NULL at the end. */
enum machine_leaves { MACHINE_STAYS, MACHINE_LEAVES, MACHINE_MAY_LEAVE };
enum machine_leaves machine_leaves(const struct machine_insn *insn,
				   const struct machine_insn *next,
				   uint64_t start, uint64_t end);

/* -- Text ------------------------------------------------------------------ */

/* Writes the trap over the instruction, or the instruction over the trap: one
 * store, which other threads see whole. 0 or an errno. */
int machine_write(const struct machine_insn *insn, int is_trap);
/* All that was written is seen by all. */
void machine_written(void);

/* -- A hit (handler) ------------------------------------------------------- */

/* What the kernel calls, and what it calls in its turn: lossless/hit.c. */
void machine_entry(int number, siginfo_t *info, void *context);
void lossless_hit(struct machine_trap *trap);

/* The address of the trap word, if it was one. */
uint64_t machine_trap_at(const struct machine_trap *trap);
/* Was it the trap word there, and not a signal that somebody sent? May put the
 * context right so that the word is met after the signal. */
int machine_is_trap(struct machine_trap *trap, const struct machine_insn *insn);
/* MACHINE_MAY_LEAVE: where it is going to. */
uint64_t machine_target(const struct machine_trap *trap,
			const struct machine_insn *insn);
/* Does to the context what it would have done. 0: it is to be executed in a
 * slot. */
int machine_emulate(struct machine_trap *trap, const struct machine_insn *insn);
/* Puts it into its slot, in a way that this thread's fetches see. */
void machine_load(const struct machine_insn *insn, void *slot);
/* Makes the context go on in the slot. */
void machine_resume(struct machine_trap *trap, const void *slot);
/* The signals that the interrupted program has blocked. */
uint64_t machine_mask(const struct machine_trap *trap);
/* What a context says; insn and slot are given if it was caught there. */
void machine_place(const void *context, struct lossless_place *out);
void machine_native(const void *context, const struct machine_insn *insn,
		    const void *slot, struct lossless_place *out);

/* From now on the signal has no handler. */
void machine_no_handler(void);

/* A system call: its result, or -errno. */
long machine_call(long number, long a, long b, long c, long d, long e, long f);

#endif
