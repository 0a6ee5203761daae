/* image/expr.h - where is it? DWARF's location expressions.
 *
 * A location is a little program over registers and memory of a frame. It
 * ends in an address, a register, a value, or several pieces of these. The
 * caller says what registers and memory hold, as far as that is known; what
 * is not known makes no location, never a wrong one. */
#ifndef IMAGE_EXPR_H
#define IMAGE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame, to evaluate locations in. Functions return 0, or -1 for what is
 * not known. Registers have DWARF's numbers: 0 to 15 general, 16 rip, 17 to
 * 32 xmm. */
struct expr_frame {
	int (*reg)(void *ctx, unsigned number, uint8_t out[16], size_t *len);
	int (*memory)(void *ctx, uint64_t addr, void *out, size_t len);
	/* Where the variable at this offset of the module's thread-local
	 * storage is. */
	int (*tls)(void *ctx, uint64_t offset, uint64_t *out);
	int (*cfa)(void *ctx, uint64_t *out);
	/* What a register held when the function was entered. */
	int (*entry)(void *ctx, unsigned number, uint64_t *out);
	void *ctx;     /* borrowed */
	uint64_t bias; /* of the module */
	uint64_t pc;   /* link-time address; for return addresses one less */
};

enum expr_kind {
	EXPR_NOWHERE, /* optimized out, or not known */
	EXPR_MEMORY,  /* at an address */
	EXPR_REGISTER,
	EXPR_VALUE, /* it is no thing, but this is its value */
	EXPR_BYTES, /* the same, longer */
};

struct expr_piece {
	enum expr_kind kind;
	uint64_t u;	      /* address, register or value */
	const uint8_t *bytes; /* borrowed from the file: of EXPR_BYTES */
	uint64_t bytes_len;
	uint64_t bits; /* that this piece has; 0: all */
	uint64_t skip; /* bits of the source that come before */
};

enum { EXPR_PIECES = 16 };
struct expr_place {
	struct expr_piece piece[EXPR_PIECES];
	unsigned n;
	bool missing; /* something that it needs is not known: not the same as
		       * optimized out */
};

/* Reads len bytes from bit `skip` of the place on. known[i] is 0 where out[i]
 * is not. Returns how many are known. */
size_t expr_read(const struct expr_place *p, const struct expr_frame *f,
		 uint64_t offset, uint8_t *out, uint8_t *known, size_t len);

#endif
