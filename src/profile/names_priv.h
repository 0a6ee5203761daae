/* profile/names_priv.h - what addresses of modules are called. */
#ifndef PROFILE_NAMES_PRIV_H
#define PROFILE_NAMES_PRIV_H

#include "base/arena.h"
#include "base/err.h"
#include "present/stacks.h"
#include "profile/jit_priv.h"
#include "profile/keys.h"
#include "profile/reader.h"

/* A module, as far as it is found here. */
struct named_module {
	struct image_file *file; /* NULL: not here, or not the same */
	struct jit *jit;	 /* owned: of code of no file; or NULL */
	const char *name;	 /* for people */
	const char *why;	 /* it has no names; NULL if it has */
	bool is_tried;
	bool lacks; /* some address of it has no name */
};

struct names {
	const struct profile *profile; /* borrowed */
	struct image *image;	       /* owned */
	struct modules *self;	       /* owned: for the vdso; or NULL */
	struct named_module *modules;  /* owned: one a module, and one for none
					* (0) */
	struct stacks_frame *frames;   /* owned: each once */
	size_t n_frames, room_frames;
	struct keys by_frame, by_text;
	const char **texts; /* owned */
	size_t n_texts, room_texts;
	struct arena arena;
};

int names_init(struct names *n, const struct profile *p, struct hark_err *err);
void names_fini(struct names *n);

enum { NAMES_CHAIN = 65 };
/* Numbers of stacks frames, the outermost first; how many (at least 1), or 0:
 * no memory. */
size_t names_of(struct names *n, const struct tree_frame *f,
		uint32_t out[NAMES_CHAIN]);
const char *names_broken(uint64_t end);

#endif
