/* probe/native.h - signals and system calls of a program that runs natively
 * with probes in it.
 *
 * A program must not see that some of its instructions are executed elsewhere,
 * nor can it be allowed to block or take over the signals that probes need.
 *
 * N1  A handler of the program's always finds the state that the program would
 *     have had: registers, flags, pc, never one of hark's addresses. What it
 *     returns to is that state, too: nothing of hark's is on its stack.
 * N2  A signal that comes while the thread is in a probe's handler (in the
 *     image) waits until that is done, some microseconds.
 * N3  SIGTRAP and SIGILL (and SIGSEGV and SIGBUS if scripts read memory) are
 *     never really blocked, ignored or the program's; it sees what it asked
 *     for. One that is not hark's is delivered as if hark were not there.
 * N4  An instruction's probe fires once an execution, though a signal came
 *     between the two.
 *
 * Freestanding, and hosted for tests. */
#ifndef PROBE_NATIVE_H
#define PROBE_NATIVE_H

#include "probe/collect.h"

/* In the image: hark installs it (SA_SIGINFO, restorer native_restorer) for
 * each signal of home->ours and each one that the program handles. */
void native_handler(int sig, void *info, void *context);
void native_restorer(void);

/* A hooked system call (trampoline_want.hooked) is about to be made, rax its
 * number. Returns 0: make it; else it has been made or answered, and rax of
 * the frame is its result. cookie is the address of the plan. */
uint64_t native_call(struct probe_frame *frame, uint64_t cookie);

/* Does such a system call have to be hooked? */
bool native_hooks(uint64_t number);

/* Memory of the program's that may not be there. */
bool native_read(const void *from, void *out, uint32_t len);

#endif
