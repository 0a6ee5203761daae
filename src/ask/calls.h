/* ask/calls.h - every call of a function: arguments and result.
 *
 * A call is the execution of the function's first instruction; what it
 * returned is seen when the same thread is at the return address with its
 * stack pointer just above it. Arguments are where the ABI has them
 * (image/abi.h) if debug information tells their types, else the six integer
 * registers. A call that is left otherwise (exec, exit, longjmp, the end of
 * the recording) has no result. Where a function was inlined nothing is called:
 * what is listed is that its code begins, without arguments and result. */
#ifndef ASK_CALLS_H
#define ASK_CALLS_H

#include "ask/functions.h"
#include "ask/prose.h"
#include "ask/space.h"

struct calls_value {
	const char *name; /* "" for the result */
	char *type;	  /* owned by the call; "" if not known */
	char *text;	  /* the same */
};

struct calls_call {
	const struct function_place *function; /* borrowed from the list */
	struct hark_position at, returned_at;
	bool has_returned;
	uint64_t caller; /* its return address */
	struct calls_value *arguments;
	unsigned n;
	struct calls_value result; /* text "": it returns nothing */
};

/* Not 0 from `each` ends it. */
typedef int calls_each(void *ctx, const struct calls_call *c);

struct calls_wish {
	struct hark_position from, to;
	uint64_t most; /* no more than these; 0: all */
	bool is_raw;   /* values are shown without containers */
};

/* All calls of these functions between two moments, in their order. The
 * timeline is moved. */
int calls_list(struct ask_pair *p, struct space *s,
	       const struct functions *functions, const struct calls_wish *wish,
	       calls_each *each, void *ctx, struct hark_err *err);

#endif
