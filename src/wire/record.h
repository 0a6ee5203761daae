/* wire/record.h - what a recorded thread says, byte by byte.
 *
 * Each thread writes one stream of records into a ring of its own; each
 * process one more (code and mappings), under a lock. hark cuts the streams
 * into DATA chunks of the file, at record borders; so these are the bytes of
 * recordings too. docs/format.md tells the same.
 *
 * THE SHADOW. A thread computes with a private copy of the memory it reads:
 * 4 GiB, indexed by the low 32 bits of address + WIRE_SHADOW_SKEW (of an
 * fs-relative operand: of the address without the base of fs). A load whose
 * bytes in memory differ from the copy is logged and the copy corrected; a
 * store goes to both. So replay needs the copy and the log, and no memory.
 *
 * POSITIONS. A moment of a thread is (count, pc): pc is about to be executed,
 * count never falls. The count grows by one
 *   N1  when an indirect branch (ret, jmp *, call *) arrives at its target;
 *   N2  when a direct branch (jcc, loop, jmp, call) is taken to a target that
 *       is not above the branch itself;
 *   N3  when a STATE record has been applied;
 *   N4  when a repeated string instruction goes on after a part of it (what
 *       parts are: engine/string.c; the part that ends it does not count).
 * So the same (count, pc) never comes twice, whatever superblocks look like.
 *
 * REPLAY. A thread starts at a KEY with an empty (zeroed) shadow. Run until
 * the next record's position, apply it, go on:
 *	GRANULE, BYTES	the shadow there; the instruction is then executed
 *	RESULT		registers; the instruction is skipped
 *	CALL		rax, rcx, r11; the instruction (syscall) is skipped
 *	STATE		all registers, pc included; the count grows (N3)
 *	EPOCH		from here on code of serial numbers up to this is seen
 *	KEY		compare all registers; then the shadow is emptied
 *	END		compare; the thread is no more
 * Memory that the log does not mention is what the thread itself made of it.
 *
 * ORDER. Which thread of a process came first? Memory is divided into
 * WIRE_ORDER_LINES by a hash of the address; each has a counter. A locked
 * instruction draws a ticket of its line before it is executed; a system call
 * one of the line WIRE_ORDER_KERNEL on its way in and one on its way out, and
 * a fence one. Tickets of a line ascend by one. A thread that gets its own
 * last ticket plus one (after a KEY: 0) says nothing: nobody else was there.
 * Others are told: the ticket, and how many more had been drawn when the
 * instruction was done (`overtaken`; with those the order is not known, with
 * all others it is that of the tickets). A load that was not foreseen tells,
 * too, without a ticket (WIRE_ORDER_SEEN), and so does a thread behind its
 * KEY, where it looks again at what it has in common with others: zeros are
 * foreseen by a shadow that is empty. A handler's begin, a thread's begin and
 * end always tell. So whatever another thread did before comes with a record
 * here, and the parts between such records, put in the order of the records'
 * times, are one order that all threads agree with; but for what a thread
 * reads for the first time since its KEY, finds to be 0, and did not look at
 * again.
 *
 * Pure layouts; released layouts only grow. */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_RECORD_VERSION = 3, /* of all that is said here */
	/* Version 1 had no LOCKED, and no time in BYTES. Up to version 2 a pop
	 * to memory ended a superblock and had a STATE, and mprotect was not
	 * recorded. */
	WIRE_RECORD_OLDEST = 1,
	WIRE_SHADOW_SKEW = 0x5840, /* docs/decisions.md has the reason */
	WIRE_GRANULE = 32,
	WIRE_STRING_PART = 8192, /* bytes, at most */
	WIRE_XSTATE_MAX = 16384,
	WIRE_ORDER_LINES = 4096,
	WIRE_ORDER_KERNEL = WIRE_ORDER_LINES, /* one more */
	WIRE_ORDER_SEEN,
};
#define WIRE_SHADOW_SIZE (1ull << 32)

