/* travel/channel.h - two processes that take turns over one piece of memory.
 *
 * The caller writes a message and gives the turn away; it has it back when the
 * other side has written one. So there is one message at a time, and one room
 * for it. A side that waits looks at the turn for some microseconds before it
 * sleeps, unless that was in vain lately: to be woken takes longer than many
 * calls do.
 *
 * C1  The two sides strictly alternate: only the one that has the turn writes.
 * C2  What the caller's side reads was written by a process that may be in an
 *     attacker's hands, and may change while it is read: it is copied once, and
 *     the copy is checked. */
#ifndef TRAVEL_CHANNEL_H
#define TRAVEL_CHANNEL_H

#include <hark/recording.h>

#include <stdatomic.h>
#include <stdint.h>

enum {
	CHANNEL_DATA = 4 << 20,
	CHANNEL_READ = 1 << 20, /* memory that one message may have */
	CHANNEL_TEXT = CHANNEL_DATA - 1024, /* where an error's text begins */
};

enum channel_side { CHANNEL_CALLER, CHANNEL_SERVER };

enum channel_kind {
	CHANNEL_CALL,	/* caller: do this */
	CHANNEL_DONE,	/* server: it is done */
	CHANNEL_ASK,	/* server, meanwhile: what does the caller say? */
	CHANNEL_ANSWER, /* caller: this */
};

/* ORDER channel_op: serve.c has a row for each call. */
enum channel_op {
	/* Calls. */
	CHANNEL_OPEN,
	CHANNEL_PREPARE,
	CHANNEL_PREPARE_SEARCH,
	CHANNEL_THREAD,
	CHANNEL_THREAD_LIVES,
	CHANNEL_THREAD_NAME,
	CHANNEL_SELECT,
	CHANNEL_PARSE,
	CHANNEL_COMPARE,
	CHANNEL_SEEK,
	CHANNEL_SEEK_START,
	CHANNEL_SEEK_END,
	CHANNEL_REGISTERS,
	CHANNEL_READ_MEMORY,
	CHANNEL_NEXT_KNOWN,
	CHANNEL_MAPPINGS,
	CHANNEL_SIGNAL,
	CHANNEL_STEP,
	CHANNEL_RUN,
	CHANNEL_BREAK,
	CHANNEL_WATCH,
	CHANNEL_CATCH_CALL,
	CHANNEL_CATCH_SIGNAL,
	CHANNEL_FORGET_STOP,
	CHANNEL_LAST_WRITE,
	CHANNEL_ACCESSES,
	CHANNEL_VISITS,
	CHANNEL_RACES,
	CHANNEL_POSSIBLE,
	CHANNEL_CALLS, /* so many */
	/* Questions. */
	CHANNEL_PROGRESS = CHANNEL_CALLS,
	CHANNEL_CONDITION,
	CHANNEL_EACH_ACCESS,
	CHANNEL_EACH_VISIT,
	CHANNEL_EACH_RACE,
	CHANNEL_EACH_POSSIBLE,
	CHANNEL_BUILD_INDEX,
};

enum { CHANNEL_ARGS = 8 };

/* What is in args depends on op; what is in the data likewise, len bytes. */
struct channel_head {
	uint32_t kind, op;
	int64_t rc;
	uint64_t args[CHANNEL_ARGS];
	struct hark_position where; /* server: the moment */
	uint32_t len;		    /* of the data */
	uint32_t error;		    /* server: enum hark_error_code */
	uint32_t text_len;	    /* of the error's text, in the data, too */
	/* Server: the window that the moment is in, if any, and where in it.
	 * Caller: first go so far in it. */
	uint32_t window; /* its number; 0: none */
	uint32_t window_n, window_at;
	int64_t steps;
	/* Caller, while it looks at visits: first go to this one of the
	 * message, from 1; 0: go nowhere. */
	uint32_t visit, pad;
};

/* In shared memory. */
struct channel {
	_Atomic uint32_t turn; /* enum channel_side, and whether it sleeps */
	_Atomic uint32_t wants_progress;
	uint8_t pad[56];
	struct channel_head head;
	uint8_t data[CHANNEL_DATA] __attribute__((aligned(64)));
};

/* At the caller's side. NULL: no memory. */
struct channel *channel_new(void);
void channel_free(struct channel *c);

/* The message is written: the other side's turn. */
void channel_give(struct channel *c, enum channel_side self);
/* For at most so many milliseconds: 1: it is the turn of `self`; 0: not yet. */
int channel_wait(struct channel *c, enum channel_side self, int ms);

#endif
