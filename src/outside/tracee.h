/* outside/tracee.h - one thread under ptrace: stop it, look, let it go.
 *
 * Every wait has an end: a thread that does not stop in time is an error
 * (HARK_ETIME), one that ended is HARK_EGONE. Hosted; ptrace ties all calls
 * for one thread to the hark thread that seized it. */
#ifndef OUTSIDE_TRACEE_H
#define OUTSIDE_TRACEE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

int64_t tracee_now_ns(void);

/* PTRACE_SEIZE (unless it is seized already) and PTRACE_INTERRUPT. Seizing
 * waits for an execve of the process, and that for threads that were seized
 * before to be waited for: it fails with EAGAIN where it takes too long, and
 * where the thread has executed something and has another number now, under
 * which it may be seized. 0, or an errno. */
int tracee_seize(pid_t tid, long options);

/* Does the user want hark to end? Looked at by whatever waits for a target for
 * more than a second, which then gives up: a target must not be able to keep
 * hark. NULL: nothing is looked at, for what must be done to its end. */
void tracee_watch_end(bool (*wants_end)(void));
bool tracee_gives_up(int64_t since_ns);

/* Waits until tid reports; its wait status goes to out. */
int tracee_wait(pid_t tid, int64_t deadline_ns, int *out, struct hark_err *err);

/* Is this status the stop that PTRACE_INTERRUPT asks for? A group stop (the
 * thread is halted by SIGSTOP and the like) is one too. */
int tracee_is_event_stop(int status);
/* A group stop alone: SIGSTOP and the like hold it. */
int tracee_is_group_stop(int status);
int tracee_is_syscall_stop(int status);
/* The event of a PTRACE_EVENT_* stop, or 0. */
int tracee_event(int status);

/* Is it at a stop that has been reported? Of one that may have executed another
 * program since, this is the same as: it is the same, and where it was. */
int tracee_is_held(pid_t tid);

/* PTRACE_INTERRUPT and wait for its stop; signals on their way meanwhile are
 * delivered. Here and below, a thread that has executed another program is
 * gone (HARK_EGONE), and stays at that event. */
int tracee_stop(pid_t tid, int64_t deadline_ns, struct hark_err *err);
/* Has the stop come that PTRACE_INTERRUPT asked for? 1, 0, or -1: gone. It may
 * be another program's: that event is passed over. */
int tracee_stopped(pid_t tid, struct hark_err *err);
/* Between two looks: yields at first, then sleeps. */
void tracee_pause(int round);

/* Bring a stopped thread from wherever it is (a system call stop, say) to a
 * PTRACE_EVENT_STOP without letting it run an instruction of its own; one that
 * runs after all is stopped where it is. */
int tracee_settle(pid_t tid, int64_t deadline_ns, struct hark_err *err);

/* From a stop on to the next system call stop, for a thread whose signals are
 * all blocked. SIGSTOP cannot be: it is delivered, so that the kernel and all
 * who ask it know that the process is stopped, and the thread goes on all the
 * same; when it is let go, it stops, unless SIGCONT has come meanwhile. */
int tracee_to_call(pid_t tid, int64_t deadline_ns, struct hark_err *err);

/* Lets a thread run until it can be told a signal that hark sends it: with all
 * signals blocked, that is when it opens its mask. The signal is one that does
 * nothing if nobody looks (tracee_wire), and is never delivered. */
int tracee_to_mask(pid_t pid, pid_t tid, int wire, int64_t deadline_ns,
		   struct hark_err *err);
/* A signal for that which the mask does not block; 0: it blocks them all. */
int tracee_wire(uint64_t mask);

int tracee_get_regs(pid_t tid, struct user_regs_struct *out,
		    struct hark_err *err);
int tracee_set_regs(pid_t tid, const struct user_regs_struct *regs,
		    struct hark_err *err);
/* rax alone. Does nothing to a thread that has just executed another program:
 * the kernel sets it there before that begins. */
int tracee_set_rax(pid_t tid, uint64_t rax, struct hark_err *err);
int tracee_get_mask(pid_t tid, uint64_t *out, struct hark_err *err);
int tracee_set_mask(pid_t tid, uint64_t mask, struct hark_err *err);

#endif