/* ORDER wire_record (restore's table) */
enum wire_record_type {
	/* Of a thread: */
	WIRE_REC_START = 1, /* struct wire_rec_start; a KEY follows */
	WIRE_REC_KEY,	    /* struct wire_rec_key, xstate */
	WIRE_REC_GRANULE,   /* position, index / 32: 4 bytes, 32 bytes */
	WIRE_REC_BYTES,	    /* position, time since the last CALL, ORDER or
			     * KEY: varint (if WIRE_BYTES_SEEN), index: 4
			     * bytes, the bytes */
	WIRE_REC_RESULT,    /* position, set of registers: 2 bytes, rflags: 8
			     * bytes, each register: 8 bytes; info: length */
	WIRE_REC_CALL,	    /* position, number: varint, answer: zigzag,
			     * time since the last CALL, ORDER or KEY: varint */
	WIRE_REC_STATE,	    /* position, struct wire_rec_state, siginfo (if
			     * WIRE_STATE_SIGNAL), xstate; info: WIRE_STATE_ */
	WIRE_REC_EPOCH,	    /* position, serial: varint (as before: it was
			     * there, no more) */
	WIRE_REC_ORDER,	    /* position, line, ticket, overtaken, time since
			     * the last CALL, ORDER or KEY: varints */
	WIRE_REC_END,	    /* position, struct wire_rec_state, siginfo (if
			     * WIRE_END_SIGNAL), xstate; info: WIRE_END_ */
	WIRE_REC_LOCKED,    /* see struct wire_locked */
	/* Of a process (the stream of thread 0): */
	WIRE_REC_PROCESS = 16, /* struct wire_rec_process */
	WIRE_REC_CODE,	       /* serial: varint, address: 8 bytes, the code */
	WIRE_REC_MAP,	       /* struct wire_rec_map, path */
	WIRE_REC_UNMAP,	       /* struct wire_rec_unmap */
	WIRE_REC_NAME,	       /* struct wire_rec_name */
	WIRE_REC_PROT,	       /* struct wire_rec_prot */
	WIRE_REC_MAX
};

/* Every record: this, then len bytes. */
struct wire_rec {
	uint8_t type; /* enum wire_record_type */
	uint8_t info;
	uint16_t len;
};
_Static_assert(sizeof(struct wire_rec) == 4, "file layout");

/* A position is two varints: count - the last one's, and pc - the last one's
 * as zigzag. The last one is the stream's last record that has a position; a
 * KEY and a START have absolute ones. Varints are LEB128, 7 bits a byte, the
 * low ones first, at most 10 bytes. zigzag: (n << 1) ^ (n >> 63). */

/* Why it began. */
enum wire_start {
	WIRE_START_PROGRAM,
	WIRE_START_THREAD,
	WIRE_START_FORK,
	WIRE_START_ATTACH,
};
struct wire_rec_start {
	uint32_t process; /* numbered from 1 in its channel */
	uint32_t thread;  /* numbered from 1 in its process */
	uint32_t pid, tid;
	uint32_t why;	 /* enum wire_start */
	uint32_t parent; /* the thread that made it; 0: unknown */
	uint64_t time_ns;
};
_Static_assert(sizeof(struct wire_rec_start) == 32, "file layout");

/* General registers by hardware number. */
struct wire_rec_state {
	uint64_t gpr[16];
	uint64_t rflags, pc, fs_base, gs_base;
	uint64_t sigmask;
};
_Static_assert(sizeof(struct wire_rec_state) == 168, "file layout");

enum {			      /* info of STATE */
       WIRE_STATE_SIGNAL = 1, /* a handler was entered: siginfo, 128 bytes */
       WIRE_STATE_RETURN = 2, /* from one */
       WIRE_STATE_STEP = 4,   /* an instruction was left to the CPU */
       WIRE_STATE_XSTATE = 8, /* xstate follows; else it is unchanged */
};

