/* ask/arith.h - C's operators, with C's conversions.
 *
 * Pure: an operand is a number with its type, nothing of a program is read.
 * Integers of up to 128 bits wrap around as the CPU's do, also where C leaves
 * that undefined; what no CPU answers (an integer divided by zero, a shift by
 * more bits than there are) is an error. An operand that is not known makes a
 * result that is not known, of the type that it would have had. */
#ifndef ASK_ARITH_H
#define ASK_ARITH_H

#include "image/types.h"

__extension__ typedef unsigned __int128 arith_wide;

enum arith_kind { ARITH_INTEGER, ARITH_FLOAT, ARITH_POINTER };

struct operand {
	enum arith_kind kind;
	struct type type;
	uint32_t size;	/* in bytes */
	uint32_t bits;	/* of a bit-field; 0: it is none */
	bool is_signed; /* of integers */
	bool is_known;	/* else u and f mean nothing */
	uint64_t step;	/* of pointers: how far the next thing is */
	arith_wide u;	/* integers, extended to all bits; pointers */
	long double f;	/* of floating-point numbers */
};

/* ORDER arith_op */
enum arith_op {
	ARITH_NONE,
	ARITH_OR_ELSE, /* || */
	ARITH_AND_THEN,
	ARITH_OR,
	ARITH_XOR,
	ARITH_AND,
	ARITH_EQ,
	ARITH_NE,
	ARITH_LE,
	ARITH_GE,
	ARITH_LT,
	ARITH_GT,
	ARITH_SHL,
	ARITH_SHR,
	ARITH_ADD,
	ARITH_SUB,
	ARITH_MUL,
	ARITH_DIV,
	ARITH_MOD,
	ARITH_MAX
};

/* The binary operator that a text begins with, and its length. */
enum arith_op arith_op_at(const char *text, size_t *len);
/* From 1 (binds least); of ARITH_NONE 0. */
unsigned arith_precedence(enum arith_op op);

/* Of a type, not known yet; false: there is no arithmetic with it. */
bool arith_of_type(struct type t, struct operand *out);
struct operand arith_integer(enum type_basic type, arith_wide u);
struct operand arith_float(enum type_basic type, long double f);

/* The bytes of a value of its type, in memory's order; at most 16. */
void arith_load(struct operand *o, const uint8_t bytes[16]);
void arith_store(const struct operand *o, uint8_t bytes[16]);

/* Each returns NULL, or why it cannot be done, as the end of a sentence that
 * begins with the operation: "divides by zero". out may be an operand. */
const char *arith_unary(char op, const struct operand *a, struct operand *out);
const char *arith_binary(enum arith_op op, const struct operand *a,
			 const struct operand *b, struct operand *out);
/* As by a cast. */
const char *arith_convert(const struct operand *a, struct type to,
			  struct operand *out);
/* -1: not known; 0 or 1: as a condition. */
int arith_truth(const struct operand *a);

#endif
