/* image/needed.h - which modules of a process stay as long as it lives?
 *
 * The program, and what it needs, and what that needs: the loader never unloads
 * these. Others were asked for (dlopen), and may go; or one cannot know. */
#ifndef IMAGE_NEEDED_H
#define IMAGE_NEEDED_H

#include "image/modules.h"

/* out[i] of module i. Fails without memory only: a module that cannot be read
 * needs nothing. What is read grows with the number of modules and of what
 * they need, not with a product of them. */
int needed_find(const struct modules *all, bool *out, struct hark_err *err);

#endif
