/* ask/eval.h - what does a person mean by WHAT?
 *
 *	count   shop.name   p->next->id   *p   grid[1][2]   &shop.color
 *	0x55d0c0de   table+16   $rax   (struct node *)0x55d0c0de
 *	buffer:32   *p@4
 *
 * Names are locals in scope, then fields of "this", then globals, then
 * symbols. A number, or a symbol without debug information, is an address:
 * what is there is bytes. `:N` at the end asks for N bytes as they are, `@N`
 * for N things of the kind in a row. A byte offset behind a name that is no
 * number and no pointer counts from its address. */
#ifndef ASK_EVAL_H
#define ASK_EVAL_H

#include "ask/unwind.h"
#include "image/types.h"

struct eval {
	struct space *space; /* borrowed */
	struct unwind *u;    /* borrowed: of the thread in question */
	unsigned frame;	     /* whose locals are in scope */
};

struct value {
	bool is_typed;
	bool is_number;	 /* untyped, and no thing in memory: an address */
	bool is_address; /* the same, but it was asked for itself, by & */
	bool is_code;
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
