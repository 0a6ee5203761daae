/* native/home.h - what the parts of native share. */
#ifndef NATIVE_HOME_H
#define NATIVE_HOME_H

/* In home: threads that have something to do before they leave the image. */
#define NATIVE_WAITING 2120
/* In home: where the stack ends (its highest address) that threads use one
 * after the other to end: native_leave in native.S. */
#define NATIVE_LEAVE_STACK 6240
/* In struct collect_plan, and in its struct collect_table. */
#define NATIVE_PLAN_TABLE    64
#define NATIVE_TABLE_LEAVING 24
/* Bytes of stack that a hit needs at most (but for what
 * collect_fire_with_room() asks for), and a hooked system call. Less than the
 * smallest guard of a stack. */
#define NATIVE_HIT_ROOM	 1024
#define NATIVE_HOOK_ROOM 2048
/* In a probe's frame: TRAMPOLINE_DOWN. */
#define NATIVE_FRAME_HOW 144
#define NATIVE_DOWN	 2

#ifndef __ASSEMBLER__

#include "inside/sigframe.h"
#include "native/native.h"

_Static_assert(sizeof(struct collect_action) == sizeof(struct sig_action),
	       "struct kernel_sigaction");

/* -- State of a thread -- */

enum { NATIVE_HELD = 5 }; /* kinds of signals of ours */

/* A handler of the program's that runs: mask.c. Sets of signals of
 * ours, all of which are small numbers. */
struct native_entered {
	uint64_t frame; /* struct sig_frame */
	uint64_t low;	/* where the alternate stack begins; 0: it is not */
	uint16_t before, start, after;
	uint16_t zero;
};
enum { NATIVE_ENTERED = 7, NATIVE_RECENT = 4 };

/* .next of a thread: pushf and system calls store flags. */
enum { NATIVE_STEP_PLAIN, NATIVE_STEP_PUSHES, NATIVE_STEP_CALLS };

/* In the thread's area, or a spare one in home: zeroed is nothing. */
struct native_thread {
	uint64_t fs;	   /* of a spare one: whose it is; 0: nobody's */
	uint32_t deferred; /* number of a signal that waits; or 0 */
	uint8_t counted;   /* in home->waiting: a signal is to be sent again */
	uint8_t masked;	   /* all is blocked; .back is to come back */
	uint8_t waits;	   /* in a call with a mask of its own, .wait_* */
	uint8_t lingers;   /* in home->waiting, out of the image: M3 */
	uint32_t n_entered;
	uint32_t stays; /* a spare one: of a child apart */
	uint64_t back;
	uint64_t wait_mask, wait_blocked;
	uint64_t guard; /* in a sample: native_guarded() */
	uint64_t hook;	/* in native_call(): the struct probe_frame */
	uint64_t kept;	/* in clauses of a tick: profile.c */
	uint32_t timer; /* its number plus 1; 0: none */
	uint32_t ticks; /* of it */
	/* progress.c: instructions to go, while .info waits and .back is to
	 * come back; those have been; of what kind the next one is; states that
	 * signals found the thread in. */
	uint8_t steps, stepped, next, next_recent;
	uint64_t recent[NATIVE_RECENT];
	/* A child of vfork's that has set a mask of its own, and .blocked of
	 * that. */
	uint32_t guest, guest_blocked;
	/* Signals of ours that the program believes to have blocked; those of
	 * them that came meanwhile; those that are to be let through. */
	uint64_t blocked, held, pass;
	struct sig_info info;
	struct sig_info held_info[NATIVE_HELD];
	struct native_entered entered[NATIVE_ENTERED];
};
_Static_assert(sizeof(struct native_thread) <=
		   sizeof(((struct collect_area *)0)->native),
	       "layout");

/* The area that it is in; NULL: it is none, or a spare one. */
static inline struct collect_area *native_area(const struct native_thread *t)
{
	return t && t->fs == 0 ? (void *)((uint8_t *)(uintptr_t)t -
					  offsetof(struct collect_area, native))
			       : 0;
}

/* What a child begins with. */
struct native_blocks {
	uint64_t blocked;
	uint64_t n_entered;
	struct native_entered entered[NATIVE_ENTERED];
};

/* Of the first thread's stack: calm.c. */
struct native_calm {
	uint64_t look;	   /* the last one */
	uint64_t from, to; /* what the next one is about; .to 0: nothing */
	uint64_t known;	   /* the last one was about pages from here on; or 0 */
	uint64_t written;  /* pages of them */
	uint32_t rest;	   /* samples without one */
	uint32_t is_over;  /* both atomic */
	uint32_t is_asking;
};

