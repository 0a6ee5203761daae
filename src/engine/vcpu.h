/* engine/vcpu.h - one thread of the program, as the engine keeps it.
 *
 * While the thread runs in the code cache, its registers are in the CPU's and
 * gs is the end of this slot; while it is in the engine, they are in .gpr,
 * .rflags, .pc.
 * Vector, x87 and fs are never touched: they stay the program's.
 *
 * A vcpu lies at the start of its slot: SLOT_SIZE bytes, aligned to that, with
 * the stack that signal handlers run on and the engine's own stack behind it.
 * So whoever stands on either stack finds the vcpu by rounding down rsp, even
 * when gs is not the engine's for a moment.
 *
 * V1  gs is vcpu_gs() whenever the thread is in the cache or in engine code,
 *     except on its way into and out of a native step, and at the start of a
 *     handler.
 * V2  HELD_SIGNAL is set by the signal handler and cleared by the delivery;
 *     while it is set, every signal but the synchronous ones is blocked.
 * V3  The kernel's signal mask is .mask less the synchronous signals, unless
 *     HELD_SIGNAL is set.
 *
 * Offsets up to the mark are known to emitted code and to assembler. */
#ifndef ENGINE_VCPU_H
#define ENGINE_VCPU_H

#define SLOT_SIZE   0x40000 /* vcpu, signal stack, engine stack */
#define SLOT_TAPE   0x2000  /* the recorder's, from its start */
#define SLOT_ORDER  0x8000  /* likewise: the next ticket of each line */
#define SLOT_VCPU   0x11000 /* bottom of the signal stack */
#define SLOT_SIGNAL 0x19000 /* top of it */

/* As offsets from gs, which is the slot's end. */
#define VCPU_GS_AT(offset) ((offset)-SLOT_SIZE)
#define VCPU_SELF	   VCPU_GS_AT(0)
#define VCPU_GPR	   VCPU_GS_AT(8)
#define VCPU_RFLAGS	   VCPU_GS_AT(136)
#define VCPU_PC		   VCPU_GS_AT(144)
#define VCPU_SPILL	   VCPU_GS_AT(152)
#define VCPU_GS		   VCPU_GS_AT(184)
#define VCPU_STACK	   VCPU_GS_AT(192)
#define VCPU_LEAVE	   VCPU_GS_AT(200)
#define VCPU_ENTER	   VCPU_GS_AT(208)
#define VCPU_ARG \
	VCPU_GS_AT(216) /* with VCPU_REASON one word: an exit sets both */
#define VCPU_REASON VCPU_GS_AT(220)
#define VCPU_HELD   VCPU_GS_AT(224)
#define VCPU_BUDGET VCPU_GS_AT(232)
#define VCPU_MISS   VCPU_GS_AT(240)
#define VCPU_SOURCE VCPU_GS_AT(248)
#define VCPU_CHECK  VCPU_GS_AT(256)
#define VCPU_RESUME VCPU_GS_AT(264)
#define VCPU_FS	    VCPU_GS_AT(272)
#define VCPU_EPOCH  VCPU_GS_AT(280)
#define VCPU_COUNT  VCPU_GS_AT(288)
#define VCPU_GATHER VCPU_GS_AT(296)
#define VCPU_SAVED  VCPU_GS_AT(368)
#define VCPU_RAX    VCPU_GS_AT(376)
#define VCPU_LINES  VCPU_GS_AT(384)
#define VCPU_LINE   VCPU_GS_AT(392)
#define VCPU_TICKET VCPU_GS_AT(400)
#define VCPU_AFTER  VCPU_GS_AT(408)
#define VCPU_HOST   VCPU_GS_AT(416)
#define VCPU_MAP    VCPU_GS_AT(424)
#define VCPU_LOCKED VCPU_GS_AT(432)
#define VCPU_SEEN   VCPU_GS_AT(440)
#define VCPU_TIME   VCPU_GS_AT(448)
#define VCPU_PKRU   VCPU_GS_AT(456)
#define VCPU_CELLS  VCPU_GS_AT(464)

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct engine;
struct filter;
struct sighand;

/* Which register is kept in which spill word while it is borrowed. */
enum { SPILL_R10, SPILL_RCX, SPILL_ANY, SPILL_MORE, SPILL_MAX };

/* Why a thread left the cache: .exit_reason. ORDER vcpu_exit (dispatch.c) */
enum vcpu_exit {
	EXIT_LINK,     /* .exit_arg: a direct exit to be linked */
	EXIT_INDIRECT, /* .pc: target of an indirect branch */
	EXIT_SYSCALL,  /* .pc: the instruction */
	EXIT_STEP,     /* .pc: an instruction to be run natively */
	EXIT_GO,       /* .pc: nothing special, go on there */
	EXIT_BUDGET,   /* .pc: the budget ran out */
	EXIT_X87,      /* .pc: it has just stored the x87 environment */
	EXIT_RESULT,   /* .pc: it has just been executed; the log wants it */
	EXIT_STATE,    /* .pc: likewise, all registers */
	EXIT_STRING,   /* .pc: a string instruction, to be done */
	EXIT_TRAP,     /* .pc: one that does not go on (replay) */
	EXIT_DEAD,     /* as EXIT_BUDGET; the status flags mean nothing */
	EXIT_BREAK,    /* .pc: somebody wants to look (replay: observe.h) */
	EXIT_WATCH,    /* .pc: likewise, at what it touches */
	EXIT_MAX
};

