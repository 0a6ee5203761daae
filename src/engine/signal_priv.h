/* engine/signal_priv.h - what the parts of signal handling share. */
#ifndef ENGINE_SIGNAL_PRIV_H
#define ENGINE_SIGNAL_PRIV_H

#include "engine/engine.h"
#include "inside/sigframe.h"

/* A thread in the engine's handler. */
struct caught {
	struct vcpu *v;
	struct sig_info *info; /* the kernel's, on the signal stack */
	struct sig_uc *uc;     /* the same; the thread goes on with it */
	uint64_t gs;	       /* to go on with */
};

/* Called by handler.S; what it answers is the gs to go on with. */
uint64_t signal_caught(struct vcpu *v, struct sig_info *info, struct sig_uc *uc,
		       uint64_t gs);

/* The mask that the kernel is to have. */
uint64_t signal_native(const struct vcpu *v);
/* The program's mask has changed: is a signal that was sent open now? */
void signal_recheck(struct vcpu *v);

/* Is it one of those by which the engine asks itself for something? */
int signal_is_engines(const struct vcpu *v, const struct sig_info *info);
/* Has a signal, or a request of the engine's own, to be seen to first? */
int signal_is_held(struct vcpu *v);

/* sent.c: keep it; take one that is in set (its number, or 0); forget all that
 * are in set. */
void sent_keep(struct vcpu *v, const struct sig_info *info);
int sent_take(struct vcpu *v, uint64_t set, struct sig_info *out);
void sent_drop(struct vcpu *v, uint64_t set);
/* Before a system call that is made with this mask, and after it: the kernel
 * keeps what was sent (S5). Which signals it keeps; 0: none, and nothing has to
 * be hidden. */
struct call;
enum { SENT_RANK_FD = 2 }; /* .seek_rank: it reads a signalfd */
uint64_t sent_show(struct vcpu *v, const struct call *c, uint64_t mask);
void sent_hide(struct vcpu *v);
/* Passes on what it keeps for the process to threads that want it. */
void sent_offer(struct vcpu *v);
/* Has another thread asked this one to do so? */
int sent_is_sought(const struct vcpu *v, const struct sig_info *info);
/* S8: a siginfo that comes from the kernel; one that the program has read. */
void sent_unmark(struct sig_info *info);
void sent_unmark_read(const struct call *c, int64_t answer);
/* Signals for the process that other threads keep. */
uint64_t sent_elsewhere(const struct vcpu *v);
/* The mask has changed: those of them that are open now come here. */
void sent_pull(struct vcpu *v);

/* All registers, flags and segments; TF is the program's. */
void signal_get_state(const struct vcpu *v, int64_t gregs[GREG_MAX]);
void signal_set_state(struct vcpu *v, const int64_t gregs[GREG_MAX]);

/* The thread goes on in the dispatcher, with the state in its vcpu. */
void signal_go_on(struct caught *c);
/* info is delivered on the state in the vcpu. A fault is delivered whatever
 * the program says of it: if it does not want it, the process ends. */
void signal_deliver(struct caught *c, const struct sig_info *info);
void signal_deliver_fault(struct caught *c, const struct sig_info *info);

/* signal_action of the frame: see frame.c. 0, or -1: the stack cannot be
 * written. The state in the vcpu is then the handler's. */
int frame_push(struct caught *c, const struct sig_action *act,
	       const struct sig_info *info);
/* Bytes of the extended registers in a frame; 0 if there are none. */
uint32_t frame_fp_length(const uint8_t *fp);
/* Is sp on the program's alternate stack? */
int frame_on_altstack(const struct vcpu *v, uint64_t sp);

/* step.c: a thread that was caught AT_STEP; its state is now in the vcpu. 1:
 * the instruction is done, and it was the engine who wanted to know. */
int step_caught(struct caught *c);

/* freeze.c: the others go where their registers are their own. Before the end
 * of the process; the caller has nothing locked. */
void freeze_others(struct vcpu *v);
int freeze_is_asked(const struct vcpu *v, const struct sig_info *info);
void freeze_now(struct caught *c);

/* leave.c: the trap of a thread that leaves the engine for good. */
void leave_trapped(struct caught *c);
/* Another process wants this one to leave; the dispatcher does. */
int leave_is_asked(const struct vcpu *v, const struct sig_info *info);
void leave_if_possible(struct vcpu *v);

/* park.c: hark wants this thread to wait for it. */
int park_is_asked(const struct vcpu *v, const struct sig_info *info);
/* The dispatcher does; nothing is half done. */
void park_here(struct vcpu *v);

/* syscall.c: the call that .pc stands at is done. */
void syscall_finish(struct vcpu *v, int64_t answer);

/* A signal for this very thread, as it was before. */
void signal_give_back(struct vcpu *v, const struct sig_info *info);

#endif
