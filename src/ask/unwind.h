/* ask/unwind.h - the frames of a thread, at one moment.
 *
 * From the registers outwards, by the call-frame rules of each module. Where
 * no rule is known, or memory that it names is not, the list ends, and says
 * why: nothing is guessed. One exception, since programs do that: a thread
 * that called an address without code has its caller on top of its stack. */
#ifndef ASK_UNWIND_H
#define ASK_UNWIND_H

#include "ask/space.h"
#include "image/expr.h"
#include "image/frame_rows.h"

enum { UNWIND_MAX = 512 };

struct unwind_frame {
	struct frame_cpu cpu; /* registers as they are in this frame */
	uint64_t pc;
	bool is_return; /* pc is behind a call */
	bool has_cfa;
	uint64_t cfa;
	const struct space_module *module; /* NULL: in none */
};

enum unwind_end {
	UNWIND_WHOLE,	   /* the last frame has no caller */
	UNWIND_NO_RULE,	   /* nothing says how its caller is found */
	UNWIND_NO_MEMORY,  /* what says it is not known */
	UNWIND_TOO_MANY,   /* there are more */
	UNWIND_WENT_ASTRAY /* the stack leads nowhere */
};

struct unwind {
	struct space *space; /* borrowed */
	struct hark_registers regs;
	struct unwind_frame frame[UNWIND_MAX]; /* innermost first */
	unsigned n;
	enum unwind_end end;
};

/* For the caller to free with free(). So many frames at most (UINT_MAX: all),
 * for what memory held long ago may take long to find out. A frame's cfa is
 * known if its caller was looked for. */
int unwind_new(struct space *s, uint32_t thread, unsigned most,
	       struct unwind **out, struct hark_err *err);
/* Why the list ends, for a person; NULL if it is whole. */
const char *unwind_why(const struct unwind *u);

/* To evaluate locations in. Lives as long as u; i < n. */
struct unwind_context {
	const struct unwind *u;
	unsigned i;
	const struct space_module *module; /* whose thread-local storage */
};
struct expr_frame unwind_expr(const struct unwind *u, unsigned i,
			      struct unwind_context *room);
/* The same for variables of a module: its globals. */
struct expr_frame unwind_global(const struct unwind *u, unsigned i,
				const struct space_module *m,
				struct unwind_context *room);

/* Registers by name: "rax", "rip", "eflags", "fs_base", "xmm3". */
int unwind_register(const struct unwind *u, unsigned i, const char *name,
		    uint8_t out[16], size_t *len);

#endif
