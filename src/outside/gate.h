/* outside/gate.h - system calls in a stopped thread of another process.
 *
 * The thread needs a `syscall` instruction to stand on. The vdso has unused
 * zero bytes behind its code: there hark puts a few instructions (in the
 * target's own copy of that page) and takes them away again; no byte of the
 * program, its libraries or its stack is written.
 *
 * G1  At every moment, if hark is killed, the thread goes on by itself: behind
 *     the system call the gate puts back the signal mask and the registers
 *     that a system call changes, and jumps to where the program was.
 * G2  So the frame is written before the registers point to the gate, and the
 *     mask is blocked after that and opened before they point away.
 * G3  While a gate is in use, its thread has all signals blocked. */
#ifndef OUTSIDE_GATE_H
#define OUTSIDE_GATE_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum { GATE_MAX = 256, GATE_PLACES = 5, GATE_ALL = GATE_PLACES * GATE_MAX };

struct gate {
	pid_t pid, tid;
	int mem; /* borrowed: /proc/PID/mem, for reading and writing */
	uint64_t at, vdso_end;
	struct user_regs_struct regs; /* a call starts from these */
	int in_place;
	int was_there; /* a hark that was killed has left one */
	int wire; /* 0: a call stops twice, at its entry and its end. Else a
		   * signal that is sent before it (tracee_to_mask), and stops
		   * the thread once, when it has opened its mask behind the
		   * call: half the time, but only for a program that has just
		   * begun and has no handlers */
};

/* Where the gate will be, as thread tid of the process says: the last place
 * (number 0), or one further up. Nothing is changed yet. The place stays good
 * as long as the process is held, so that leaving needs nothing that could
 * fail. */
int gate_find(struct gate *g, pid_t pid, pid_t tid, int mem, unsigned number,
	      struct hark_err *err);

/* Takes a gate away that a killed hark left and nobody needs. */
int gate_erase(const struct gate *g, struct hark_err *err);

/* The thread is at a PTRACE_EVENT_STOP. home: where it goes if hark dies
 * (rules_by_hand), with which mask. gate_close leaves the thread at a
 * PTRACE_EVENT_STOP again, its mask as home_mask says; its registers are then
 * the caller's to set. It takes a gate that is not open, and never fails
 * because the thread is gone. */
int gate_open(struct gate *g, pid_t tid, const struct user_regs_struct *home,
	      uint64_t home_mask, struct hark_err *err);
int gate_close(struct gate *g, uint64_t home_mask,
	       const struct user_regs_struct *registers, struct hark_err *err);

/* One system call; -1 if it could not be made, else 0 and the kernel's answer
 * (a negative errno is an answer). */
int gate_call(struct gate *g, int64_t *answer, struct hark_err *err, long nr,
	      uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
	      uint64_t f);

/* Writes text (at most 31 bytes) where the target can read it, and returns
 * its address there. */
int gate_text(struct gate *g, const char *text, uint64_t *address,
	      struct hark_err *err);

#endif
