/* engine/engine.h - the virtual processor: what its parts know of each other.
 *
 *	translate  guest code -> cache code, with a table of how to get back
 *	cache	   regions near the code, blocks, links, the indirect table
 *	space	   which guest memory may be executed, and written
 *	dispatch   between cache and engine: link, look up, go on
 *	step	   one instruction natively, where translating is no help
 *	signal	   the program's signals, delivered on its own state
 *	syscall	   the calls that touch what the engine manages
 *	thread	   slots, clone, exit, fork
 *
 * Built for the target (freestanding) and hosted, for tests and replay. No
 * libc; general registers only; every writable byte hangs off struct engine. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/vcpu.h"
#include "inside/gregs.h"
#include "wire/channel.h"
#include "wire/run.h"
#include "wire/stay.h"

#include <stdint.h>

/* -- dispatch.c, cross.S -------------------------------------------------- */

/* What a thread in the engine's handler was doing, by its rip. */
enum engine_place {
	AT_CACHE,   /* in a block: engine_recover() gives the guest state */
	AT_WINDOW,  /* about to enter the cache, or to make a guest system call
		     * that has not happened: set rip to engine_redo() */
	AT_STEP,    /* in the program's own code: the state is the program's */
	AT_ENGINE,  /* anywhere else in the engine: let it go on */
	AT_GUARDED, /* in guest_copy: a fault goes to engine_guard_exit() */
	AT_MISS,    /* on its way back into a block, whose state it has half */
	AT_DELIVER, /* the trap of engine_deliver_trap(): state is in vcpu */
};
enum engine_place engine_place(const struct vcpu *v, uint64_t rip);
/* rip that makes a thread caught AT_WINDOW start over: it comes to see .held.
 * (For a system call: it returns ENGINE_ABORTED.) */
uint64_t engine_redo(uint64_t rip);
uint64_t engine_guard_exit(void);

/* Turns the machine's registers of a thread caught AT_CACHE, whose instruction
 * has faulted, into the program's own: gregs is changed in place, rip included.
 * 0, or -1: rip is in the cache, but not where the state is the program's (an
 * exit on its way to the engine): let it go on. */
int engine_recover(struct vcpu *v, int64_t gregs[GREG_MAX]);
/* The same for a signal from outside, which may come at any host instruction
 * and may have to wait: -1 also where an instruction is half done in a way that
 * no fault can find it, or where an instrument would see it twice; the thread
 * is then on its way out of the cache. */
int engine_recover_now(struct vcpu *v, int64_t gregs[GREG_MAX]);

/* The program's pc of the instruction that host code belongs to; 0: none. */
uint64_t engine_pc_of(struct vcpu *v, uint64_t host);

/* A branch has led to .pc, which is no address: undoes the branch. */
void engine_unbranch(struct vcpu *v);

/* The status flags that .saved_flags holds are the program's. */
void engine_restore_flags(struct vcpu *v);

/* Writes the vcpu's registers into gregs, and back. */
void engine_get_gregs(const struct vcpu *v, int64_t gregs[GREG_MAX]);
void engine_set_gregs(struct vcpu *v, const int64_t gregs[GREG_MAX]);

/* A trap that the signal handler sees AT_DELIVER: a kernel-made frame for the
 * delivery of .held_info. It comes back when the vcpu's state has changed to
 * the handler's (or the process is dead). */
void engine_deliver_trap(void);

/* Leaves everything on the stack and goes on dispatching with the state in
 * the vcpu: where handlers send a thread whose state they have changed. As an
 * rip for a frame; rsp must be v->stack, gs v. */
uint64_t engine_resume_rip(void);

/* A system call of the program, with its arguments: nr, then six. The result,
 * or ENGINE_ABORTED: a signal is held, the call did not happen. */
#define ENGINE_ABORTED (-4096l)
int64_t engine_guest_call(struct vcpu *v, int64_t nr, const uint64_t args[6]);

/* Copies between guest memory and the engine's; the number of bytes that
 * could not be copied (a fault stops it). */
uint64_t guest_copy(void *to, const void *from, uint64_t len);

/* The time stamp counter; 0 if the program may not read it. */
uint64_t guest_tsc(void);

/* Four words, aligned or not, each read at once. 0, or not: a fault. */
uint64_t guest_words(uint64_t to[4], const void *from);

/* The system call at .pc, counted. */
void engine_syscall(struct vcpu *v);

/* The loop: makes the vcpu ready to enter the cache at .pc. */
void engine_dispatch(struct vcpu *v);

/* -- What guest memory holds: space.c ------------------------------------- */

enum { /* flags of a range */
       SPACE_WRITE = WIRE_MAP_WRITE,
       SPACE_SHARED = WIRE_MAP_SHARED,
};
/* The program has mapped executable memory, or has changed what is mapped
 * there (prot without execution, munmap, a new mapping): translations of the
 * old bytes are gone when these return. Call space_forget before the system
 * call that changes it, space_add after it succeeded. */
void space_add(struct engine *e, uint64_t start, uint64_t end, unsigned flags);
void space_forget(struct engine *e, uint64_t start, uint64_t end);
/* Memory that is mapped shared, executable or not: it may become code later.
 * space_is_shared: has any of it been? (For ever: nobody keeps track.) */
