/* outside/enter.h - the engine into a program.
 *
 * It has just been executed, and is held at the end of execve, before its first
 * instruction; or it runs already, and all its threads are held wherever they
 * are. It gets image and channel, learns which of its memory may be executed,
 * and goes in; hark lets go of it there and keeps its end of the channel.
 * Hosted. */
#ifndef OUTSIDE_ENTER_H
#define OUTSIDE_ENTER_H

#include "base/err.h"
#include "outside/peer.h"
#include "outside/recorder.h"

#include <sys/types.h>

/* Can the engine run on this machine at all? */
int enter_possible(struct hark_err *err);

struct enter_how {
	uint32_t flags;		   /* WIRE_RUN_* */
	int deaf;		   /* nobody will answer its asks */
	int alone;		   /* the answer is always: alone */
	struct recorder *recorder; /* borrowed; NULL: nothing is recorded */
};

/* hark's ends of it. */
struct entered {
	struct peer *peer;
	struct recorder_source *source; /* the recorder's; NULL: none */
};

/* On success the program runs and is not attached any more. On failure it is
 * held, and as if nothing had happened. */
int enter_program(pid_t pid, const struct enter_how *how, struct entered *out,
		  struct hark_err *err);

/* The same for a process that runs. If it runs in the engine of a hark that was
 * killed, it leaves that first. On failure it runs on as if nothing had
 * happened. */
int enter_process(pid_t pid, const struct enter_how *how, struct entered *out,
		  struct hark_err *err);

#endif
