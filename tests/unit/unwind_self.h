/* tests/unit/unwind_self.h - this process, as src/unwind wants it told.
 *
 * Tests, the long run and the bench walk their own stacks. */
#ifndef UNWIND_SELF_H
#define UNWIND_SELF_H

#include "unwind/unwind.h"

#include <ucontext.h>

enum { UNWIND_SELF_DEEP = 600 };

/* Tables of all code that is mapped now, and a cache; again after dlopen(): the
 * generation is another one then. Ends the program if that fails. */
void unwind_self_open(struct unwind_space *s);
void unwind_self_close(struct unwind_space *s);

/* Maps for stacks of so many frames; free() them. */
struct unwind_maps *unwind_self_maps(uint32_t max_depth);

/* Registers of a signal's context, or of getcontext(). */
void unwind_self_cpu(const ucontext_t *u, struct frame_cpu *out);

/* Frame by frame, is the sample just taken what the walk gives? */
bool unwind_self_same(const struct unwind_maps *m,
		      const struct unwind_sample *got,
		      const struct unwind_frame *want, uint32_t n,
		      enum unwind_end end);

/* What the last sample of each map was. */
struct unwind_last {
	struct unwind_frame at[UNWIND_MAPS][UNWIND_SELF_DEEP];
	uint32_t n[UNWIND_MAPS];
};

/* Was what the sample says it kept there before? `walked`: its frames, which
 * are the last ones now. */
bool unwind_self_kept(struct unwind_last *l, const struct unwind_sample *got,
		      const struct unwind_frame *walked);

#endif
