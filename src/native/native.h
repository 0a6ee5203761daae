/* native/native.h - signals and system calls of a program that runs natively
 * with probes in it.
 *
 * A program must not see that some of its instructions are executed elsewhere,
 * nor can it be allowed to block or take over the signals that probes need.
 *
 * N1  A handler of the program's always finds the state that the program would
 *     have had: registers, flags, pc, never one of hark's addresses. What it
 *     returns to is that state, too: nothing of hark's is on its stack, but
 *     the return address of a handler whose end opens a signal that is held.
 * N2  A signal that comes while the thread is in a probe's handler (in the
 *     image) waits until that is done, some microseconds.
 * N3  SIGTRAP and SIGILL (and SIGSEGV and SIGBUS if scripts read memory) are
 *     never really blocked, ignored or the program's; it sees what it asked
 *     for. One that is not hark's is delivered as if hark were not there.
 * N4  An instruction's probe fires once an execution, though a signal came
 *     between the two.
 *
 * What of N3 is not kept, because sigreturn cannot be watched (unwinders know
 * it by its bytes): the mask in a signal frame never holds a signal of hark's;
 * and that a handler has ended is noticed when its thread is next seen
 * (mask.c), or when it returns, if it has blocked a signal that came meanwhile.
 * What a handler that left by siglongjmp to a place with more of them blocked,
 * or to another stack, has blocked may be forgotten. Nor do new threads inherit
 * what is only believed to be blocked (pthread_create gives it to them; a child
 * of fork has it). In a child that is not followed this is remembered of 64
 * threads at a time. One that is sent to the process waits in the thread that
 * it came to, though another one waits for it (sigwait, signalfd); select and
 * readv, which C libraries do not use for that, do not see it; and one that is
 * blocked, sent by kill() all the same, and whose handler has no SA_RESTART,
 * interrupts a system call that is not made from here.
 *
 * Where things are: `home` begins at the first page behind the image, so that
 * code of the image finds it without data. There are NATIVE_HOME_SIZE bytes,
 * zeroed but for its public part (struct collect_home). Hosted, home is a
 * variable, native_home() too.
 *
 * Freestanding, and hosted for tests. */
#ifndef NATIVE_NATIVE_H
#define NATIVE_NATIVE_H

#include "native/collect.h"

/* What is in native.S: the compiler is to reach it directly. */
#pragma GCC visibility push(hidden)

enum { NATIVE_HOME_SIZE = 41 * 4096 + (64 * 32 << 10) };
struct collect_home *native_home(void);
/* What this process goes by, of the plan that its home is about. */
const struct collect_index *native_index(const struct collect_plan *plan);

/* In the image: hark installs it for each signal of home->ours and each one
 * that the program handles, as native_action() says. */
void native_handler(int sig, void *info, void *context);
void native_restorer(void);

/* What the kernel is to be told of a signal for which the program asked for
 * that. handler and restorer: the two above, where they are in the target. */
struct collect_action native_action(const struct collect_home *home, int sig,
				    const struct collect_action *program,
				    uint64_t handler, uint64_t restorer);

/* What trampolines call: handlers of theirs (trampoline_want.handler, .hook)
 * around collect_hit() and native_call(), from which a thread does not return
 * while a signal waits (N2). Nothing else may call them. */
void native_hit(struct probe_frame *frame, uint64_t cookie);
uint64_t native_hook(struct probe_frame *frame, uint64_t cookie);

/* What trampolines jump to (trampoline_want.leave) in the place of a system
 * call that is known to be exit: the thread ends there. rdi and r8: its status;
 * r9: the address of the call. The program's stack is not touched, for it may
 * be gone. */
void native_leave(void);

/* A hooked system call (trampoline_want.hooked) is about to be made, rax its
 * number. Returns 0: make it; 1: it has been made or answered, and rax of the
 * frame is its result; 2: make it, the thread ends. cookie is the address of
 * the plan. */
uint64_t native_call(struct probe_frame *frame, uint64_t cookie);

/* Does such a system call have to be hooked? */
bool native_hooks(uint64_t number);

/* N4: has this very execution fired already? Then that is used up, and
 * collect_hit() does nothing. Asked if area->n_tokens is not 0. */
bool native_fired(struct collect_area *area, const struct probe_frame *frame);
/* What a token keeps of registers (.state). */
uint64_t native_state(const uint64_t gpr[16]);

/* Signals of ours that the program believes to have blocked in a thread, whose
 * rsp that is. */
uint64_t native_blocked(const struct collect_area *area, uint64_t rsp);
/* Those that it believes handler k (of those that run) to return to, and where
 * the mask is that it will return to; false: there are no more. */
bool native_blocked_by_frame(const struct collect_area *area, uint64_t rsp,
			     unsigned k, uint64_t *at, uint64_t *blocked);

/* Signals of ours that wait for a thread because the program has blocked them,
 * and where in the area the siginfo of one is. */
uint64_t native_waiting_for(const struct collect_area *area);
uint64_t native_siginfo_offset(int sig);

/* The timer of a thread, and where its number is in the area; 0: it has none.
 */
uint64_t native_timer_of(const struct collect_area *area, uint64_t *offset);

/* Does a signal wait until a thread has executed some instructions, in the
 * program, by the trap flag? */
bool native_is_stepping(const struct collect_area *area);

/* Memory of the program's that may not be there. */
bool native_read(const void *from, void *out, uint32_t len);

#pragma GCC visibility pop

#endif
