/* image/vars.h - which variables are there, and where?
 *
 * Globals by name; parameters and locals by the pc that is in their scope,
 * innermost first, with those of the functions that were inlined there. All
 * from debug information (image.h says where that is sought). Addresses are
 * link-time ones, except where an expr_frame says the bias. */
#ifndef IMAGE_VARS_H
#define IMAGE_VARS_H

#include "image/expr.h"
#include "image/types.h"

struct image_file;

struct var {
	const char *name; /* as written; or NULL */
	struct type type;
	struct dw_unit *unit;
	uint64_t die;	   /* of its entry */
	uint64_t function; /* entry whose frame it is in; 0: none */
	bool is_parameter, is_artificial; /* "this" is both */
	bool is_external;		  /* known beyond its unit */
};

/* A global, or a static one of a function or class: "count", "shop::count",
 * or as it is linked. Of several the first that others may know, else the
 * first. */
int vars_global(struct image_file *f, const char *name, struct var *out,
		struct hark_err *err);
/* The same, of some of them only. */
enum vars_which {
	VARS_ALL,
	VARS_EXTERNAL,
	VARS_OF_UNIT, /* of the source file that the code at pc is from */
};
int vars_global_in(struct image_file *f, const char *name,
		   enum vars_which which, uint64_t pc, struct var *out,
		   struct hark_err *err);
/* Those that a pattern of * ? [] matches, until visit returns not 0. */
int vars_each_global(struct image_file *f, const char *pattern,
		     int (*visit)(void *ctx, const struct var *v), void *ctx,
		     struct hark_err *err);

/* Those in scope at pc: of the scope number `inlined` (0: the innermost, as
 * lines_at counts from its end), of its innermost block first. Not 0 from
 * visit ends it and is returned. HARK_ENOENT if nothing is known of pc. */
int vars_each_local(struct image_file *f, uint64_t pc, unsigned inlined,
		    int (*visit)(void *ctx, const struct var *v), void *ctx,
		    struct hark_err *err);
/* Parameters of the function that has pc in it, in their order; *result is
 * what it returns. */
int vars_parameters(struct image_file *f, uint64_t pc,
		    int (*visit)(void *ctx, const struct var *v), void *ctx,
		    struct type *result, struct hark_err *err);

/* Where it is, in this frame. Nowhere is an answer, too. */
void vars_place(const struct var *v, const struct expr_frame *f,
		struct expr_place *out);

/* For a frame that was left by a call: what the caller passed, in the place
 * where the callee finds register `number` at its entry. pc: the return
 * address, link-time, in f's file; f: the caller's frame. */
int vars_passed(struct image_file *file, uint64_t pc, unsigned number,
		const struct expr_frame *f, uint64_t *out);

#endif
