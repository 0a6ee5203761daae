/* image/lines.h - which source line is this code, and where is that line?
 *
 * From the debug information of a file (image.h says where that is sought):
 * DWARF 2 to 5, also compressed, split into .dwo files, or shared by dwz. An
 * address may lie in a function that was inlined into another, and that into
 * a third: all of them are told, each with the line at which it calls the
 * next. Addresses are link-time addresses. */
#ifndef IMAGE_LINES_H
#define IMAGE_LINES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_file;

enum { LINES_DEPTH = 64 }; /* of inlined calls that are told */

struct line_frame {
	const char *function; /* as written, with parameters; or NULL */
	const char *linked;   /* as linked if it says, or plain; or NULL */
	const char *file;     /* or NULL */
	uint32_t line;	      /* 0: not known */
	uint16_t column;      /* 0: not known */
	bool inlined;	      /* into the frame before it */
};

/* The frames of one address, outermost first, at most max of them: the last
 * is where the address is. If there are more, the outer ones are left out.
 * *n is at least 1. HARK_ENOENT if nothing is known of addr. */
int lines_at(struct image_file *f, uint64_t addr, struct line_frame *out,
	     size_t max, size_t *n, struct hark_err *err);

/* Calls visit with each address at which code of that line begins (where a
 * debugger would stop), ascending. The file is named by its whole path or
 * by its last components. A result of visit other than 0 ends the tour and
 * is returned; 0 if all went well; -1 with HARK_ENOENT if no code is there. */
int lines_sites(struct image_file *f, const char *file, uint32_t line,
		int (*visit)(void *ctx, uint64_t addr), void *ctx,
		struct hark_err *err);
/* A place at which a function was inlined. */
struct lines_inlined {
	uint64_t addr;	    /* where its code begins */
	const char *linked; /* its name, the plain one if it has no other */
	const char *caller; /* into which it was inlined; or NULL */
	const char *file;   /* of the line that calls it; or NULL */
	uint32_t line;
};
/* Calls visit with those of functions whose plain name is this, with or without
 * template arguments. Not 0 from it ends it, and is returned. */
int lines_inlined(struct image_file *f, const char *name, size_t len,
		  int (*visit)(void *ctx, const struct lines_inlined *at),
		  void *ctx, struct hark_err *err);
/* Calls visit with the path of each file that has lines, and the directory that
 * it was compiled in (NULL: not known), once a unit that names it. Not 0 from
 * it ends it, and is returned. */
int lines_files(struct image_file *f,
		int (*visit)(void *ctx, const char *path, const char *dir),
		void *ctx, struct hark_err *err);

/* The first line from this one on that has code: where a debugger would put
 * what it was asked to put here. */
int lines_next(struct image_file *f, const char *file, uint32_t line,
	       uint32_t *out, struct hark_err *err);

#endif
