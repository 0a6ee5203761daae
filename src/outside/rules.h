/* outside/rules.h - what a stopped thread's registers mean, and how to give
 * them back so that the program cannot tell it was stopped.
 *
 * A thread that ptrace stops inside a system call shows an internal code in
 * rax (-512 ... -516) beside the call's number in orig_rax. There are two ways
 * on from there:
 *
 * R1  By the kernel. At a PTRACE_EVENT_STOP give back the registers as they
 *     were seen, orig_rax included: the kernel itself restarts the call, or
 *     ends it with EINTR if a handler is due, with the deadline it remembers.
 *     This is the way home whenever hark is alive (rules_kernel).
 * R2  By hand. A thread that goes home without hark finds its registers
 *     rewound to the system call instruction (rules_by_hand). A signal that
 *     came meanwhile runs before the call instead of ending it; no more can
 *     be done without the kernel's help.
 * R3  Some calls answer a mere stop with a plain EINTR (epoll_wait, sockets
 *     with a time limit, ...). Seen at the stop, that EINTR becomes
 *     ERESTARTNOHAND: restart unless a handler is due. A relative time limit
 *     then begins anew.
 * R4  A thread in a restartable sequence (rseq) that has run something else
 *     meanwhile has lost its atomicity: it goes on at its abort handler, as
 *     after a preemption (rules_rseq).
 *
 * Pure functions over registers, so that they can be tested without ptrace.
 * Hosted only for struct user_regs_struct. */
#ifndef OUTSIDE_RULES_H
#define OUTSIDE_RULES_H

#include <stdint.h>
#include <sys/user.h>

enum {
	RULES_ERESTARTSYS = 512,
	RULES_ERESTARTNOINTR = 513,
	RULES_ERESTARTNOHAND = 514,
	RULES_ERESTART_RESTARTBLOCK = 516,
};

/* Stopped in a system call that is to be restarted (or ended by a handler)? */
int rules_in_call(const struct user_regs_struct *r);

/* R1 and R3: registers as seen at the stop, to be given back at one. 1 if they
 * had to be changed: set them at once, so that even a hark that dies now leaves
 * no EINTR behind. */
int rules_kernel(struct user_regs_struct *r);

/* R2: registers from which the thread resumes with nobody's help. */
void rules_by_hand(struct user_regs_struct *r);

/* struct rseq_cs of the kernel. */
struct rules_rseq_cs {
	uint32_t version, flags;
	uint64_t start, len, abort;
};
/* R4: 1 if rip was inside and now points to the abort handler. */
int rules_rseq(struct user_regs_struct *r, const struct rules_rseq_cs *cs);

#endif
