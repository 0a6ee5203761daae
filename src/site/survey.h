/* site/survey.h - what is known of a module's code?
 *
 * Whoever changes an instruction must know where instructions start, where
 * branches lead, and which bytes nobody executes. A survey holds that for all
 * code of one file, one byte of facts a byte of code, by link-time addresses.
 *
 * S1  SURVEY_START is set where control can be followed to from the entry of
 *     a function (through a register, if an lea has just put an address of
 *     the function there), also into code that is part of no known function;
 *     and (with SURVEY_SWEPT) where decoding the rest in a line gives a
 *     sequence that ends exactly where the known code goes on: not in functions
 *     whose size is not known, where data may follow. Outside of functions that
 *     sequence must be the same wherever decoding begins. A label without a
 * type is a function if it is proved to be code (survey_labels.c). S2
 * SURVEY_TARGET is set at least wherever a direct branch or a call of any
 *     surveyed function leads, behind every call, at instructions whose
 *     address an lea takes, and where entries of jump tables lead that could
 *     be recognised. Indirect branches may lead elsewhere: code that relies on
 *     a byte not being a target makes it trap.
 * S3  SURVEY_PAD is set on nops and int3 behind an instruction that does not
 *     fall through, if no known branch leads there, and nothing that could be
 *     followed. That is how assemblers fill up to the next aligned place:
 *     what is jumped to is that place, never the filling.
 *
 * Hosted; the functions on bytes alone do no I/O. */
#ifndef SITE_SURVEY_H
#define SITE_SURVEY_H

#include "base/err.h"
#include "x86/decode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_file;

enum {			   /* facts of one byte */
       SURVEY_START = 1,   /* an instruction starts here */
       SURVEY_SWEPT = 2,   /* ... as far as decoding in a line can tell */
       SURVEY_TARGET = 4,  /* something jumps, or returns, here */
       SURVEY_ENTRY = 8,   /* a function starts here */
       SURVEY_PAD = 16,	   /* nobody executes this */
       SURVEY_INSIDE = 32, /* of a function */
       SURVEY_DATA = 64,   /* something reads this, or takes its address */
       SURVEY_TAKEN = 128, /* a patch changes or moves it, or relies on it */
};

enum {			  /* beside a length */
       SURVEY_LED = 64,	  /* a direct branch or call leads here */
       SURVEY_ENDS = 128, /* the next one is not executed after it */
       SURVEY_LEN = 15,
};
/* Bytes: further than any patch, or padding that one hops to, reaches. */
enum { SURVEY_NEAR = 192 };

/* Addresses, owned, in any order. */
struct survey_list {
	uint64_t *at;
	size_t n, room;
};

struct survey {
	uint64_t start, len; /* of the code */
	uint8_t *bytes;	     /* owned */
	uint8_t *facts;	     /* owned */
	/* Owned: of each instruction that starts there, its length, and
	 * SURVEY_ENDS. So none is decoded twice. And SURVEY_LED. */
	uint8_t *shapes;
	struct survey_list reached; /* known code leads there, and out of its
				     * function */
	uint8_t *barred; /* owned; NULL: nothing is (site/barred.h) */
	/* Of the function being looked at not even the end is sure: what cannot
	 * be followed in it is not decoded in a line. */
	bool is_strict;
	/* How to read what is not code (jump tables), or NULL. */
	size_t (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	void *ctx; /* borrowed */
};

/* All functions of a file. */
int survey_of_file(struct image_file *f, struct survey **out,
		   struct hark_err *err);
/* The same in two steps: its bytes, then what is known of them. */
int survey_read(struct image_file *f, struct survey **out,
		struct hark_err *err);
int survey_functions(struct survey *s, struct image_file *f,
		     struct hark_err *err);
/* The same of functions that the file itself speaks of: separate debug files
 * are not looked for. */
int survey_functions_own(struct survey *s, struct image_file *f,
			 struct hark_err *err);
/* Of those functions of survey_functions_own() only that are near one of n
 * addresses, ascending. In those, and in the padding between them, the same is
 * known as of a survey of all functions (but that an entry may be a target,
 * too); elsewhere less. That is what it takes to change an instruction at one
 * of the addresses. */
int survey_functions_near(struct survey *s, struct image_file *f,
			  const uint64_t *addr, size_t n, struct hark_err *err);
/* Of its bytes nothing is known any more. */
void survey_forget(struct survey *s);
/* Of bytes that are copied; nothing is known of them yet. */
int survey_of_bytes(const uint8_t *bytes, uint64_t start, uint64_t len,
		    struct survey **out, struct hark_err *err);
void survey_free(struct survey *s);

/* A function at [start, end) is looked at. */
int survey_function(struct survey *s, uint64_t start, uint64_t end,
		    struct hark_err *err);
/* After the last: finds the padding in and between them. */
void survey_padding(struct survey *s);

/* The facts at an address; 0 outside of the code. */
static inline uint8_t survey_at(const struct survey *s, uint64_t addr)
{
	return addr - s->start < s->len ? s->facts[addr - s->start] : 0;
}

/* The instruction at an address; false if none is known to start there. */
bool survey_insn(const struct survey *s, uint64_t addr, struct x86_insn *out);

/* The instruction that ends where addr begins, and its address; 0 if there is
 * none, or more than one, or if something jumps to addr. */
uint64_t survey_before(const struct survey *s, uint64_t addr,
		       struct x86_insn *out);

/* Does an instruction start before an address and end behind it? Code may be
 * jumped into behind a prefix (lock), and then two share their bytes. */
bool survey_is_inside(const struct survey *s, uint64_t addr);

/* The bytes of an address in the code. */
static inline const uint8_t *survey_bytes(const struct survey *s, uint64_t addr)
{
	return s->bytes + (addr - s->start);
}

#endif
