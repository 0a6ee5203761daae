/* x86/relocate.h - one instruction, executed somewhere else.
 *
 * x86_relocate() writes code that, run at its new place, leaves exactly the
 * state that the instruction would have left at its own: registers, flags,
 * memory, pushed return addresses, and where control goes. What it cannot
 * keep exact it refuses, or names in .notes.
 *
 * A signal may arrive between two of the written instructions. struct
 * x86_moved says what the program's own state is at each of them, and
 * x86_moved_native() turns a register file caught there into the one that the
 * program would have shown.
 *
 * Pure: probes relocate inside the target, tests and listings in hark. */
#ifndef X86_RELOCATE_H
#define X86_RELOCATE_H

#include <stdint.h>

#include "x86/decode.h"
#include "x86/emit.h"

enum x86_move {
	X86_MOVE_OK,
	X86_MOVE_FULL, /* no room in out */
	X86_MOVE_FAR,  /* an operand does not reach: a cell or a place helps */
	X86_MOVE_CELL, /* the same, within reach: only a cell helps */
	X86_MOVE_REFUSED,
	/* From here on: not moved, wherever it should go. ORDER x86_move */
	X86_MOVE_INT3 = X86_MOVE_REFUSED,
	X86_MOVE_INT,
	X86_MOVE_UD,
	X86_MOVE_HLT,
	X86_MOVE_IRET,
	X86_MOVE_FARCALL, /* far call, jump, return */
	X86_MOVE_SYSENTER,
	X86_MOVE_ODD,
	X86_MOVE_VENDOR, /* Intel and AMD read it differently */
	X86_MOVE_MAX
};

/* One line for a person; never NULL. */
const char *x86_move_text(enum x86_move why);

/* What a caller may say beyond the default. */
struct x86_move_how {
	/* Where a direct transfer to target shall go; NULL: to target. */
	uint64_t (*route)(void *ctx, uint64_t target);
	void *ctx; /* borrowed */
	/* Eight bytes that belong to this thread alone and that no register
	 * addresses (gs:[disp], fs:[disp], [disp] or a fixed address), or
	 * NULL. With it, all that can be moved at all is moved exactly. */
	const struct x86_mem *cell; /* borrowed */
	/* Allow a load whose destination holds an address for a moment
	 * (X86_FIX_LOST): continuing is exact, a handler sees that value. */
	uint8_t may_lose;
};

/* How the program's state at a point is got from the machine's. */
enum x86_pc { /* which pc the program is at */
	      X86_PC_FROM,
	      X86_PC_NEXT,
	      X86_PC_TARGET,
};
enum x86_fix { /* what else must be put right */
	       X86_FIX_NONE,
	       X86_FIX_RSP,  /* rsp + 8 */
	       X86_FIX_REG,  /* .reg is in the cell */
	       X86_FIX_RCX,  /* rcx is .next */
	       X86_FIX_LOST, /* .reg is gone, but about to be written */
};
struct x86_point {
	uint8_t off; /* of one written instruction */
	uint8_t pc, fix, reg;
};

enum { /* notes */
       /* Until the last instruction, and in a restarted system call, rcx
	* holds the new place. */
       X86_MOVED_RCX = 1,
       /* The x87 unit remembers the new place (fnstenv, fxsave). */
       X86_MOVED_FIP = 2,
       /* Exact if the operand of the call lies apart from the eight bytes
	* that the call pushes. Never with a cell. */
       X86_MOVED_APART = 4,
};

enum { X86_MOVED_LEN = 64, X86_MOVED_POINTS = 6 }; /* more never comes */

struct x86_moved {
	uint64_t from, next; /* the instruction, and the one behind it */
	uint64_t target;     /* of a direct transfer, unrouted; else 0 */
	uint8_t len;	     /* bytes written, constants included */
	uint8_t falls;	     /* control may reach the end of them: .next */
	uint8_t rel32;	     /* offset of the rel32 to the target, or 0 */
	uint8_t notes;
	uint8_t n;
	struct x86_point point[X86_MOVED_POINTS];
};

/* Writes insn, decoded from code and standing at from, to out. how may be
 * NULL. On failure out is as it was, and *info too. */
enum x86_move x86_relocate(const uint8_t *code, const struct x86_insn *insn,
			   uint64_t from, const struct x86_move_how *how,
			   struct x86_buf *out, struct x86_moved *info);

/* The point of the instruction at offset; offset == len stands for the end of
 * code that falls through. NULL: no instruction starts there. */
const struct x86_point *x86_moved_point(const struct x86_moved *info,
					unsigned offset,
					struct x86_point *storage);

/* Turns registers caught with rip at offset into the program's own: gpr by
 * hardware number, and its pc. cell is what the cell holds (anything, where
 * none was given). 0, or -1 if no instruction starts there. */
int x86_moved_native(const struct x86_moved *info, unsigned offset,
		     uint64_t cell, uint64_t gpr[16], uint64_t *pc);

#endif
