/* outside/mend.h - a program that mends itself if hark is killed.
 *
 * A program that is held (outside/hold.h) has an int3 or two in it. If hark is
 * killed then, it would meet one and die. So it gets a handler of SIGTRAP
 * first, in the unused end of its vdso: with a hark nobody ever calls it, for
 * the signal stops the program before; without one it puts the bytes back that
 * were there, takes itself away and lets the program begin.
 *
 * N1  It is there before the first int3, and until the last one is gone.
 * N2  A trap that is not of those is delivered as if it were not there.
 *
 * A program that is executed with SIGTRAP blocked cannot be helped. Hosted. */
#ifndef OUTSIDE_MEND_H
#define OUTSIDE_MEND_H

#include "base/err.h"
#include "outside/gate.h"

enum { MEND_PLACES = 2 };

/* ORDER mend_place: as blob.S lays it out. */
struct mend_place {
	uint64_t at;  /* 0: none */
	uint8_t byte; /* what was there */
	uint8_t prot; /* of its page: mend_begin finds out */
	uint8_t unused[6];
};

struct mend {
	struct gate gate;
	int mem; /* of its own; < 0: it is not there */
	uint64_t at;
};

/* The program has just been executed: one thread, at a ptrace stop, which is a
 * PTRACE_EVENT_STOP afterwards. If it cannot be, the program goes without. */
void mend_begin(struct mend *m, pid_t pid,
		const struct mend_place places[MEND_PLACES]);
/* The program is at a PTRACE_EVENT_STOP, and has no int3 in it any more. */
int mend_end(struct mend *m, struct hark_err *err);

#endif
