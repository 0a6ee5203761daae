/* tests/x86/machine.h - runs a few instructions from a given machine state,
 * and says what state they left.
 *
 * The state goes in and comes out through signal frames, so there is no code
 * of ours between it and the instructions: whatever ends them (int3, a fault)
 * delivers everything, vector registers included.
 *
 * One process, one thread: the tests own their address space. */
#ifndef TESTS_X86_MACHINE_H
#define TESTS_X86_MACHINE_H

#include <stdint.h>

enum { XSTATE_MAX = 8192 };

struct machine {
	uint64_t gpr[16]; /* by hardware number */
	uint64_t flags;
	uint64_t pc;	/* of an int3: its own address, not the one behind */
	int sig;	/* what ended the run */
	uint64_t fault; /* si_addr of SIGSEGV and SIGBUS */
	uint8_t x[XSTATE_MAX]; /* xsave area, standard format */
};

/* Flags that a run takes in and that are compared. */
enum { MACHINE_FLAGS = 0xcd5 };

/* Installs the handlers; once, before all else. */
void machine_init(void);

/* Bytes of .x in use. */
unsigned machine_xlen(void);

/* Fills in->x: random vector and mask registers, control words as at start. */
void machine_random_x(struct machine *in, uint64_t (*next)(void));

/* Runs from in until a signal, which must come: put int3 wherever control
 * may go. step, if not NULL, sees the state after each instruction, .x left
 * out, while the processor single-steps. */
void machine_run(const struct machine *in, struct machine *out,
		 void (*step)(void *ctx, const struct machine *now), void *ctx);

/* NULL if equal, else the name of the first thing that differs. Signals and
 * fault addresses count, .pc does not. */
const char *machine_differs(const struct machine *a, const struct machine *b);

#endif
