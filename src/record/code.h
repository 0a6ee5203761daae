/* record/code.h - which bytes of code a process had, and when.
 *
 * All CODE records of a process, and of those it was forked from, by address
 * and serial number. A reader stands at an epoch E and sees at an address the
 * newest bytes with a serial number up to E; if there are none, the oldest of
 * all. Whoever keeps something made of the bytes is told what changes when the
 * epoch does.
 *
 * Memory is bounded, whatever the recording says. Hosted. */
#ifndef RECORD_CODE_H
#define RECORD_CODE_H

#include "base/err.h"
#include "record/recording.h"

#include <stdint.h>

enum { CODE_MEMORY_MAX = 1 << 30 }; /* bytes, of one process */

struct code; /* opaque */

/* No code yet, and never more than memory_max bytes of memory for it. NULL:
 * no memory at all. */
struct code *code_new(size_t memory_max);
void code_free(struct code *c);

/* Everything that a process of a recording could execute. */
int code_load(struct recording *r, uint32_t process, struct code **out,
	      struct hark_err *err);

/* Adds what a CODE record says. Serial numbers must not fall. */
int code_add(struct code *c, uint64_t serial, uint64_t address,
	     const uint8_t *bytes, uint32_t len, struct hark_err *err);

/* From here on the code is that of this epoch. Calls changed (unless it is
 * NULL) for every range of addresses whose bytes differ from those before. */
typedef void code_changed(void *ctx, uint64_t start, uint64_t end);
void code_set_epoch(struct code *c, uint64_t epoch, code_changed *changed,
		    void *ctx);
uint64_t code_epoch(const struct code *c);

/* Copies up to len bytes at pc; how many of them are known. A replay_fetch
 * (engine/replay.h): ctx is the struct code. */
unsigned code_fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len);

#endif
