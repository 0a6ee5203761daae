/* site/hooks_kept.h - the system calls of a file that are to be hooked, and
 * what is known of the code around them.
 *
 * To find them all code is read, and some of it followed; of a file that has
 * not changed since, the answer is on disk (image/keep.h). Hosted. */
#ifndef SITE_HOOKS_KEPT_H
#define SITE_HOOKS_KEPT_H

#include "site/survey.h"

struct hooks_found {
	struct survey *survey; /* owned: tells enough to change those calls */
	uint64_t *at;	       /* owned, ascending */
	size_t n;
	uint64_t unproved; /* as hooks_unproved() says */
};

/* 1; 0: there are none, and nothing but .unproved in *out; -1 with the reason.
 * What is around the address also (0: none) is known then, too. */
int hooks_find(struct image_file *f, bool (*wanted)(uint64_t number),
	       uint64_t also, struct hooks_found *out, struct hark_err *err);
void hooks_found_fini(struct hooks_found *h);

#endif
