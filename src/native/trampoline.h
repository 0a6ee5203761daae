/* native/trampoline.h - the code that a probe's jump leads to.
 *
 * For each instruction of the window in turn: if it is asked for, the handler
 * is called with the program's registers; then the instruction itself, moved.
 * At the end the program goes on behind the window. Whoever traps at an inner
 * instruction goes on at its .resume.
 *
 * The handler is a C function that uses general registers only:
 *
 *	void handler(struct probe_frame *frame, uint64_t cookie);
 *
 * A system call can be hooked: its own handler says with what it returns
 * whether the call is to be made (0). If it is not, that handler has made
 * .gpr and .pc of the frame what they are behind the call.
 *
 * A system call that is known to be exit can be replaced (.leaves): the thread
 * jumps to code that ends it, with the status in r8, too, and the address of
 * the instruction in r9. Nothing of the stack is touched then (unless that
 * instruction is probed as well), for it may have been unmapped.
 *
 * A probe that only counts (SLOT_COUNT of wire/collect.h) may do so by itself,
 * with three registers: it looks for its thread's area as collect_hit() does,
 * and adds 1 to .counted of its slot. Wherever anything is not as it should be
 * for that, the handler is called.
 *
 * A handler finds the stack aligned, and DF as the program has it: if it clears
 * that, it makes .how of the frame TRAMPOLINE_DOWN first, and sets it again. It
 * may change nothing of the program but memory that is not the program's: what
 * it writes into the frame is not taken over (but see above).
 *
 * T1  Nothing of the stack is written within 128 bytes below rsp (the red
 *     zone belongs to the program), nor above it.
 * T2  All registers and flags are as they were when the instruction starts.
 * T3  A signal can be told the program's own state anywhere in the code:
 *     trampoline_native().
 *
 * Pure. */
#ifndef NATIVE_TRAMPOLINE_H
#define NATIVE_TRAMPOLINE_H

#include "x86/relocate.h"

#include <stdint.h>

struct probe_frame {
	uint64_t gpr[16]; /* by hardware number */
	uint64_t pc;	  /* of the instruction that is asked for */
	uint64_t flags;	  /* lahf and seto */
	uint64_t how;	  /* enum trampoline_flags */
	uint64_t pad;
};

/* What is known of the direction flag. */
enum trampoline_flags {
	TRAMPOLINE_STATUS, /* it is clear, by the ABI */
	TRAMPOLINE_ALL,	   /* it may be set: the handler looks */
	TRAMPOLINE_DOWN,   /* it was set, and is clear: the handler says so */
};

enum { TRAMPOLINE_INSNS = 8 };

struct trampoline_want {
	const uint8_t *bytes; /* borrowed: of the window, as they were */
	uint64_t at;	      /* where it is, at run time */
	unsigned window, n;
	const uint8_t *off;		 /* borrowed: of each instruction */
	uint8_t flags[TRAMPOLINE_INSNS]; /* enum trampoline_flags of each */
	unsigned probed; /* bit k: the handler is called before it */
	unsigned taken;	 /* bit k: only if its condition holds (jcc) */
	unsigned hooked; /* bit k: a system call that .hook is asked about;
			  * one at most */
	unsigned leaves; /* bit k: of these, one that is exit */
	uint64_t handler;
	uint64_t cookie[TRAMPOLINE_INSNS];
	/* The slot of a probe that only counts, as an offset from a part; 0:
	 * the handler is called. The struct collect_table, and a uint32_t near
	 * to it: if that is not 0, the handler has something to do. */
	uint32_t slot[TRAMPOLINE_INSNS];
	uint64_t table, waiting;
	uint64_t hook, hook_cookie;
	uint64_t leave;			/* where it jumps to */
	const struct x86_move_how *how; /* borrowed; or NULL */
};

/* Offsets of one call of the handler; all 0 if there is none. */
struct trampoline_fire {
	uint64_t cookie;  /* that the handler gets */
	uint16_t start;	  /* rsp is the program's */
	uint16_t lowered; /* rsp is lower by TRAMPOLINE_LOWER */
	/* Of one that counts by itself: TRAMPOLINE_FEW are in the frame, and
	 * from .flagged on the flags, too. Else all 0. */
	uint16_t few;
	uint16_t self;	   /* reads fs:0; if that faults, it goes on at .slow */
	uint16_t counted;  /* it has */
	uint16_t back;	   /* flags and registers are */
	uint16_t leave;	   /* rsp too */
	uint16_t slow;	   /* it has not: the handler is called */
	uint16_t saved;	   /* all registers are in the frame */
	uint16_t flagged;  /* the flags too */
	uint16_t based;	   /* rbx holds the address of the frame */
	uint16_t called;   /* where the handler returns to */
	uint16_t unbased;  /* rsp does again */
	uint16_t restored; /* flags and registers are back */
	uint16_t end;	   /* rsp too */
};

enum { TRAMPOLINE_FEW = 1 << X86_RAX | 1 << X86_RCX | 1 << X86_RDX };
enum { TRAMPOLINE_LOWER = 128 + sizeof(struct probe_frame) };

struct trampoline {
	uint64_t at; /* of the window */
	uint16_t len;
	uint8_t n, window;
	uint8_t off[TRAMPOLINE_INSNS];
	uint16_t resume[TRAMPOLINE_INSNS]; /* where each starts */
	uint16_t moved_at[TRAMPOLINE_INSNS];
	struct trampoline_fire fire[TRAMPOLINE_INSNS];
	struct x86_moved moved[TRAMPOLINE_INSNS];
	struct trampoline_fire hook; /* .end == 0: none */
	uint16_t answered; /* where an answered call jumps over itself */
	uint8_t hooked;	   /* which one is */
};

/* Writes it to out, which says where it will be executed. */
enum x86_move trampoline_build(const struct trampoline_want *want,
			       struct x86_buf *out, struct trampoline *info);

/* What is known of a jump that only leads to a trampoline: a hop or a slot, of
 * len bytes, for an instruction at `at`. */
void trampoline_of_jump(uint64_t at, unsigned len, struct trampoline *info);

/* Registers caught with rip at offset become the program's own, RFLAGS too;
 * what was saved is read from the stack of the same process. 0, or -1 if no
 * instruction starts there. */
int trampoline_native(const struct trampoline *t, unsigned offset,
		      uint64_t gpr[16], uint64_t *flags, uint64_t *pc);

/* The program's flags in a handler; those that the frame has not, from now. */
uint64_t trampoline_flags(const struct probe_frame *frame, uint64_t now);

/* The same for a thread in a handler, from its frame. */
void trampoline_frame_native(const struct probe_frame *frame, uint64_t gpr[16],
			     uint64_t *flags, uint64_t *pc);

/* An instruction of it has faulted that may: where the thread goes on; 0: not
 * that one. */
unsigned trampoline_mended(const struct trampoline *t, unsigned offset);

/* Which instruction is about to fire there, its handler not having been called
 * yet; -1: none is. */
int trampoline_firing(const struct trampoline *t, unsigned offset);

/* Has the instruction at pc, which trampoline_native() told for offset, fired
 * but not been executed? In a handler: offset is where that returns to. */
int trampoline_fired(const struct trampoline *t, unsigned offset, uint64_t pc);

#endif