enum {
	NATIVE_SPARE = 8,
	NATIVE_APART = 64,
	NATIVE_RETRIED = 16,
	NATIVE_FOUND = 4096,
	NATIVE_ARMED = 4096,
	NATIVE_GIVEN = 256,
	/* aside.c: as many as struct collect_table has bits. */
	NATIVE_STACKS = 64,
	NATIVE_STACK_SIZE = 32 << 10,
	NATIVE_STACKS_AT = 40 * 4096,
	/* What a sample or a clause takes of a stack, besides a frame. */
	NATIVE_NEEDED = 4096,
};

/* A thread that hark has made a timer for: timer.c. */
struct native_armed {
	uint32_t tid;
	uint32_t timer; /* its number plus 1; 0: the thread itself has it */
};

/* Code that the program may write to itself, so that no probe is in it any
 * more: rewrite.c. */
struct native_given {
	uint64_t n; /* atomic */
	struct {
		uint64_t from, to;
	} at[NATIVE_GIVEN];
	uint32_t giver; /* atomic: the pid, while bytes are being put back */
	uint32_t zero;
};

/* A thread that had blocked signals of ours when probes came. */
struct native_found {
	uint32_t tid; /* 0: its own state has it by now */
	uint32_t blocked;
};

struct native_home {
	struct collect_home known;
	uint32_t waiting;     /* atomic */
	uint32_t lock;	      /* of known.program: the pid that has it, or 0 */
	uint32_t pid;	      /* whose .waiting and .spare are; 0: not known */
	uint32_t has_blocked; /* a thread has blocked signals of ours, once */
	uint8_t pad[8];
	uint8_t leave_stack[4096];
	/* Illegal instructions that were tried again, by thread. */
	uint64_t retried[NATIVE_RETRIED];
	struct native_thread spare[NATIVE_SPARE];
	/* A child that is not followed has no areas: W4. */
	uint64_t has_apart;
	struct native_thread apart[NATIVE_APART];
	/* Written by hark, before the masks are opened. */
	uint64_t n_found;
	struct native_found found[NATIVE_FOUND];
	uint64_t n_armed;
	struct native_armed armed[NATIVE_ARMED];
	uint64_t scratch[16];
	struct native_calm calm;
	struct native_given given;
	uint64_t is_filtered; /* the program has a system call filter. Atomic */
};
_Static_assert(offsetof(struct native_home, waiting) == NATIVE_WAITING, "asm");
_Static_assert(offsetof(struct native_home, retried) == NATIVE_LEAVE_STACK,
	       "asm");
_Static_assert(NATIVE_LEAVE_STACK % 16 == 0, "asm");
_Static_assert(offsetof(struct collect_plan, table) == NATIVE_PLAN_TABLE,
	       "asm");
_Static_assert(offsetof(struct collect_table, leaving) == NATIVE_TABLE_LEAVING,
	       "asm");
_Static_assert(offsetof(struct probe_frame, how) == NATIVE_FRAME_HOW, "asm");
_Static_assert(TRAMPOLINE_DOWN == NATIVE_DOWN, "asm");
/* Behind it are stacks, and there hark keeps something for itself. */
_Static_assert(sizeof(struct native_home) <= NATIVE_STACKS_AT, "layout");
_Static_assert(NATIVE_STACKS_AT + NATIVE_STACKS * NATIVE_STACK_SIZE <=
		   NATIVE_HOME_SIZE - 64,
	       "layout");

/* -- thread.c -- */

struct native_home *native_home_all(void);
const struct collect_plan *native_plan(void);
/* A vfork's child: it borrows memory that it must leave as it is. */
bool native_is_guest(void);

/* Of this thread, if there is one; never waits for anybody. */
struct native_thread *native_find(void);
/* Or a spare one, or NULL. */
struct native_thread *native_find_or_spare(void);
/* Or made, in an area, or to be kept: W4. Not if the image was interrupted. */
struct native_thread *native_make(void);
/* Made only if there is something to remember of it already. Likewise. */
struct native_thread *native_find_or_found(void);
/* May be NULL. */
bool native_remembers(const struct native_thread *t);
/* Not needed any longer, if it is a spare one. */
void native_drop(struct native_thread *t);