enum { VCPU_N_CELLS = 32, VCPU_N_SYNC = 6 };

/* .held: each bit keeps the thread out of the cache and of system calls. */
enum {
	HELD_SIGNAL = 1, /* V2: .held_info */
	HELD_SENT = 2,	 /* one of .sent is not blocked */
	HELD_FREEZE = 4, /* the process is about to end: freeze.c */
	HELD_LEAVE = 8,	 /* it is asked to leave the engine: leave.c */
	HELD_PARK = 16,	 /* hark wants to take it home: park.c */
	HELD_AGAIN = 32, /* signals are to be shown anew: sent.c */
};

/* .stepping */
enum {
	STEP_TRAP = 1, /* the program set TF: a trap after each instruction */
	STEP_MODE = 2, /* it does not run 64-bit code */
};

/* The program's idea of its alternate signal stack. */
struct vcpu_altstack {
	uint64_t sp, size;
	uint32_t flags, pad;
};

struct vcpu {
	struct vcpu *self;
	uint64_t gpr[16];
	uint64_t rflags;
	uint64_t pc;
	uint64_t spill[SPILL_MAX];
	uint64_t gs_base; /* the program's */
	uint64_t stack;	  /* top of the engine's stack */
	uint64_t leave;	  /* engine_leave: exits jump through it */
	uint64_t enter;	  /* cache address to go on at; 0: out of the cache,
			   * and has no address in it (C3 of cache.h) */
	uint32_t exit_arg;
	uint32_t exit_reason; /* enum vcpu_exit */
	uint32_t held;	      /* V2: .held_info is a signal to be delivered */
	uint32_t reserved;
	int64_t budget;	    /* counts down at superblock entries, if planned */
	uint64_t miss;	    /* engine_miss: the indirect table's way out */
	uint64_t source;    /* block whose last instruction branched here */
	uint64_t check;	    /* engine_check: a load that was not foreseen */
	uint64_t resume;    /* where to go on behind it */
	uint64_t fs_base;   /* the program's, in replay only */
	uint64_t epoch;	    /* of the code that it may see: tape.h */
	uint64_t count_end; /* vcpu_count() when the budget is 0 */
	/* Of a gather that is checked: mask, and the register of indices. */
	uint64_t gather[1 + 8];
	uint64_t saved_flags; /* as lahf and seto put them into ah, al */
	uint64_t saved_rax;   /* for a moment */
	/* Of a locked instruction (mirror_order.c): */
	uint64_t lines;	       /* the process's counters */
	uint64_t line;	       /* its own, as an address */
	uint64_t ticket;       /* that was drawn */
	uint64_t after;	       /* what the line says if nobody else was there */
	uint64_t host_fs, map; /* replay: what fs is outside, and inside */
	uint64_t locked; /* engine_locked: a locked instruction met somebody */
	uint64_t seen;	 /* what its line said then, */
	uint64_t time;	 /* and, before that, the clock */
	uint64_t pkru;	 /* replay: the program's; the CPU has hark's */
	uint64_t cells[VCPU_N_CELLS]; /* instruments' counters */
	/* -- from here on C alone knows the offsets -- */
	struct engine *engine;	 /* borrowed */
	uint32_t flags_dead;	 /* the status flags mean nothing just now */
	struct tape *tape;	 /* in the slot; NULL: it is not recorded */
	struct sighand *sighand; /* shared by threads: dispositions */
	uint64_t mask;		 /* the program's signal mask */
	uint64_t temp_mask;	 /* V3 of sigsuspend and kin: see signal.c */
	uint32_t has_temp_mask;
	uint32_t stepping; /* STEP_*: instruction by instruction, natively */
	struct vcpu_altstack altstack;
	uint8_t held_info[128]; /* siginfo_t */
	uint32_t tid;
	uint32_t slot_state; /* 0: free */
	uint64_t step_then;  /* space_now() when the step began */
	uint64_t step_pc;    /* what is stepped natively, while .step_kind */
	struct vcpu *next;   /* all vcpus of the process */
	uint32_t generation; /* of the cache, when it was entered last */
	/* signal.c */
	uint64_t trapno, error, cr2; /* of the thread's last fault */
	uint64_t sent;	     /* synchronous signals that were sent: a set */
	uint64_t sent_twice; /* of them, those for thread and process */
	uint8_t sent_info[VCPU_N_SYNC][128];
	uint8_t sent_more[VCPU_N_SYNC][128];
	uint64_t shown;	    /* synchronous signals that the kernel keeps now */
	uint64_t seeks;	    /* those of them that its system call looks for */
	uint32_t seek_rank; /* how surely it does: sent.c */
	uint32_t disturbed; /* by a signal that must not end a call: sent.c */
	uint32_t raised;    /* .held_info is a fault of the thread's own */
	uint32_t passing;   /* in a call that needs nothing done behind it */
	uint32_t leaving;   /* the engine's trap is the way out: leave.c */
	uint32_t freezing;  /* it was asked to be: */
	uint32_t frozen;    /* in its own code until the end: freeze.c */
	/* step.c */
	uint32_t cs, ss;    /* the program's */
	uint32_t step_kind; /* 0: not stepping; see step.c */
	/* seccomp.c */
	uint32_t seccomp;	/* 0, 1 strict, 2 filtered by the engine */
	struct filter *filters; /* borrowed: innermost first */
	uint64_t call_start, call_len, call_selector; /* user dispatch */
	uint32_t call_dispatch;
	uint32_t is_vfork;   /* a vfork's child: its parent frees the slot */
	uint32_t forgets;    /* CLONE_CLEAR_SIGHAND: before it starts */
	uint32_t is_process; /* the first thread of one */
	uint32_t own_limits; /* limitcall.c: a bit each; */
	uint64_t hard_limits[2]; /* the kernel's, while execve is called */
	struct vcpu *free;	 /* thread.c: the next free slot */
	/* join.c */
	uint32_t restart; /* why the call at .pc is to be made again, or 0 */
	uint32_t rseq_len, rseq_signature;
	uint64_t rseq; /* what it had registered; 0: nothing */
};

