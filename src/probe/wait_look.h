/* probe/wait_look.h - the stack of a thread that waits, from outside.
 *
 * The kernel tells where a thread entered it (/proc/PID/task/TID/syscall: rsp
 * and rip); its memory can be read. Neither stops it, nor does it notice. The
 * walk is src/unwind's; registers that callers need and nobody has saved, the
 * code tells (probe/above.h). Whether the thread has stayed where it was, who
 * calls must find out (probe/waits.h).
 *
 * Hosted. */
#ifndef PROBE_WAIT_LOOK_H
#define PROBE_WAIT_LOOK_H

#include "image/modules.h"
#include "probe/waits.h"

struct wait_look;

int wait_look_new(struct wait_look **out, struct hark_err *err);
void wait_look_free(struct wait_look *l);

/* Rules of what is mapped in a process, from now on. */
int wait_look_maps(struct wait_look *l, pid_t pid, struct modules *modules,
		   struct hark_err *err);
/* It has what another one has, which is known. */
int wait_look_like(struct wait_look *l, pid_t pid, pid_t other,
		   struct hark_err *err);

/* What only probes know of a thread in their code; both may be 0. */
struct wait_place {
	uint64_t plan;	/* the struct collect_plan in the process */
	uint64_t frame; /* the thread is in a hooked system call: the struct
			 * probe_frame in the process */
};

/* False: it does not wait, or cannot be looked at. */
bool wait_look_at(struct wait_look *l, pid_t pid, pid_t tid,
		  const struct wait_place *place, struct wait_stack *out);

#endif
