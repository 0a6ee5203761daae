/* ask/eval_priv.h - what the files of the expression language share. */
#ifndef ASK_EVAL_PRIV_H
#define ASK_EVAL_PRIV_H

#include "ask/arith.h"
#include "ask/eval.h"

#include <stddef.h>

enum { EVAL_NAME_MAX = 512, EVAL_WORD = 8 };

/* -- eval_value.c: values -- */

struct value eval_bytes_at(uint64_t addr, uint64_t len);
struct value eval_number_of(uint64_t u);
struct value eval_pointer_to(struct type type, uint64_t addr);
struct value eval_of_operand(const struct operand *o);
/* A value of the type that is not known. */
struct value eval_unknown(struct type type);
/* As an operand of arithmetic; what is not known is one, too. NULL, or why it
 * is none: "has no known type". */
const char *eval_operand(const struct eval *e, const struct value *v,
			 struct operand *out);

/* -- eval_names.c: names and types -- */

/* "a", "a::b", "a.0" (a local symbol, by a compiler): the length of the name at
 * the begin of a text, 0 if there is none. */
size_t eval_name_len(const char *at);
/* A local variable, a field of "this", a global or an enumerator: 0; 1: there
 * is none; -1 with err. */
int eval_named(const struct eval *e, const char *name, struct value *out,
	       struct hark_err *err);
/* The errors for a name, or a field of a type, that does not exist, with what
 * may have been meant; always -1. */
int eval_no_name(const struct eval *e, const char *name, struct hark_err *err);
int eval_no_member(struct type t, const char *name, struct hark_err *err);
/* A type by its name, without stars: "struct shop", "unsigned long". */
bool eval_type_named(const struct eval *e, const char *name, struct type *out);

#endif