void space_share(struct engine *e, uint64_t start, uint64_t end);
int space_is_shared(struct engine *e, uint64_t start, uint64_t end);

/* -- signal.c ------------------------------------------------------------- */

/* Takes over the stack that the thread has, and the mask that it had; opens
 * that. Its dispositions are the engine's already. */
void signal_start(struct vcpu *v, uint64_t mask);
/* The same for a thread that the program has made. */
void signal_start_thread(struct vcpu *v, const struct vcpu *parent);
/* Its signals may come from now on; called by the thread itself. */
void signal_open(struct vcpu *v);
/* .held is set: deliver it. */
void signal_deliver_held(struct vcpu *v);
/* A synchronous signal that the engine itself found at .pc: as if the CPU had
 * faulted there. info is a siginfo_t; trapno, error and cr2 go to the frame. */
void signal_raise(struct vcpu *v, const void *info, int64_t trapno,
		  int64_t error, int64_t cr2);

/* -- syscall.c, thread.c -------------------------------------------------- */

/* Does the system call that .pc stands at; .pc is then behind it (or still on
 * it, if a signal came first). */
void syscall_do(struct vcpu *v);
enum { SYSCALL_LEN = 2 };

/* A new vcpu's fixed parts; its tid is the caller's. */
void vcpu_prepare(struct vcpu *v, struct engine *e);
/* A slot: all zero but for what says where it is, and the segments of 64-bit
 * code. NULL: no memory. */
struct vcpu *thread_new(struct engine *e);
void thread_free(struct vcpu *v); /* not of the running thread */

/* -- x87.c ---------------------------------------------------------------- */

/* The instruction at .pc has stored the x87 unit's environment: puts it right;
 * .pc is then behind it. */
void x87_stored(struct vcpu *v);
/* The same for the area of a signal frame (the engine's copy). */
void x87_fix_frame(struct vcpu *v, void *fxsave);

/* -- step.c --------------------------------------------------------------- */

/* Runs the instruction at .pc natively: into the state the CPU leaves. */
void step_native(struct vcpu *v);

/* -- The whole ------------------------------------------------------------ */

struct cache;
struct memory;
struct observe;
struct space;

/* A lock for threads that may be stopped anywhere: a futex. */
struct engine_lock {
	uint32_t word; /* 0 free, 1 held, 2 held and waited for */
};
void engine_lock(struct engine_lock *l);
void engine_unlock(struct engine_lock *l);

enum { ENGINE_MEM_FDS = 1024 };

struct engine {
	struct wire_control *channel; /* borrowed: shared with hark; or NULL */
	struct wire_run *run;	      /* borrowed: in it */
	struct memory *memory;	      /* owned: all that follows is in it */
	struct cache *cache;	      /* owned */
	struct space *space;	      /* owned */
	struct vcpu *vcpus;	 /* owned: all slots ever made, free ones too */
	struct vcpu *free_slots; /* of them: see thread.c */
	uint64_t slot_hint;
	uint32_t n_slots;
	uint32_t read_is_exec; /* personality: what can be read is code */
	uint32_t left;	       /* for those who asked it to: see leave.c */
	uint32_t no_new_code;  /* prctl(PR_SET_MDWE): see memcall.c */
	uint64_t mem_fds[ENGINE_MEM_FDS / 64]; /* a set: see memcall.c */
	uint64_t image_start, image_end;
	uint32_t n_threads;
	uint32_t flags;		       /* WIRE_RUN_* */
	uint32_t replays;	       /* a recording: replay.c */
	uint32_t lock_later;	       /* mlockall's flags: memcall.c */
	const struct observe *observe; /* borrowed; NULL: nobody looks on */
	uint8_t has_scattered; /* replay: code was translated that touches
				* memory here and there, unmarked */
	uint8_t block_flags;   /* BLOCK_* of all blocks: an old recording's */
	uint8_t sent_ever;     /* atomic; S6 of sent.c */
	uint32_t
	    exact_flags; /* the program has handled a fault, and may look */
	uint32_t has_company; /* a second thread: tickets are drawn */
	uint32_t old_code;    /* some blocks are older than either */
	uint64_t near;	      /* blocks lie near this; 0: near their own code */
	/* Where code comes from; NULL: from memory. (block.h) */
	unsigned (*fetch)(void *ctx, uint64_t pc, uint8_t *to, unsigned len);
	void *fetch_ctx;
	struct tapes *tapes;   /* owned by the recorder: record/collect.c */
	struct wire_stay stay; /* hark knows where it is */
	uint32_t adopted;  /* futex: dispositions are the engine's: join.c */
	uint32_t attached; /* the program ran before the engine came */
	/* Away from what all threads read all the time. */
	struct engine_lock lock __attribute__((
	    aligned(64))); /* cache, space, translating; taken by fork */
	struct engine_lock threads_lock;
};

/* Broken invariant: one line on stderr, then SIGABRT by default. */
_Noreturn void engine_die(const char *what);

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void engine_count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

#endif