enum {			 /* info of END */
       WIRE_END_THREAD,	 /* exit */
       WIRE_END_PROCESS, /* exit_group */
       WIRE_END_EXEC,	 /* another program */
       WIRE_END_SIGNAL,	 /* its default action */
       WIRE_END_STOP,	 /* recording was stopped; the thread goes on */
};

enum {			      /* info of KEY */
       WIRE_KEY_NO_FLAGS = 1, /* CF PF AF ZF SF OF mean nothing here: the
			       * program will not look at them */
};
struct wire_rec_key {
	uint64_t count; /* absolute */
	uint64_t epoch; /* code of serial numbers up to this is seen */
	uint64_t time_ns, tsc;
	uint32_t tid, parent; /* as in START */
	struct wire_rec_state state;
};
_Static_assert(sizeof(struct wire_rec_key) == 208, "file layout");

/* xstate: a mask of 8 bytes (which components follow; the others are in their
 * initial state), then 512 bytes as fxsave stores them, then each component
 * above 1 of the mask in ascending order with the size that CPUID leaf 0xd
 * tells (recordings carry those: META keys xstate_N=offset,size). */

enum {			    /* info of BYTES */
       WIRE_BYTES_SEEN = 1, /* an ORDER of WIRE_ORDER_SEEN comes before */
       WIRE_BYTES_KEPT = 2, /* as they were before the KEY: nothing new */
};

/* LOCKED. A locked instruction has met another thread: an ORDER, and before it
 * the BYTES that it has found in memory, if the shadow did not have them. It
 * mostly is the same instruction on the same memory again, so what was told
 * last is kept, in WIRE_LOCKED_SLOTS by the instruction's address (a KEY
 *empties them), and the difference is told: position
 *	line: varint			(unless WIRE_LOCKED_SAME)
 *	index: 4 bytes			(likewise, if WIRE_LOCKED_VALUE)
 *	ticket - the last: varint
 *	overtaken: varint		(if info has WIRE_LOCKED_MORE there)
 *	time: varint			(as in ORDER)
 *	value - the last: zigzag	(if WIRE_LOCKED_VALUE)
 * Where line and index are told, the last ticket and value are 0. Values have
 * 1, 2, 4 or 8 bytes; so has their difference, which has a sign. */
enum {			       /* info of LOCKED */
       WIRE_LOCKED_SAME = 1,   /* line and index are those of the slot */
       WIRE_LOCKED_VALUE = 2,  /* there are BYTES */
       WIRE_LOCKED_SIZE = 2,   /* shift: log 2 of their length: 2 bits */
       WIRE_LOCKED_BEHIND = 4, /* shift: overtaken, 4 bits; or: */
       WIRE_LOCKED_MORE = 15,  /* it comes as a varint */
       WIRE_LOCKED_SLOTS = 16,
};
struct wire_locked {
	uint64_t ticket, value;
	uint32_t line, index;
};

/* By its place in its page: that does not change from run to run. */
static inline unsigned wire_locked_slot(uint64_t pc)
{
	return ((uint32_t)pc & 0xfff) * 0x9e3779b1u >> 28;
}

/* The lowest bytes of a value; and with their sign. */
static inline uint64_t wire_locked_low(uint64_t value, unsigned size)
{
	return size < 8 ? value & ((1ull << 8 * size) - 1) : value;
}

static inline int64_t wire_locked_signed(uint64_t value, unsigned size)
{
	return (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size);
}

struct wire_rec_process {
	uint32_t process; /* numbered from 1 in its channel */
	uint32_t parent;  /* that it was forked from; 0: it began here */
	uint32_t pid;
	uint32_t pad;
	uint64_t serial; /* of code, when it was forked: it has all up to it */
	uint64_t time_ns;
};
_Static_assert(sizeof(struct wire_rec_process) == 32, "file layout");

