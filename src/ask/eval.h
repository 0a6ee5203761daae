/* ask/eval.h - expressions: what does a person mean by WHAT?
 *
 *	count   shop.name   p->next->id   *p   grid[1][2]   &shop.color
 *	count + 1   (a - b) / 2   p != 0 && p->id == 'x'   sizeof shop
 *	0x55d0c0de   table+16   $rax   (struct node *)0x55d0c0de
 *	buffer:32   *p@4
 *
 * Operators, types and conversions are C's. Names are locals in scope, then
 * fields of "this", then globals, then enumerators, then symbols. `:N` at the
 * end asks for N bytes as they are, `@N` for N things of the kind in a row.
 *
 * Where that and C differ: a number that is all of WHAT, and a sum that has
 * nothing but numbers, or a register, is an address: what is there is bytes.
 * So is what lies N bytes after the begin of an array, a struct or a symbol
 * without debug information, if `table+N` is all of WHAT; as a part of an
 * expression, table+N is C's pointer to an element. */
#ifndef ASK_EVAL_H
#define ASK_EVAL_H

#include "ask/unwind.h"
#include "image/types.h"

struct eval {
	struct space *space; /* borrowed */
	struct unwind *u;    /* borrowed: of the thread in question */
	unsigned frame;	     /* whose locals are in scope */
	bool is_raw;	     /* values are shown without containers */
};

struct value {
	bool is_typed;
	bool is_number;	 /* untyped, and no thing in memory: an address */
	bool is_literal; /* the same, of numbers alone; type is as C has it */
	bool is_address; /* the same, but it was asked for itself, by & */
	bool is_code;
	bool is_computed; /* by operators: it is nowhere but in bytes */
	bool is_unknown;  /* the same, of what is not known */
	bool is_enumerator;
	bool is_referred; /* named by a reference to it */
	bool is_offset;	  /* array + number: a pointer, computed. But if it is
			   * all of WHAT, it is what lies at offset_at. */
	uint64_t offset_at;
	uint8_t bytes[16]; /* if it is computed */
	struct type type;
	uint64_t len;	   /* of all its bytes; 0: not known */
	uint64_t repeated; /* by @N; 0: it is one */
	struct expr_place place;
	unsigned frame; /* in which place is */
	const struct space_module *module;
	uint64_t offset;    /* in place */
	uint32_t bit_size;  /* 0: it is no bit-field */
	uint32_t bit_shift; /* of it */
};

int eval_text(const struct eval *e, const char *text, struct value *out,
	      struct hark_err *err);

/* Its bytes; returns how many are known. */
size_t eval_read(const struct eval *e, const struct value *v, uint64_t offset,
		 uint8_t *out, uint8_t *known, size_t len);
/* Where it is in memory; false: it is not there. */
bool eval_address(const struct value *v, uint64_t *out);
/* An integer, pointer, enum, bool or char; -1: it is none, or not known. */
int eval_number(const struct eval *e, const struct value *v, int64_t *out);
/* The thing at an address. */
struct value eval_at(struct type type, uint64_t addr, uint64_t len);

struct var;
/* A variable of frame, or of a module. */
void eval_var(const struct eval *e, const struct var *v, unsigned frame,
	      const struct space_module *m, struct value *out);

#endif
