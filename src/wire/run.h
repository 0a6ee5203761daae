/* wire/run.h - what a translated program and hark say to each other.
 *
 * Lies in the first page of the channel, behind struct wire_control. All
 * processes of one program share it (the channel is inherited over fork), so
 * every count is added to atomically.
 *
 * The ask: before a thread executes another program, hark must be there to
 * put the image into it. One asks at a time:
 *
 *	inside				hark
 *	ask.lock 0 -> 1
 *	ask.tid = mine
 *	ask.state = ASKED, bell		seizes tid
 *	waits while ASKED		ask.state = COMING, ALONE or LATER, wake
 *	ask.lock -> 0, wake
 *	execve
 *
 * After COMING hark is attached and meets the thread at the end of execve,
 * whether that succeeds or fails; after ALONE nobody is. After LATER another
 * thread of the process is on that way: it asks again in a millisecond, if it
 * lives on.
 *
 * hark_lock holds hark's thread id while hark lives and listens. If that part
 * of it is 0 (hark has ended, or does not follow) or OWNER_DIED is set (hark
 * was killed: it is a robust futex), nobody answers, and threads go alone.
 * Nobody is woken when it changes: whoever waits for an answer looks at it
 * from time to time (say every 50 ms), and goes alone after some seconds.
 *
 * Who waits long (say 50 ms) for ask.lock rings the bell: if its holder was
 * killed, hark takes the lock out of its hands (state NONE, lock 0, wake).
 *
 * Pure layouts; released layouts only grow. */
#ifndef WIRE_RUN_H
#define WIRE_RUN_H

#include <stddef.h>
#include <stdint.h>

/* Why a thread left the code cache. ORDER wire_exit */
enum wire_exit {
	WIRE_EXIT_LINK,	    /* a direct branch, before it was linked */
	WIRE_EXIT_INDIRECT, /* an indirect branch that the table missed */
	WIRE_EXIT_SYSCALL,
	WIRE_EXIT_SIGNAL, /* a signal was delivered */
	WIRE_EXIT_FAULT,  /* the program faulted */
	WIRE_EXIT_STEP,	  /* one instruction, natively */
	WIRE_EXIT_CHECK,  /* code that changes, compared before it ran */
	WIRE_EXIT_MAX
};

struct wire_stats {
	uint64_t blocks;       /* superblocks translated */
	uint64_t instructions; /* of the program, translated */
	uint64_t guest_bytes;  /* that those occupy */
	uint64_t code_bytes;   /* of the cache, used */
	uint64_t translate_ns; /* only if WIRE_RUN_TIME is set */
	uint64_t discarded;    /* superblocks whose code changed */
	uint64_t flushes;      /* times the cache was emptied */
	uint64_t processes, threads, signals;
	uint64_t exits[WIRE_EXIT_MAX];
	/* WIRE_RUN_COUNT: the counting instrument. */
	uint64_t ran_blocks, ran_instructions, ran_loads, ran_stores;
	uint64_t ran_calls, ran_returns, ran_branches, ran_syscalls;
};

enum {			    /* wire_run.flags */
       WIRE_RUN_TIME = 1,   /* measure the time of translating */
       WIRE_RUN_COUNT = 2,  /* count what runs */
       WIRE_RUN_RECORD = 4, /* record it: wire/record.h */
};

enum wire_ask_state {
	WIRE_ASK_NONE,
	WIRE_ASK_ASKED,
	WIRE_ASK_COMING,
	WIRE_ASK_ALONE,
	WIRE_ASK_LATER,
};

struct wire_ask {
	uint32_t lock;	/* futex: 0 free, 1 held, 2 held and waited for */
	uint32_t state; /* futex: enum wire_ask_state */
	uint32_t tid;	/* as the asker's own namespace numbers it */
	uint32_t pid;
};

struct wire_run {
	uint32_t flags;
	uint32_t hark_lock; /* robust futex: hark's tid, 0: nobody */
	struct wire_ask ask;
	struct wire_stats stats;
};
enum { WIRE_RUN_AT = 256 }; /* in the channel's first page */
_Static_assert(WIRE_RUN_AT + sizeof(struct wire_run) <= 4096, "one page");

/* Does anybody listen? */
static inline int wire_hark_lives(const struct wire_run *run)
{
	enum { OWNER_DIED = 0x40000000, TID_MASK = 0x3fffffff };
	uint32_t word = __atomic_load_n(&run->hark_lock, __ATOMIC_ACQUIRE);

	return (word & TID_MASK) != 0 && !(word & OWNER_DIED);
}

/* What hark knows of the target's memory when a thread enters: mappings that
 * may be executed, in ascending order; of a program that runs already also
 * those that are shared. The engine learns of all others from the system calls
 * that make them. In the first page too. */
enum {
	WIRE_MAP_WRITE = 1,
	WIRE_MAP_SHARED = 2,
	WIRE_MAP_STACK = 4,
	WIRE_MAP_EXEC = 8,
};
struct wire_map {
	uint64_t start, end;
	uint64_t flags; /* WIRE_MAP_* */
};
enum { WIRE_MAPS_AT = 1024, WIRE_MAPS_MAX = 120 };
struct wire_maps {
	uint32_t n, incomplete; /* incomplete: there are yet more */
	struct wire_map map[WIRE_MAPS_MAX];
	uint64_t more_at; /* from there on in the channel, n_more of them; the
			   * engine leaves zeros there */
	uint32_t n_more, pad;
};
_Static_assert(WIRE_MAPS_AT + sizeof(struct wire_maps) <= 4096, "one page");
_Static_assert(WIRE_RUN_AT + sizeof(struct wire_run) <= WIRE_MAPS_AT,
	       "one behind the other");

static inline struct wire_run *wire_run_of(void *channel)
{
	return (struct wire_run *)((uint8_t *)channel + WIRE_RUN_AT);
}

static inline struct wire_maps *wire_maps_of(void *channel)
{
	return (struct wire_maps *)((uint8_t *)channel + WIRE_MAPS_AT);
}

#endif