struct wire_rec_map {
	uint64_t start, end, offset;
	uint64_t serial; /* of code, when it was mapped */
	uint64_t dev, ino, size, mtime_ns;
	uint32_t prot, flags;
	uint64_t count;	 /* of the thread that mapped it, then */
	uint32_t thread; /* 0: it was there when the recording began */
	uint32_t pc;	 /* its low half, at that call; 0: not known */
};
_Static_assert(sizeof(struct wire_rec_map) == 88, "file layout");

enum {			     /* info of UNMAP */
       WIRE_UNMAP_EMPTY = 1, /* it stays mapped, but what it held is gone */
       WIRE_UNMAP_WHOLE = 2, /* all that was mapped at start by one MAP */
};
struct wire_rec_unmap {
	uint64_t start, end;
	uint64_t count; /* as in MAP */
	uint32_t thread, pc;
};
_Static_assert(sizeof(struct wire_rec_unmap) == 32, "file layout");

enum {			   /* info of PROT */
       WIRE_PROT_PART = 1, /* the call failed: all of the range, a part of it
			    * or nothing was changed */
};
/* Memory that is mapped may be read, written and executed otherwise from then
 * on (mprotect). */
struct wire_rec_prot {
	uint64_t start, end;
	uint64_t count; /* as in MAP */
	uint32_t thread, pc;
	uint32_t prot, pad;
};
_Static_assert(sizeof(struct wire_rec_prot) == 40, "file layout");

/* What a thread is called from then on. */
struct wire_rec_name {
	uint64_t count;	 /* of the thread that says so */
	uint32_t by;	 /* its number; 0: the thread began with it */
	uint32_t thread; /* whose it is; 0: that of this tid */
	uint32_t tid, pad;
	char name[16]; /* ended by a 0 */
};
_Static_assert(sizeof(struct wire_rec_name) == 40, "file layout");

/* CODE. Serial numbers ascend in a process's stream, by one or more. A thread
 * at epoch E sees at an address the newest bytes with serial <= E; if there
 * are none, the oldest of all. (First versions need no EPOCH: nobody can have
 * executed anything else there.) */

/* In the channel's first page, behind struct wire_run: what recording needs.
 *
 * Rings belong to all processes of the channel. Whoever wants one takes the
 * lowest that is free:
 *
 *	for each ring i, from 0:
 *		n_rings = max(n_rings, i + 1)	before anything else
 *		ring[i].state FREE -> OPEN	compare and swap
 *		ring_open			if that was it
 *
 * and gives it back by ring_close; hark makes it free (and empty) once it has
 * been drained. A process takes one for its own stream, and commits PROCESS
 * there, before its first thread takes one for START. Every commit is of whole
 * records. Who finds no free ring adds 1 to left_out and is not recorded.
 *
 * hark looks at the rings from time to time. It must be told
 *	when a chunk was published (wire_ring.head has grown),
 *	before one waits on wire_ring.tail, for a ring is full,
 *	after ring_close
 * by: bell += 1; if asleep was exchanged for 0 and was not 0: wake bell.
 * Who waits looks at wanted and at hark_lock (wire/run.h) every 50 ms or so;
 * when either says that it is over, nobody writes any more. */
struct wire_recording {
	uint32_t wanted;      /* 1: record. 0: it is over; nobody writes */
	uint32_t n_processes; /* numbered so far */
	uint64_t key_every;   /* counts between keys; 0: as it suits */
	uint32_t n_rings;     /* no ring from here on was ever taken */
	uint32_t bell;	      /* futex: look at the rings */
	uint32_t asleep;      /* hark sleeps on the bell */
	uint32_t left_out;    /* streams that found no ring */
};
_Static_assert(sizeof(struct wire_recording) == 32, "shared layout");
enum { WIRE_RECORDING_AT = 3968 };
_Static_assert(WIRE_RECORDING_AT + sizeof(struct wire_recording) <= 4096,
	       "one page");

static inline struct wire_recording *wire_recording_of(void *channel)
{
	return (struct wire_recording *)((uint8_t *)channel +
					 WIRE_RECORDING_AT);
}

#endif
