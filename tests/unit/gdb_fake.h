/* tests/unit/gdb_fake.h - a tiny history behind the gdb server.
 *
 * A process of two threads executes FAKE_LEN instructions, in turns of five.
 * Thread 1 (tid 101) walks in a circle of four instructions at FAKE_CODE, each
 * three bytes long, thread 2 (tid 102) in one at FAKE_CODE + 0x40. The third
 * of each circle adds 1 to the word at FAKE_WORD. A position of thread T is
 * how many instructions of its own T has executed. Thread 2 begins with its
 * first turn; the recording ends when thread 1 dies of a SIGSEGV. */
#ifndef GDB_FAKE_H
#define GDB_FAKE_H

#include "gdb/api.h"

enum {
	FAKE_LEN = 40,
	FAKE_PID = 100,
	FAKE_CODE = 0x1000,
	FAKE_WORD = 0x5000,
	FAKE_STACK = 0x7000,
	FAKE_TLS = 0x6000,
};

extern const struct gdb_api fake_api;

/* A new one; NULL is not returned. */
struct hark_recording *fake_new(void);
void fake_free(struct hark_recording *r);
/* More memory that is known, always; and mapped, unless path is NULL. The
 * bytes are those of a module, too, if path begins with '/'. Borrowed. */
void fake_know(struct hark_recording *r, uint64_t address, const void *bytes,
	       size_t len, const char *path);

/* How many instructions both have executed. */
unsigned fake_moment(const struct hark_timeline *t);
/* Runs take for ever until the progress function stops them. */
void fake_stall(struct hark_recording *r);
/* No timeline of the first process can be opened any more. */
void fake_refuse(struct hark_recording *r);
/* How often conditions were asked. */
unsigned fake_asked(const struct hark_recording *r);
/* How often memory was read of the history. */
unsigned fake_reads(const struct hark_recording *r);

#endif