/* The thread has to send a signal to itself before it leaves the image. */
void native_count(struct native_thread *t);
/* The same; all is blocked, and was as old says. */
void native_come_back(struct native_thread *t, uint64_t old);
const struct sig_info *native_held(const struct native_thread *t, int sig);
void native_hold(struct native_thread *t, const struct sig_info *info);
/* Now, in a signal handler: those that may come. */
void native_send_held(struct native_thread *t);
/* All is blocked: those that the program blocks are the kernel's until that
 * ends. Answers which. */
uint64_t native_give_held(struct native_thread *t, uint64_t blocked);
/* .blocked of the caller, who may be a guest; and that is set. */
uint64_t native_own_blocked(const struct native_thread *t);
void native_guest_blocks(struct native_thread *t, uint64_t blocked);
/* Held signals that may come now will. */
void native_let_through(struct native_thread *t, uint64_t blocked);

uint64_t native_set_mask(uint64_t mask); /* the one before */
void native_send(const struct sig_info *info);
int64_t native_set_action(int sig, const struct collect_action *new,
			  uint64_t old);
/* Of home->known.program. Its owner's pid, which unlocks it; 0: the caller is a
 * guest, and reads without. */
uint32_t native_lock(void);
void native_unlock(uint32_t pid);

/* Called by native.S: all is blocked, signals that wait are sent; the masks to
 * open with, and to have then. */
void native_wake(uint64_t mask[2], const struct probe_frame *frame);

/* -- call.c -- */

/* Called by native.S, on the stack of home, all signals being blocked: the
 * calling thread ends. */
void native_leaves(void);

/* -- mask.c -- */

/* The thread is seen with that rsp: what handlers blocked that have ended is
 * not blocked any longer. */
void native_settle(struct native_thread *t, uint64_t rsp);
/* A handler starts, and blocks these signals of ours. */
void native_entered(struct native_thread *t, const struct sig_frame *frame,
		    uint64_t set);
/* .blocked is what the program has set it to. */
void native_mask_is_set(struct native_thread *t);
/* What a child of fork's will have blocked; and in it, that it has. */
struct native_blocks native_blocks(void);
void native_inherit(const struct native_blocks *b);
/* A signal is held; perhaps only until a handler ends. */
void native_linger(struct native_thread *t);
/* Handlers whose end opens what is held return by way of the image: M4. */
void native_await_return(const struct native_thread *t);
void native_linger_no_more(struct native_thread *t);
/* 0, 1, as native_call() */
uint64_t native_pending(const uint64_t *a, int64_t *answer);
uint64_t native_timedwait(const uint64_t *a, int64_t *answer);

/* -- signal.c -- */

/* Which handler of the program's is to be called, with which mask; 0: none. */
struct native_go {
	uint64_t handler, mask;
};
struct native_go native_caught(struct sig_frame *frame);
/* native.S: where such a handler returns to, and what is done there. */
void native_return(void);
void native_returned(const struct sig_frame *frame);

struct trampoline;
/* The trampoline that an address is in, and where; NULL: none. */
const struct trampoline *native_code_at(uint64_t pc, unsigned *offset);

/* -- progress.c -- */

/* The program's handler of a signal is about to be called, and the frame has
 * the program's state, to go on with the mask `back`: must the thread get on
 * first? Then the frame is made for that, and the signal comes later. */
bool native_steps_first(struct native_thread *t, struct sig_frame *frame,
			uint64_t back);
/* A step of such a thread (.steps is not 0); is_between: it is not at the start
 * of an instruction of the program's own. */
void native_stepped(struct native_thread *t, struct sig_frame *frame,
		    bool is_between);
/* It goes no further in this way. */
void native_end_steps(struct native_thread *t, struct sig_frame *frame);

/* -- overflow.c -- */

/* A fault that a hit has raised because the program's stack has no room for
 * it: the hit happens elsewhere, and the thread goes on as if it had. */
bool native_overflows(struct sig_frame *frame);

/* -- check.c -- */

struct unwind_space;
struct unwind_maps;
struct unwind_sample;
struct frame_cpu;
struct native_check {
	const struct unwind_space *space; /* with or without a cache */
	const struct unwind_maps *maps;
	const struct unwind_sample *sample;
	const struct frame_cpu *cpu;
};
/* All signals are blocked. The .hash of the walk; 0: it differs. */
uint64_t native_check(struct native_thread *t, struct collect_area *area,
		      uint64_t time_ns, const struct native_check *c);

/* -- tick.c -- */

/* The program's own. */
struct native_state {
	uint64_t gpr[16], flags, pc;
};

