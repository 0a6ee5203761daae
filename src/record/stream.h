/* record/stream.h - what the bytes of a stream say, one record at a time.
 *
 *	struct record_stream s;
 *	struct record_event e;
 *
 *	record_stream_init(&s, RECORD_OF_THREAD);
 *	record_stream_feed(&s, bytes, len);	   whole records
 *	while ((rc = record_stream_next(&s, &e, &err)) > 0)
 *		use(&e);
 *
 * Nothing in the bytes is believed. Each record has a known type of the right
 * stream, holds exactly what its type says, and stands where it may stand:
 * a thread's stream begins with a KEY (before it, perhaps, a START), counts
 * never fall, and nothing follows an END. An event that is handed out can be
 * used without another look at its lengths.
 *
 * Some records are two events: a LOCKED comes as BYTES and ORDER, BYTES that
 * somebody else has changed as ORDER and BYTES. Nobody sees a LOCKED.
 * Hosted; no memory is taken. */
#ifndef RECORD_STREAM_H
#define RECORD_STREAM_H

#include "base/err.h"
#include "wire/record.h"

#include <stddef.h>
#include <stdint.h>

enum record_kind { RECORD_OF_THREAD, RECORD_OF_PROCESS };

enum {
	RECORD_XSTATE_MIN = 8 + 512, /* a mask, and what fxsave stores */
	RECORD_SIGINFO_LEN = 128,
	/* Loads begin below WIRE_SHADOW_SIZE, but may reach beyond it. */
	RECORD_SHADOW_TAIL = 4096,
};

struct record_event {
	enum wire_record_type type;
	uint8_t info;
	uint64_t number;    /* of the event, from 0 */
	uint64_t count, pc; /* where; for a KEY, too */
	/* Bytes that come with it, borrowed from the stream until its next
	 * event: of the shadow (GRANULE, BYTES), of code (CODE), a path (MAP;
	 * not terminated). */
	const uint8_t *bytes;
	uint32_t len;
	uint32_t xstate_len;	/* 0: none */
	const uint8_t *xstate;	/* borrowed; of KEY, STATE, END */
	const uint8_t *siginfo; /* borrowed; NULL if there is none */
	union {
		struct wire_rec_start start;
		struct wire_rec_key key;
		struct wire_rec_state state; /* of STATE and END */
		uint64_t index;		     /* GRANULE, BYTES: in bytes */
		struct {
			uint16_t set;
			uint8_t length; /* of the instruction */
			uint64_t rflags;
			uint64_t gpr[16]; /* those of the set */
		} result;
		struct {
			int32_t number;
			int64_t answer;
			uint64_t ticks; /* since the last CALL, ORDER, KEY */
		} call;
		uint64_t epoch;
		struct {
			uint64_t line, ticket, overtaken;
			uint64_t ticks; /* since the last CALL, ORDER, KEY */
		} order;
		struct wire_rec_process process;
		struct {
			uint64_t serial, address;
		} code;
		struct wire_rec_map map;
		struct wire_rec_unmap unmap;
		struct wire_rec_name name;
		struct wire_rec_prot prot;
	};
};

/* Callers allocate it; the fields are the stream's own. */
struct record_stream {
	enum record_kind kind;
	const uint8_t *at, *end; /* borrowed */
	uint64_t number;	 /* of the next record */
	uint64_t count, pc;	 /* of the last position */
	uint64_t serial;	 /* of the last code */
	int last;		 /* type of the last record; 0: none */
	int broken;		 /* an error was told: nothing follows */
	/* The other event of the last record: its type; 0: there is none. */
	int held;
	uint32_t held_len; /* of BYTES: they are the end of their record */
	struct record_held_order {
		uint64_t line, ticket, overtaken, ticks;
	} held_order;
	uint8_t value[8]; /* of a LOCKED */
	struct wire_locked locked[WIRE_LOCKED_SLOTS];
};

void record_stream_init(struct record_stream *s, enum record_kind kind);
/* More bytes, when there were no more. They are borrowed as long as events of
 * them are in use. */
void record_stream_feed(struct record_stream *s, const uint8_t *bytes,
			size_t len);
/* It goes on as `from`, a thread's stream, did at this offset of these bytes.
 * `from` may come from a file: it is checked as the bytes are. */
void record_stream_resume(struct record_stream *s,
			  const struct record_stream *from,
			  const uint8_t *bytes, size_t len, size_t offset);
/* 1: an event. 0: all that was fed is read. -1: it is no stream, and out holds
 * nothing to rely on. */
int record_stream_next(struct record_stream *s, struct record_event *out,
		       struct hark_err *err);

/* "KEY", "CALL"...; "?" for a number that is no type. */
const char *record_type_name(unsigned type);

#endif
