/* engine/call_priv.h - what the files of system calls share.
 *
 * A call answers with what the program will find in rax, or ENGINE_ABORTED:
 * nothing has happened, a signal goes first. */
#ifndef ENGINE_CALL_PRIV_H
#define ENGINE_CALL_PRIV_H

#include "engine/engine.h"
#include "inside/sigframe.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

enum call_errno {
	ERR_PERM = 1,
	ERR_SRCH = 3,
	ERR_INTR = 4,
	ERR_AGAIN = 11,
	ERR_NOMEM = 12,
	ERR_ACCES = 13,
	ERR_FAULT = 14,
	ERR_BUSY = 16,
	ERR_EXIST = 17,
	ERR_INVAL = 22,
	ERR_NOSYS = 38,
	ERR_OPNOTSUPP = 95,
};

/* It has its own idea of all registers, pc included: leave them alone. */
#define CALL_DONE (-4097l)

struct call {
	int64_t nr;
	uint64_t args[6];
};

/* As it came from the program. EFAULT that the engine itself may have caused
 * is tried again. */
int64_t call_pass(struct vcpu *v, const struct call *c);
/* The same, for calls that are all of the kernel's doing: a signal that comes
 * meanwhile may be delivered on the spot, and this never returns. */
int64_t call_plain(struct vcpu *v, const struct call *c);
/* The same as call_pass, while the kernel keeps signals of the mask that were
 * sent. */
int64_t call_shown(struct vcpu *v, const struct call *c, uint64_t mask);

/* sigcall.c */
int64_t call_sigaction(struct vcpu *v, const struct call *c);
int64_t call_sigprocmask(struct vcpu *v, const struct call *c);
int64_t call_sigreturn(struct vcpu *v);
int64_t call_sigaltstack(struct vcpu *v, const struct call *c);
int64_t call_sigpending(struct vcpu *v, const struct call *c);
int64_t call_sigtimedwait(struct vcpu *v, const struct call *c);
/* The calls that wait with another mask. */
int64_t call_with_mask(struct vcpu *v, const struct call *c);

/* memcall.c: the mmap family. */
int64_t call_memory(struct vcpu *v, const struct call *c);

/* limitcall.c: getrlimit, setrlimit, prlimit64. */
int64_t call_limit(struct vcpu *v, const struct call *c);
/* The program goes on without the engine (for good), or execve is next: the
 * kernel's limits are the program's. And if that has failed. */
void limits_expose(struct vcpu *v, int for_good);
void limits_hide(struct vcpu *v);

/* prctl(PR_SET_MDWE), PR_GET_MDWE */
int64_t call_mdwe(struct vcpu *v, const struct call *c);
int64_t call_open(struct vcpu *v, const struct call *c);
/* Does it write to a file that is memory? Then call_write does it. */
int call_writes_memory(const struct vcpu *v, const struct call *c);
int64_t call_write(struct vcpu *v, const struct call *c);

/* thread.c */
int64_t call_clone(struct vcpu *v, const struct call *c);
int64_t call_exit(struct vcpu *v, const struct call *c);
int64_t call_exit_group(struct vcpu *v, const struct call *c);
/* Adds what the thread has counted to the process's counts. */
void thread_count(struct vcpu *v);

/* exec.c */
int64_t call_exec(struct vcpu *v, const struct call *c);

/* join.c */
int64_t call_rseq(struct vcpu *v, const struct call *c);

/* leave.c */
int64_t call_ptrace(struct vcpu *v, const struct call *c);
void leave_forked(struct vcpu *v);
int leave_is_wanted(struct vcpu *v, const struct call *c); /* 1: not called */

/* seccomp.c */
int64_t call_prctl(struct vcpu *v, const struct call *c);
int64_t call_seccomp(struct vcpu *v, const struct call *c);
/* May the program make this call? 1: yes. 0: *answer is its result. */
int filter_allows(struct vcpu *v, const struct call *c, int64_t *answer);
/* Gives the filters to the kernel: execve is next. */
void filter_install(const struct vcpu *v);

#endif
