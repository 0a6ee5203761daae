/* wire/run.h - what a translated program and hark say to each other.
 *
 * Lies in the first page of the channel, behind struct wire_control. All
 * processes of one program share it (the channel is inherited over fork), so
 * every count is added to atomically.
 *
 * The ask: before a thread executes another program, hark must be there to
 * put the image into it. A request is one 64-bit word of .asks, so that it is
 * made, answered and taken back by one atomic step each, and a process that is
 * stopped or killed between two of them holds nothing that others need:
 *
 *	inside				hark
 *	a word 0 -> request, bell	seizes tid
 *	waits while it is a request	request -> its answer, wake
 *	answer -> 0
 *	execve
 *
 * After COMING hark is attached and meets the thread at the end of execve,
 * whether that succeeds or fails; after ALONE nothing is attached. After LATER
 * another thread of the process is on that way: it asks again in a millisecond
 * if it lives on, then in two, in four and so on.
 *
 * A thread that finds no word free for a while replaces an answer that has not
 * been read: by a process that is stopped or dead, most likely. A thread that
 * finds its own answer replaced asks again, and is answered as before. So
 * threads never wait for each other, only for hark. (Programs that are probed
 * ask in the same words, on a board of their own: native/announce.c.)
 *
 * hark_lock holds hark's thread id while hark lives and listens. If that part
 * of it is 0 (hark has ended, or does not follow) or OWNER_DIED is set (hark
 * was killed: it is a robust futex), nobody answers, and threads go alone.
 * Nobody is woken when it changes: whoever waits for an answer looks at it
 * from time to time (say every 50 ms), and goes alone after some seconds.
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

/* A request or its answer; 0: the word is free. The low half has the state, and
 * is the futex. Process ids have 22 bits (PID_MAX_LIMIT), as the thread's own
 * namespace numbers them; the serial number tells two requests of one thread
 * apart, and those of namesakes in other namespaces. */
enum {
	WIRE_ASKS = 32,
	WIRE_ASK_SERIAL_AT = 3,
	WIRE_ASK_TID_AT = 20,
	WIRE_ASK_PID_AT = 42,
	WIRE_ASK_ID_MASK = 0x3fffff,
};

struct wire_run {
	uint32_t flags;
	uint32_t hark_lock;  /* robust futex: hark's tid, 0: nobody */
	uint32_t ask_serial; /* of the last request: counts up */
	uint32_t unused[3];
	struct wire_stats stats;
	uint64_t asks[WIRE_ASKS];
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

static inline uint64_t wire_ask_of(uint32_t pid, uint32_t tid, uint32_t serial)
{
	const uint32_t serials =
	    (1u << (WIRE_ASK_TID_AT - WIRE_ASK_SERIAL_AT)) - 1;

	return (uint64_t)(pid & WIRE_ASK_ID_MASK) << WIRE_ASK_PID_AT |
	       (uint64_t)(tid & WIRE_ASK_ID_MASK) << WIRE_ASK_TID_AT |
	       (uint64_t)(serial & serials) << WIRE_ASK_SERIAL_AT |
	       WIRE_ASK_ASKED;
}

static inline enum wire_ask_state wire_ask_state(uint64_t ask)
{
	return (enum wire_ask_state)(ask & ((1u << WIRE_ASK_SERIAL_AT) - 1));
}

static inline uint32_t wire_ask_pid(uint64_t ask)
{
	return (uint32_t)(ask >> WIRE_ASK_PID_AT) & WIRE_ASK_ID_MASK;
}

static inline uint32_t wire_ask_tid(uint64_t ask)
{
	return (uint32_t)(ask >> WIRE_ASK_TID_AT) & WIRE_ASK_ID_MASK;
}

static inline uint64_t wire_ask_answer(uint64_t request,
				       enum wire_ask_state answer)
{
	return (request & ~(uint64_t)((1u << WIRE_ASK_SERIAL_AT) - 1)) | answer;
}

/* Is this the request itself, or an answer to it? */
static inline int wire_ask_same(uint64_t ask, uint64_t request)
{
	return wire_ask_answer(ask, WIRE_ASK_ASKED) == request;
}

/* Puts the request into a free word; with `replaces` also into that of an
 * answer that has not been read. NULL: there is none. */
static inline uint64_t *wire_ask_take(uint64_t *asks, uint32_t first,
				      uint64_t request, int replaces)
{
	for (uint32_t i = 0; i < WIRE_ASKS; i++) {
		uint64_t *at = &asks[(first + i) % WIRE_ASKS];
		uint64_t was = __atomic_load_n(at, __ATOMIC_RELAXED);

		if (was != 0 &&
		    (!replaces || wire_ask_state(was) == WIRE_ASK_ASKED))
			continue;
		if (__atomic_compare_exchange_n(at, &was, request, 0,
						__ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return at;
	}
	return NULL;
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