/* A clock of hark's, not a signal of the program's? */
bool native_is_tick(const struct sig_info *info);
/* The thread was caught there; nobody knows where. */
/* Do ticks have to wait until the handler has ended that this frame is for? */
bool native_ticks_wait(const struct sig_frame *frame);
void native_tick(const struct sig_frame *frame, const struct native_state *s);
void native_tick_in_image(const struct sig_frame *frame);
/* Without a signal frame: the thread has read it. */
void native_tick_missed(bool is_timer, uint32_t overran);
/* Afterwards. */
void native_uncover(void);
void native_take_back(struct native_thread *t, uint64_t given);

/* -- sample.c -- */

void native_sample(struct collect_area *area, const struct native_state *s);
/* A fault of a sample's, or something that must not wait: the thread goes on
 * at its end. */
bool native_ends_sample(struct sig_frame *frame);

/* -- calm.c -- */

struct unwind_calm;
/* Before a sample, at that sp: which pages of the stack were not written since
 * the last look? False: nobody knows. */
bool native_look(const struct collect_area *area, uint64_t sp,
		 struct unwind_calm *out);
/* They are there: else a fault ends the sample, as it would if they were
 * compared. */
void native_touch(const struct unwind_calm *c);
/* What came of it; calm: NULL if there was none. */
void native_looked(const struct collect_area *area,
		   const struct unwind_calm *calm,
		   const struct unwind_sample *got);
/* A system call that may forbid others? Then nothing is asked any more. */
bool native_is_filter(const uint64_t gpr[16]);
/* Has there been one, now or before hark came? */
bool native_is_filtered(void);

/* -- aside.c -- */

/* In a signal's handler: is there room below its frame, on an alternate stack,
 * for another frame and that many bytes? On other stacks there always is, as
 * far as anybody knows. */
bool native_has_room(const struct sig_frame *frame, uint64_t needed);
/* f(ctx), in a signal's handler, where there is room for it: NATIVE_NEEDED
 * bytes and the frame of a fault. False: there is none. */
bool native_aside(const struct sig_frame *frame, void (*f)(void *ctx),
		  void *ctx);
/* native.S: f(ctx) on a stack whose highest address that is. */
void native_on_stack(void (*f)(void *ctx), void *ctx, void *top);

/* -- profile.c -- */

void native_profile(struct collect_area *area, const struct native_state *s);
/* The state as a trampoline's frame has it. */
void native_fill_frame(const struct native_state *s, struct probe_frame *out);
/* f(ctx), with the signals of faults open. One that was sent meanwhile comes
 * afterwards. */
void native_open_faults(struct native_thread *t, void (*f)(void *ctx),
			void *ctx);
/* A signal that somebody has sent: is it kept until its clauses are done? */
bool native_keeps(const struct sig_frame *frame);

/* native.S: f(ctx). False: it was left at native_guarded_bad, with rsp being
 * *guard, which is 0 outside. */
bool native_guarded(void (*f)(void *ctx), void *ctx, uint64_t *guard);
extern const uint8_t native_guarded_bad[] __attribute__((visibility("hidden")));

/* -- timer.c -- */

/* The calling thread has a timer from now on, if threads have any. */
void native_arm(void);
void native_disarm(struct native_thread *t);
/* It has ticked: if hark is dead, that was the last time. */
void native_ticked(struct native_thread *t);

/* -- wait.c: 0, 1, as native_call() -- */

uint64_t native_wait(struct probe_frame *frame, int64_t *answer);
uint64_t native_read_signals(struct probe_frame *frame, int64_t *answer);
uint64_t native_exec(struct probe_frame *frame, int64_t *answer);

/* -- rewrite.c -- */

/* mprotect, pkey_mprotect: 0, 1, as native_call() */
uint64_t native_protect(const struct probe_frame *frame, int64_t *answer);
/* Was the probe that this address belongs to given up, or is other code there
 * by now? */
bool native_is_given(uint64_t pc);
/* Is it just being given up, with a trap in its first byte? The thread is to
 * try again. */
bool native_is_giving(uint64_t pc);

/* -- lock.c: likewise -- */

uint64_t native_lockall(uint64_t flags, int64_t *answer);

/* -- announce.c -- */

/* false: hark should have come along and has not, and may be alive. */
bool native_announce(void);

/* Is this memory of the program's there? Of each of len bytes. */
bool native_readable(uint64_t at, uint64_t len);

#endif
#endif