#define VCPU_AT(field, offset)                                          \
	_Static_assert((int)offsetof(struct vcpu, field) - SLOT_SIZE == \
			   (offset),                                    \
		       "vcpu.h")
VCPU_AT(gpr, VCPU_GPR);
VCPU_AT(rflags, VCPU_RFLAGS);
VCPU_AT(pc, VCPU_PC);
VCPU_AT(spill, VCPU_SPILL);
VCPU_AT(gs_base, VCPU_GS);
VCPU_AT(stack, VCPU_STACK);
VCPU_AT(leave, VCPU_LEAVE);
VCPU_AT(enter, VCPU_ENTER);
VCPU_AT(exit_reason, VCPU_REASON);
VCPU_AT(exit_arg, VCPU_ARG);
VCPU_AT(held, VCPU_HELD);
VCPU_AT(budget, VCPU_BUDGET);
VCPU_AT(miss, VCPU_MISS);
VCPU_AT(source, VCPU_SOURCE);
VCPU_AT(check, VCPU_CHECK);
VCPU_AT(resume, VCPU_RESUME);
VCPU_AT(fs_base, VCPU_FS);
VCPU_AT(epoch, VCPU_EPOCH);
VCPU_AT(count_end, VCPU_COUNT);
VCPU_AT(gather, VCPU_GATHER);
VCPU_AT(saved_flags, VCPU_SAVED);
VCPU_AT(saved_rax, VCPU_RAX);
VCPU_AT(lines, VCPU_LINES);
VCPU_AT(line, VCPU_LINE);
VCPU_AT(ticket, VCPU_TICKET);
VCPU_AT(after, VCPU_AFTER);
VCPU_AT(host_fs, VCPU_HOST);
VCPU_AT(map, VCPU_MAP);
VCPU_AT(locked, VCPU_LOCKED);
VCPU_AT(seen, VCPU_SEEN);
VCPU_AT(time, VCPU_TIME);
VCPU_AT(pkru, VCPU_PKRU);
VCPU_AT(cells, VCPU_CELLS);
_Static_assert(sizeof(struct vcpu) <= SLOT_TAPE, "vcpu.h");

/* What gs is for the engine: emitted code reaches the vcpu at negative offsets,
 * and what may lie behind the slot (the shadow of memory) at positive ones. */
static inline uint64_t vcpu_gs(const struct vcpu *v)
{
	return (uint64_t)v + SLOT_SIZE;
}

/* Where the thread is: how often it has gone back, or by an indirect branch
 * (wire/record.h). Setting what is left until it is out leaves it alone. */
static inline uint64_t vcpu_count(const struct vcpu *v)
{
	return v->count_end - (uint64_t)v->budget;
}

static inline void vcpu_set_budget(struct vcpu *v, int64_t budget)
{
	v->count_end = vcpu_count(v) + (uint64_t)budget;
	v->budget = budget;
}

static inline struct vcpu *vcpu_of_stack(uint64_t rsp)
{
	return (struct vcpu *)((rsp - 1) & ~(uint64_t)(SLOT_SIZE - 1));
}

#endif
#endif
