/* image/expr_priv.h - the machine that evaluates location expressions. */
#ifndef IMAGE_EXPR_PRIV_H
#define IMAGE_EXPR_PRIV_H

#include "image/dw_priv.h"
#include "image/expr.h"

/* The expression of an entry of u. function: whose frame base counts; NULL:
 * it has none. Never fails: what cannot be evaluated is nowhere. */
void expr_run(struct dw_unit *u, const struct dw_entry *function,
	      const uint8_t *code, size_t len, const struct expr_frame *f,
	      struct expr_place *out);

/* What an attribute says that is an expression or a list of them, at f->pc.
 * False: there is nothing for that pc. */
bool expr_bytes(struct dw_unit *u, const struct dw_value *v, uint64_t pc,
		const uint8_t **code, size_t *len);

#endif
