/* image/usdt.h - the probes that a programmer put into a file.
 *
 * SystemTap's sys/sdt.h leaves a note for each (.note.stapsdt): where it is,
 * what provider and name it has, a counter that switches it on (a semaphore),
 * and where its arguments are, as an assembler would write them:
 *
 *	-4@%esi 8@-24(%rbp) 4@$7 8@table+8(%rip) 2@(%rax,%rcx,2) 4@%fs:x@tpoff
 *
 * Addresses are link-time addresses, put right for a file that was prelinked
 * since. Hosted. */
#ifndef IMAGE_USDT_H
#define IMAGE_USDT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_file;

enum { USDT_ARGS = 12 };

enum usdt_kind {
	USDT_UNKNOWN,  /* .why says why */
	USDT_CONSTANT, /* .value */
	USDT_REGISTER, /* the low .size bytes of .base, from byte .high on */
	USDT_MEMORY,   /* at .segment + .base + .index << .scale + .value */
};

enum usdt_why {
	USDT_KNOWN,
	USDT_ODD, /* not understood */
	USDT_SIZE,
	USDT_FRACTION,
	USDT_VECTOR,
	USDT_LOADER, /* sym@GOTPCREL and the like */
	/* By usdt_resolve() alone: */
	USDT_ABSENT,
	USDT_STRIPPED,
	USDT_SEVERAL,
	USDT_APART, /* thread-local, in a library */
};
/* A clause for people: "it is in a vector register". */
const char *usdt_why(enum usdt_why why);

enum usdt_segment { USDT_FLAT, USDT_FS, USDT_GS };

enum { USDT_RIP = 0xfe, USDT_NOREG = 0xff }; /* as a base, an index */

struct usdt_arg {
	enum usdt_kind kind;
	enum usdt_why why;
	const char *text; /* borrowed: as written, .text_len of it */
	size_t text_len;
	/* A name whose address is to be added to .value, borrowed; else NULL.
	 * A base of USDT_RIP has one. */
	const char *symbol;
	size_t symbol_len;
	bool is_tpoff;	/* its distance from fs is */
	bool is_linked; /* .value is a link-time address */
	enum usdt_segment segment;
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	uint8_t base, index; /* by hardware number: rax 0, rcx 1 ... r15 15 */
	uint8_t scale;	     /* a shift */
	uint8_t high;	     /* 1: ah, bh, ch or dh */
	int64_t value;	     /* constant, or displacement */
};

struct usdt {
	const char *provider, *name; /* borrowed from the file */
	const char *text;	     /* likewise: the arguments as written */
	uint64_t addr;
	uint64_t semaphore; /* of a 16-bit counter; 0: none */
	struct usdt_arg arg[USDT_ARGS];
	unsigned n_args;
};

/* Calls visit with each, in the order of the file. Not 0 from it ends that,
 * and is returned; -1 is an error of the file. A file without any is no
 * error. Damaged notes are passed over. */
int usdt_each(struct image_file *f,
	      int (*visit)(void *ctx, const struct usdt *u), void *ctx,
	      struct hark_err *err);

/* One argument of a specification; *text is moved behind it. False at its
 * end. */
bool usdt_parse(const char **text, struct usdt_arg *out);

/* Puts the address of a name in its place, or makes it unknown; one without a
 * name stays as it is. is_program: f is no library. */
void usdt_resolve(struct image_file *f, bool is_program, struct usdt_arg *a);

#endif
